/* fuzz_cluster.c - any bytes as what a node of a cluster says: its map of the slots, or the text of
 * an error. What is made of it can be dialed. */
#include "fuzz.h"

#include "redis/cluster.h"
#include "redis/resp.h"

#include <string.h>

enum { SLOT = 100 };

static void check_node(const struct cluster_node *node, bool may_be_unknown)
{
    REQUIRE(node->port > 0 && memchr(node->host, '\0', sizeof node->host));
    REQUIRE(may_be_unknown || node->host[0]);
    for (const char *c = node->host; *c; c++) {
        REQUIRE(*c > ' ' && *c <= '~');
    }
}

static void check_map(const struct resp *reply)
{
    struct cluster_map map;
    if (cluster_map_read(&map, reply, SLOT, "asked")) {
        return;
    }
    REQUIRE(map.n >= 1 && map.n <= MAX_CLUSTER_NODES);
    for (size_t i = 0; i < map.n; i++) {
        check_node(&map.nodes[i], false);
    }
}

static void check_redirection(const char *error)
{
    struct redirection redirection;
    if (redirection_read(&redirection, error, SLOT, "asked") &&
        (redirection.kind == REDIRECTION_MOVED || redirection.kind == REDIRECTION_ASK)) {
        check_node(&redirection.to, true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp *reply;
    resp_reader_feed(reader, (const char *)bytes, n);
    while (resp_reader_next(reader, &reply) == RESP_REPLY) {
        check_map(reply);
        check_redirection(reply->text);
    }
    resp_reader_free(reader);
    return 0;
}
