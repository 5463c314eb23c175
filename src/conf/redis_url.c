/* redis_url.c - parses the url of a [redis] section. Pure. Errors are fixed texts that quote
 * nothing: the url may hold a password. */
#include "conf/redis_url.h"

#include "base/memory.h"
#include "base/words.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    REDIS_PORT = 6379,
    SENTINEL_PORT = 26379,
    HOST_BYTES = 253,
    UNIX_PATH_BYTES = 107, /* sun_path without its NUL */
    MAX_DB = INT32_MAX, /* what SELECT takes */
};

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static bool has_controls(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

/* A habit from unix:///PATH?db=N. */
static const char *unless_query(const char *text, const char *wrong)
{
    return strchr(text, '?') ? "the number of the database follows a slash, as in redis://HOST/2"
                             : wrong;
}

/* ---- parts; each cuts `text` into pieces ---- */

static const char *take_text(char *text, char **textp)
{
    if (!percent_decode(text)) {
        return "a % in it is not followed by two hexadecimal digits other than 00 (write a % "
               "itself as %25)";
    }
    if (has_controls(text)) {
        return "it encodes a control character";
    }
    *textp = memory_string(text);
    return NULL;
}

/* "USER:PASSWORD@" at the front. An empty part counts as absent. */
static const char *take_user(char **textp, struct redis_url *url)
{
    char *user = *textp, *at = strrchr(user, '@');
    if (!at) {
        return NULL;
    }
    *at = '\0';
    *textp = at + 1;
    if (strchr(user, '@')) {
        return "write an @ in the user or password as %40";
    }
    char *colon = strchr(user, ':');
    const char *wrong = NULL;
    if (colon) {
        *colon = '\0';
    }
    if (colon && colon[1] != '\0') {
        wrong = take_text(colon + 1, &url->password);
    }
    return wrong || user[0] == '\0' ? wrong : take_text(user, &url->user);
}

/* `text` NULL: it is not given. */
static const char *take_db(const char *text, struct redis_url *url)
{
    uint64_t db = 0;
    if (text && !number_parse(text, MAX_DB, &db)) {
        return unless_query(text, "the database is a number, from 0");
    }
    url->db = (uint32_t)db;
    return NULL;
}

static const char *take_port(const char *text, struct redis_host *host)
{
    uint64_t port;
    if (!number_parse(text, UINT16_MAX, &port) || port == 0) {
        return unless_query(text, "a port is a number from 1 to 65535");
    }
    host->port = (uint16_t)port;
    return NULL;
}

/* "fe80::1", "fe80::1%25eth0" */
static bool take_ipv6(char *text, struct redis_host *host)
{
    struct in6_addr address;
    if (!percent_decode(text)) {
        return false;
    }
    char *zone = strchr(text, '%');
    if (zone) {
        *zone = '\0';
    }
    bool is_good = inet_pton(AF_INET6, text, &address) == 1 &&
        (!zone || (zone[1] != '\0' && strspn(zone + 1, NAME_CHARACTERS) == strlen(zone + 1)));
    if (zone) {
        *zone = '%';
    }
    host->host = is_good ? memory_string(text) : NULL;
    return is_good;
}

static const char *take_bracketed_host(char *text, struct redis_host *host)
{
    char *end = strchr(text, ']');
    if (!end) {
        return "a ] is missing after an IPv6 address";
    }
    *end = '\0';
    if (!take_ipv6(text + 1, host)) {
        return "the text in brackets is not an IPv6 address";
    }
    if (end[1] == '\0') {
        return NULL;
    }
    return end[1] == ':' ? take_port(end + 2, host)
                         : "only :PORT may follow an IPv6 address";
}

static const char *take_named_host(char *text, struct redis_host *host)
{
    char *colon = strchr(text, ':');
    if (colon && strchr(colon + 1, ':')) {
        return "it has too many colons; write an IPv6 address in brackets: [::1]:6379";
    }
    if (colon) {
        *colon = '\0';
    }
    size_t n = strlen(text);
    if (n == 0) {
        return "a host name is empty";
    }
    if (n > HOST_BYTES || strspn(text, NAME_CHARACTERS) != n) {
        return unless_query(text, "a host is not a name or an address");
    }
    host->host = memory_string(text);
    return colon ? take_port(colon + 1, host) : NULL;
}

static const char *redis_url_take_host(char *text, uint16_t default_port, struct redis_url *url)
{
    if (url->n_hosts == MAX_HOSTS) {
        return "it has more than 16 hosts";
    }
    struct redis_host *host = &url->hosts[url->n_hosts++];
    host->port = default_port;
    return text[0] == '[' ? take_bracketed_host(text, host) : take_named_host(text, host);
}

/* Cuts at the first slash; returns what follows, or NULL if nothing does. */
static char *cut_at_slash(char *text)
{
    char *slash = strchr(text, '/');
    if (!slash) {
        return NULL;
    }
    *slash = '\0';
    return slash[1] != '\0' ? slash + 1 : NULL;
}

/* "[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT]..." */
static const char *take_servers(char *text, uint16_t default_port, struct redis_url *url)
{
    const char *wrong = take_user(&text, url);
    char *host;
    while (!wrong && (host = strsep(&text, ","))) {
        wrong = redis_url_take_host(host, default_port, url);
    }
    return wrong;
}

/* ---- schemes; `text` is what follows "://" ---- */

static const char *parse_tcp(char *text, struct redis_url *url)
{
    const char *db = cut_at_slash(text);
    const char *wrong = take_servers(text, REDIS_PORT, url);
    return wrong ? wrong : take_db(db, url);
}

static const char *take_path(char *text, struct redis_url *url)
{
    const char *wrong = take_text(text, &url->path);
    if (wrong) {
        return wrong;
    }
    size_t n = strlen(url->path);
    if (n > UNIX_PATH_BYTES) {
        return "the path of a Unix socket has at most 107 bytes";
    }
    return url->path[n - 1] == '/' ? "the path is that of a directory, not of a socket" : NULL;
}

static const char *parse_unix(char *text, struct redis_url *url)
{
    size_t before = strcspn(text, "/");
    char *path = memory_string(text + before), *query = strchr(path, '?');
    const char *wrong = NULL;
    text[before] = '\0';
    if (before > 0 && text[before - 1] != '@') {
        wrong = "an absolute path is expected, with three slashes: unix:///PATH (write a / in a "
                "user or password as %2F)";
    } else if (path[0] == '\0') {
        wrong = "there is no path";
    } else {
        wrong = take_user(&text, url);
    }
    if (!wrong && query) {
        *query = '\0';
        wrong = strncmp(query + 1, "db=", 3) == 0
            ? take_db(query + 4, url)
            : "only ?db=N may follow the path (write a ? of the path as %3F)";
    }
    if (!wrong) {
        wrong = take_path(path, url);
    }
    free(path);
    return wrong;
}

static const char *take_master(char *text, struct redis_url *url)
{
    const char *db = cut_at_slash(text);
    const char *wrong = unless_query(text, NULL);
    if (!wrong) {
        wrong = take_text(text[0] != '\0' ? text : (char[]){"mymaster"}, &url->master);
    }
    return wrong ? wrong : take_db(db, url);
}

static const char *parse_sentinel(char *text, struct redis_url *url)
{
    char *master = cut_at_slash(text);
    const char *wrong = take_servers(text, SENTINEL_PORT, url);
    return wrong ? wrong : take_master(master ? master : (char[]){""}, url);
}

static const struct {
    const char *word;
    enum redis_scheme scheme;
    bool is_tls;
    const char *(*parse)(char *text, struct redis_url *url);
} schemes[] = {
    {"redis://", REDIS_TCP, false, parse_tcp},
    {"rediss://", REDIS_TCP, true, parse_tcp},
    {"unix://", REDIS_UNIX, false, parse_unix},
    {"sentinel://", REDIS_SENTINEL, false, parse_sentinel},
    {"sentinels://", REDIS_SENTINEL, true, parse_sentinel},
};

const char *redis_url_parse(const char *text, struct redis_url *url)
{
    *url = (struct redis_url){.n_hosts = 0};
    if (has_controls(text)) {
        return "it has a control character";
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = strlen(schemes[i].word);
        if (strncasecmp(text, schemes[i].word, n) == 0) {
            char *rest = memory_string(text + n);
            url->scheme = schemes[i].scheme;
            url->is_tls = schemes[i].is_tls;
            const char *wrong = schemes[i].parse(rest, url);
            free(rest);
            return wrong;
        }
    }
    return "must begin with redis://, unix:// or sentinel://, or for TLS with rediss:// or "
           "sentinels://";
}

void redis_url_deinit(struct redis_url *url)
{
    for (size_t i = 0; i < url->n_hosts; i++) {
        free(url->hosts[i].host);
    }
    free(url->path);
    free(url->master);
    free(url->user);
    free(url->password);
    *url = (struct redis_url){.n_hosts = 0};
}
