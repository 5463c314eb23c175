/* fuzz_redis_url.c - any bytes as the url of a [redis] section: either all that a link needs, or
 * what is wrong. */
#include "fuzz.h"

#include "conf/redis_url.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, size_t max)
{
    REQUIRE(text[0] != '\0' && strlen(text) <= max);
    for (; *text; text++) {
        REQUIRE((unsigned char)*text >= ' ' && *text != 0x7f);
    }
}

static void check_url(const struct redis_url *url, size_t max)
{
    static const size_t max_hosts[] = {
        [REDIS_TCP] = MAX_HOSTS, [REDIS_UNIX] = 0, [REDIS_SENTINEL] = MAX_HOSTS};
    REQUIRE(url->n_hosts <= max_hosts[url->scheme]);
    REQUIRE((url->n_hosts == 0) == (url->scheme == REDIS_UNIX));
    REQUIRE((url->path == NULL) == (url->scheme != REDIS_UNIX));
    REQUIRE((url->master == NULL) == (url->scheme != REDIS_SENTINEL));
    REQUIRE(url->db <= INT32_MAX);
    for (size_t i = 0; i < url->n_hosts; i++) {
        check_text(url->hosts[i].host, 253);
        REQUIRE(url->hosts[i].port != 0);
    }
    if (url->path) {
        check_text(url->path, 107);
        REQUIRE(url->path[0] == '/');
    }
    const char *const texts[] = {url->master, url->user, url->password};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i]) {
            check_text(texts[i], max);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    REQUIRE(text != NULL);
    memcpy(text, bytes, n);
    text[n] = '\0';
    struct redis_url url;
    if (!redis_url_parse(text, &url)) {
        check_url(&url, n + sizeof "mymaster");
    }
    redis_url_deinit(&url);
    free(text);
    return 0;
}
