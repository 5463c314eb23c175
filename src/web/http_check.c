#include "base/memory.h"
#include "web/http_internal.h"

#include <string.h>
#include <strings.h>

struct header_count {
    const char *name;
    unsigned n;
};

static enum MHD_Result count_header(
    void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct header_count *count = context;
    (void)kind, (void)value;
    count->n += strcasecmp(name, count->name) == 0;
    return MHD_YES;
}

static unsigned headers_of(struct http_request *request, const char *name)
{
    struct header_count count = {.name = name};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &count);
    return count.n;
}

static const char *header(struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static bool refuse(struct http_request *request, enum http_status status, const char *why)
{
    http_say(request, status, why);
    return false;
}

/* A name that is no token, such as "Content-Length ", would escape the checks below while a proxy
 * may take it for the header that it resembles. */
static enum MHD_Result check_name(
    void *is_goodp, enum MHD_ValueKind kind, const char *name, const char *value)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool *is_good = is_goodp;
    (void)kind, (void)value;
    *is_good = *is_good && name[0] != '\0' && name[strspn(name, token)] == '\0';
    return MHD_YES;
}

static bool has_good_names(struct http_request *request)
{
    bool is_good = true;
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, check_name, &is_good);
    return is_good;
}

static bool has_body(struct http_request *request)
{
    const char *length = header(request, "Content-Length");
    return header(request, "Transfer-Encoding") || (length && strcmp(length, "0") != 0) ||
        headers_of(request, "Content-Length") > 1; /* which one counts? a proxy may differ */
}

static bool check_origin(struct http_request *request, const char *host)
{
    const char *origin = header(request, "Origin");
    if (!origin || origin_is_own(origin, host)) {
        return true;
    }
    if (!origin_is_allowed(origin, request->http->settings.origins)) {
        return refuse(request, HTTP_FORBIDDEN,
            "a page of another site asks: its origin is not in `origins` of berth-web's file");
    }
    request->origin = memory_string(origin);
    return true;
}

bool http_check(struct http_request *request, const char *method)
{
    const char *host = header(request, "Host");
    if (!has_good_names(request)) {
        return refuse(request, HTTP_BAD_REQUEST, "a header name must be a token");
    }
    if (!host || headers_of(request, "Host") != 1) {
        return refuse(request, HTTP_BAD_REQUEST, "a request has one header Host");
    }
    if (!host_is_known(host, request->http->settings.hosts)) {
        return refuse(request, HTTP_MISDIRECTED,
            "the header Host names neither loopback nor one of `hosts` in the file of berth-web");
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return refuse(request, HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    }
    if (has_body(request)) {
        return refuse(request, HTTP_CONTENT_TOO_LARGE, "a request has no body");
    }
    return check_origin(request, host);
}
