#include "web/web.h"

#include "base/clock.h"
#include "base/words.h"
#include "view/json.h"
#include "web/page.h"

#include <string.h>

enum { HISTORY_LIMIT = 1000, HISTORY_MOST = 5000, DAY_MS = 24 * 3600 * 1000 };

static void give_page(struct web *web, struct http_request *request)
{
    struct http_bytes *bytes = http_bytes_static(web->http, page_bytes, page_length);
    http_answer(request, HTTP_OK, HTTP_HTML, bytes, web->page_policy);
    http_bytes_drop(bytes);
}

static void give_health(struct web *web, struct http_request *request)
{
    const struct live_link *link = &web->follower.link;
    const char *why = link->is_kept ? store_health(web->store) : link->why.bytes;
    http_say(request, why ? HTTP_UNAVAILABLE : HTTP_OK, why ? why : "ok");
}

static void give_metrics(struct web *web, struct http_request *request)
{
    scrape_take(&web->scrape, request);
}

static void give_status(struct web *web, struct http_request *request)
{
    fleet_look_note(&web->fleet_look);
    long_polls_take(&web->polls, request);
}

/* ---- history ---- */

/* False: malformed. Missing: stays as it is. */
static bool read_number(
    const struct http_request *request, const char *key, uint64_t max, uint64_t *numberp)
{
    const char *word = http_query(request, key);
    return !word || number_parse(word, max, numberp);
}

/* The page shows the history of several hosts: this one's name comes first. */
static void on_found(void *context, struct text *json, const char *why)
{
    struct http_request *request = context;
    struct text body = TEXT_INIT;
    if (!json) {
        http_say(request, HTTP_UNAVAILABLE, why);
        return;
    }
    const struct web *web = http_context(request);
    text_add(&body, "{\"host\":");
    json_add(text_value(web->host), &body);
    text_add(&body, ",");
    text_add_bytes(&body, json->bytes + 1, json->length - 1);
    struct http_bytes *bytes = http_bytes_of(web->http, &body);
    http_answer(request, HTTP_OK, HTTP_JSON, bytes, NULL);
    http_bytes_drop(bytes);
}

static void give_history(struct web *web, struct http_request *request)
{
    uint64_t until = milliseconds(clock_wall_now()), limit = HISTORY_LIMIT, from = 0;
    const char *resource = http_query(request, "resource");
    bool is_good = read_number(request, "until", INT64_MAX, &until);
    from = until > DAY_MS ? until - DAY_MS : 0;
    is_good = is_good && read_number(request, "from", INT64_MAX, &from) &&
        read_number(request, "limit", HISTORY_MOST, &limit) && limit > 0 && from <= until &&
        (!resource || name_is_valid(resource));
    if (!is_good) {
        http_say(request, HTTP_BAD_REQUEST,
            "from and until are milliseconds since 1970, limit is 1 to 5000, resource a name");
        return;
    }
    const struct store_query query = {
        .from = from, .until = until, .resource = resource, .limit = (uint32_t)limit};
    store_find(web->store, &query, on_found, request);
}

/* ---- all ---- */

static const struct route {
    const char *path;
    void (*give)(struct web *web, struct http_request *request);
} routes[] = {
    {"/", give_page},
    {"/healthz", give_health},
    {"/history.json", give_history},
    {"/metrics", give_metrics},
    {"/status.json", give_status},
};

void routes_take(void *context, struct http_request *request)
{
    const char *path = http_path(request);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            routes[i].give(context, request);
            return;
        }
    }
    http_say(request, HTTP_NOT_FOUND,
        "no such page; there are /, /healthz, /history.json, /metrics and /status.json");
}

/* The origin of a URL: all before its path. */
static void add_origin(struct text *text, const char *url)
{
    const char *host = strstr(url, "//") + 2;
    text_add(text, " ");
    text_add_bytes(text, url, (size_t)(host - url) + strcspn(host, "/"));
}

char *routes_page_policy(const struct web_conf *conf)
{
    struct text text = TEXT_INIT;
    text_add(&text, "default-src 'none'; ");
    text_add(&text, page_policy);
    text_add(&text, "; img-src data:; connect-src 'self'");
    for (size_t i = 0; i < conf->peers.n; i++) {
        add_origin(&text, conf->peers.names[i]);
    }
    text_add(&text, "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    return text_take(&text);
}
