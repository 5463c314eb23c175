#include "web/host_allowlist.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

void name_list_add(struct name_list *list, const char *name)
{
    list->names = memory_resize(list->names, list->n + 1, sizeof *list->names);
    list->names[list->n++] = memory_string(name);
}

void name_list_deinit(struct name_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->names[i]);
    }
    free(list->names);
    *list = (struct name_list){0};
}

/* ---- Host ---- */

/* The length of the host at the start of "HOST[:PORT]"; 0: malformed. */
static size_t host_length(const char *text)
{
    size_t n;
    if (text[0] == '[') {
        n = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
        return n > 1 && text[n] == ']' ? n + 1 : 0;
    }
    return strspn(text, LETTERS_AND_DIGITS ".-_");
}

/* *lengthp: of the host without its port. False: malformed. */
static bool split(const char *text, size_t *lengthp)
{
    *lengthp = host_length(text);
    const char *port = text + *lengthp;
    size_t digits = port[0] == ':' ? strspn(port + 1, "0123456789") : 0;
    return *lengthp > 0 && *lengthp < 256 &&
        (port[0] == '\0' || (digits > 0 && digits <= 5 && port[1 + digits] == '\0'));
}

static bool is_equal(const char *text, size_t n, const char *name)
{
    return strlen(name) == n && strncasecmp(text, name, n) == 0;
}

/* 127.X.Y.Z */
static bool is_loopback_address(const char *text, size_t n)
{
    size_t dots = 0, digits = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_dot = text[i] == '.';
        if ((!is_dot && (text[i] < '0' || text[i] > '9')) || (is_dot && digits == 0)) {
            return false;
        }
        digits = is_dot ? 0 : digits + 1;
        dots += is_dot;
    }
    return dots == 3 && digits > 0 && strncmp(text, "127.", 4) == 0;
}

bool host_is_known(const char *host, const struct name_list *hosts)
{
    size_t n;
    if (!split(host, &n)) {
        return false;
    }
    if (is_equal(host, n, "localhost") || is_equal(host, n, "[::1]") ||
        is_loopback_address(host, n)) {
        return true;
    }
    for (size_t i = 0; i < hosts->n; i++) {
        if (is_equal(host, n, hosts->names[i])) {
            return true;
        }
    }
    return false;
}

bool host_is_valid(const char *host)
{
    size_t n;
    return split(host, &n) && host[n] == '\0';
}

/* ---- Origin ---- */

bool origin_is_own(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = strlen(schemes[i]);
        if (strncmp(origin, schemes[i], n) == 0) {
            return strcasecmp(origin + n, host) == 0;
        }
    }
    return false;
}
