/* Hash slots, and what the nodes of a cluster say about them. */
#include "redis/cluster.h"
#include "resp_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(cluster, .timeout = 20);

static struct cluster_map map;
static struct redirection redirection;

static const char *read_map(const char *text, uint16_t slot)
{
    return cluster_map_read(&map, resp_of(text), slot, "asked");
}

/* "host:port host:port" */
static const char *nodes(void)
{
    static char text[8192];
    text[0] = '\0';
    for (size_t i = 0; i < map.n; i++) {
        sprintf(text + strlen(text), "%s%s:%u", i ? " " : "", map.nodes[i].host, map.nodes[i].port);
    }
    return text;
}

/* As CLUSTER KEYSLOT of Redis says. */
Test(cluster, slots)
{
    cr_expect_eq(cluster_slot("123456789"), 0x31c3);
    cr_expect_eq(cluster_slot(""), 0);
    cr_expect_eq(cluster_slot("foo"), 12182);
    cr_expect_eq(cluster_slot("berth"), 10131);
    cr_expect_eq(cluster_slot("\xc3\xa4"), 13929);
}

static const struct {
    const char *reply, *expected;
} maps[] = {
    {"[ [ 0 16383 [ a 1 id ] ] ]", "a:1"},
    {"[ [ 0 99 [ a 1 ] [ b 2 ] ] [ 100 100 [ c 3 id [ ] ] [ d 4 ] ] [ 101 200 [ a 1 ] [ e 5 ] ] ]",
        "c:3 d:4 a:1 b:2 e:5"},
    {"[ [ 100 200 [ _ 1 ] [ '' 2 ] ] ]", "asked:1 asked:2"},
    {"[ [ 100 200 [ ? 1 id [ hostname h ip 10.0.0.1 ] ] ] ]", "10.0.0.1:1"},
    {"[ [ 100 200 [ h.x 1 id [ ip 10.0.0.1 ] ] [ 2001:db8::1 2 ] ] ]", "h.x:1 2001:db8::1:2"},
    /* others that cannot be reached do not matter */
    {"[ [ 100 200 [ a 1 ] [ ? 2 ] [ b 0 ] [ c 65536 ] [ c -1 ] [ a;b 2 ] [ ] 7 [ 1 2 ] [ x y ] ] ]",
        "a:1"},
};

Test(cluster, who_owns_a_slot)
{
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        const char *wrong = read_map(maps[i].reply, 100);
        cr_expect_null(wrong, "%s: %s", maps[i].reply, wrong);
        cr_expect_str_eq(nodes(), maps[i].expected);
    }
}

Test(cluster, no_more_nodes_are_remembered_than_there_is_room_for)
{
    char text[2048] = "[ ";
    for (int i = 0; i < 40; i++) {
        sprintf(text + strlen(text), "[ %d %d [ n %d ] ] ", i, i, i + 1);
    }
    strcat(text, "]");
    cr_expect_null(read_map(text, 39));
    cr_expect_eq(map.n, MAX_CLUSTER_NODES);
    cr_expect_eq(map.nodes[0].port, 40);
    cr_expect_eq(map.nodes[1].port, 1);
}

#define NOT_A_NODE "unexpected reply: is this a Redis Cluster node?"
#define NO_OWNER "it does not know which node owns the slot"
#define NO_PLACE "it does not say where the owner of the slot is"

static const struct {
    const char *reply, *expected;
} bad_maps[] = {
    {"7", NOT_A_NODE},
    {"_", NOT_A_NODE},
    {"text", NOT_A_NODE},
    {"[ 7 ]", NOT_A_NODE},
    {"[ [ ] ]", NOT_A_NODE},
    {"[ [ 0 16383 ] ]", NOT_A_NODE},
    {"[ [ 0 x [ a 1 ] ] ]", NOT_A_NODE},
    {"[ [ x 16383 [ a 1 ] ] ]", NOT_A_NODE},
    {"[ [ 0 16383 [ a 1 ] ] 7 ]", NOT_A_NODE},
    {"[ ]", NO_OWNER},
    {"[ [ 0 99 [ a 1 ] ] [ 101 200 [ b 1 ] ] ]", NO_OWNER},
    {"[ [ 200 0 [ a 1 ] ] ]", NO_OWNER},
    {"[ [ 0 200 7 [ a 1 ] ] ]", NO_PLACE},
    {"[ [ 0 200 [ a 0 ] [ b 1 ] ] ]", NO_PLACE},
    {"[ [ 0 200 [ ? 1 ] ] ]", NO_PLACE},
    {"[ [ 0 200 [ ? 1 id x ] ] ]", NO_PLACE},
    {"[ [ 0 200 [ ? 1 id [ ip ] ] ] ]", NO_PLACE},
    {"[ [ 0 200 [ ? 1 id [ ip 7 ] ] ] ]", NO_PLACE},
    {"[ [ 0 200 [ ? 1 id [ ip ? ] ] ] ]", NO_PLACE},
};

Test(cluster, what_makes_no_sense)
{
    for (size_t i = 0; i < sizeof bad_maps / sizeof bad_maps[0]; i++) {
        const char *wrong = read_map(bad_maps[i].reply, 100);
        cr_expect(
            wrong && strcmp(wrong, bad_maps[i].expected) == 0, "%s: %s", bad_maps[i].reply, wrong);
    }
}

Test(cluster, hosts_that_are_too_long)
{
    char text[512], host[300];
    memset(host, 'x', sizeof host);
    snprintf(text, sizeof text, "[ [ 0 200 [ %.*s 1 ] ] ]", CLUSTER_HOST_BYTES - 1, host);
    cr_expect_null(read_map(text, 100));
    snprintf(text, sizeof text, "[ [ 0 200 [ %.*s 1 ] ] ]", CLUSTER_HOST_BYTES, host);
    cr_expect_str_eq(read_map(text, 100), NO_PLACE);
}

static const struct {
    const char *error;
    enum redirection_kind kind;
    const char *to;
} redirections[] = {
    {"MOVED 100 10.0.0.1:7000", REDIRECTION_MOVED, "10.0.0.1:7000"},
    {"MOVED 100 h.example.org:65535", REDIRECTION_MOVED, "h.example.org:65535"},
    {"MOVED 100 2001:db8::1:7000", REDIRECTION_MOVED, "2001:db8::1:7000"},
    {"MOVED 100 [2001:db8::1]:7000", REDIRECTION_MOVED, "2001:db8::1:7000"},
    {"MOVED 100 :7000", REDIRECTION_MOVED, "asked:7000"},
    {"MOVED 100 ?:7000", REDIRECTION_MOVED, ":7000"},
    {"ASK 100 10.0.0.1:7000", REDIRECTION_ASK, "10.0.0.1:7000"},
    {"TRYAGAIN Multiple keys request during rehashing of slot", REDIRECTION_TRY_AGAIN, ":0"},
    {"TRYAGAIN", REDIRECTION_TRY_AGAIN, ":0"},
    {"CLUSTERDOWN The cluster is down", REDIRECTION_DOWN, ":0"},
    {"ERR MOVED 100 h:1", REDIRECTION_NONE, ":0"},
    {"MOVEDX 100 h:1", REDIRECTION_NONE, ":0"},
    {"", REDIRECTION_NONE, ":0"},
};

Test(cluster, redirections)
{
    for (size_t i = 0; i < sizeof redirections / sizeof redirections[0]; i++) {
        char to[CLUSTER_HOST_BYTES + 8];
        const char *error = redirections[i].error;
        cr_expect(redirection_read(&redirection, error, 100, "asked"), "%s", error);
        snprintf(to, sizeof to, "%s:%u", redirection.to.host, redirection.to.port);
        cr_expect_eq(redirection.kind, redirections[i].kind, "%s", error);
        cr_expect_str_eq(to, redirections[i].to, "%s", error);
    }
}

Test(cluster, redirections_that_make_no_sense)
{
    static const char *const bad[] = {"MOVED", "MOVED ", "MOVED 100", "MOVED 100 ", "MOVED 100 h",
        "MOVED 100 h:", "MOVED 100 h:0", "MOVED 100 h:65536", "MOVED 100 h:1 x", "MOVED 100 h x:1",
        "MOVED 101 h:1", "MOVED -1 h:1", "MOVED x h:1", "MOVED 10000000000000 h:1",
        "MOVED 100 h;x:1", "MOVED 100 []:1", "MOVED 100 [:1", "ASK", "ASK 100 \xff:1",
        "ASK 100 h:18446744073709551617"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_not(redirection_read(&redirection, bad[i], 100, "asked"), "%s", bad[i]);
    }
}
