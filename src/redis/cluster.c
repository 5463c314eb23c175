#include "redis/cluster.h"

#include "base/words.h"

#include <string.h>

/* ---- slots ---- */

/* CRC16 as XMODEM has it: polynomial 0x1021, from 0. */
static uint16_t crc16(const char *text)
{
    uint16_t crc = 0;
    for (; *text; text++) {
        crc = (uint16_t)(crc ^ ((unsigned char)*text << 8));
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint16_t)(crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

uint16_t cluster_slot(const char *tag)
{
    return crc16(tag) % N_CLUSTER_SLOTS;
}

/* ---- places ---- */

/* A peer's words are never handed to a resolver unseen. */
static bool cluster_take_host(struct cluster_node *node, const char *text, size_t length)
{
    static const char good[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:%";
    if (length == 0 || length >= sizeof node->host) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\0' || !strchr(good, text[i])) {
            return false;
        }
    }
    memcpy(node->host, text, length);
    node->host[length] = '\0';
    return true;
}

static bool take_port(struct cluster_node *node, uint64_t port)
{
    node->port = (uint16_t)port;
    return port >= 1 && port <= UINT16_MAX;
}

static bool is_unknown(const char *text, size_t length)
{
    return length == 1 && text[0] == '?';
}

/* ---- CLUSTER SLOTS ---- */

/* The value of a key in [key, value, ...]. */
static const struct resp *metadata_find(const struct resp *list, const char *key)
{
    for (size_t i = 0; i + 1 < list->n; i += 2) {
        if (resp_is_text(&list->elements[i]) && strcmp(list->elements[i].text, key) == 0 &&
            resp_is_text(&list->elements[i + 1])) {
            return &list->elements[i + 1];
        }
    }
    return NULL;
}

/* [host, port, id, metadata]; older nodes leave out the end. False: the node cannot be reached by
 * what this says. */
static bool read_node(struct cluster_node *node, const struct resp *row, const char *asked_host)
{
    if (row->type != RESP_ARRAY || row->n < 2 || row->elements[1].type != RESP_INTEGER ||
        row->elements[1].integer < 0 || !take_port(node, (uint64_t)row->elements[1].integer)) {
        return false;
    }
    const struct resp *host = &row->elements[0];
    if (host->type == RESP_NIL || (resp_is_text(host) && host->length == 0)) {
        return cluster_take_host(node, asked_host, strlen(asked_host));
    }
    if (resp_is_text(host) && is_unknown(host->text, host->length)) {
        host = row->n > 3 ? metadata_find(&row->elements[3], "ip") : NULL;
    }
    return host && resp_is_text(host) && cluster_take_host(node, host->text, host->length);
}

static void add_node(struct cluster_map *map, const struct cluster_node *node)
{
    for (size_t i = 0; i < map->n; i++) {
        if (map->nodes[i].port == node->port && strcmp(map->nodes[i].host, node->host) == 0) {
            return;
        }
    }
    if (map->n < MAX_CLUSTER_NODES) {
        map->nodes[map->n++] = *node;
    }
}

/* [first, last, node, node, ...]: the master first. */
enum { N_RANGE = 2 };

static bool is_range(const struct resp *row)
{
    return row->type == RESP_ARRAY && row->n > N_RANGE && row->elements[0].type == RESP_INTEGER &&
        row->elements[1].type == RESP_INTEGER;
}

static bool has_slot(const struct resp *row, uint16_t slot)
{
    return row->elements[0].integer <= slot && slot <= row->elements[1].integer;
}

static void add_nodes(struct cluster_map *map, const struct resp *row, const char *asked_host)
{
    struct cluster_node node;
    for (size_t i = N_RANGE; i < row->n; i++) {
        if (read_node(&node, &row->elements[i], asked_host)) {
            add_node(map, &node);
        }
    }
}

static const struct resp *find_range(const struct resp *reply, uint16_t slot)
{
    for (size_t i = 0; i < reply->n; i++) {
        if (has_slot(&reply->elements[i], slot)) {
            return &reply->elements[i];
        }
    }
    return NULL;
}

const char *cluster_map_read(
    struct cluster_map *map, const struct resp *reply, uint16_t slot, const char *asked_host)
{
    struct cluster_node owner;
    bool is_good = reply->type == RESP_ARRAY;
    for (size_t i = 0; is_good && i < reply->n; i++) {
        is_good = is_range(&reply->elements[i]);
    }
    map->n = 0;
    if (!is_good) {
        return "unexpected reply: is this a Redis Cluster node?";
    }
    const struct resp *range = find_range(reply, slot);
    if (!range) {
        return "it does not know which node owns the slot";
    }
    if (!read_node(&owner, &range->elements[N_RANGE], asked_host)) {
        return "it does not say where the owner of the slot is";
    }
    add_node(map, &owner);
    add_nodes(map, range, asked_host);
    for (size_t i = 0; i < reply->n; i++) {
        add_nodes(map, &reply->elements[i], asked_host);
    }
    return NULL;
}

/* ---- redirections ---- */

static const struct {
    const char *word;
    enum redirection_kind kind;
    bool has_place;
} words[] = {
    {"MOVED", REDIRECTION_MOVED, true},
    {"ASK", REDIRECTION_ASK, true},
    {"TRYAGAIN", REDIRECTION_TRY_AGAIN, false},
    {"CLUSTERDOWN", REDIRECTION_DOWN, false},
};

/* "SLOT HOST:PORT"; an IPv6 address has no brackets, or has them. */
static bool read_place(
    struct cluster_node *to, const char *text, uint16_t slot, const char *asked_host)
{
    char number[8] = "";
    uint64_t value;
    size_t n = strcspn(text, " ");
    if (n >= sizeof number || text[n] == '\0') {
        return false;
    }
    memcpy(number, text, n);
    const char *host = text + n + 1, *colon = strrchr(host, ':');
    if (!number_parse(number, N_CLUSTER_SLOTS - 1, &value) || value != slot || !colon ||
        !number_parse(colon + 1, UINT16_MAX, &value) || !take_port(to, value)) {
        return false;
    }
    size_t length = (size_t)(colon - host);
    if (length == 0) {
        return cluster_take_host(to, asked_host, strlen(asked_host));
    }
    if (is_unknown(host, length)) {
        return true;
    }
    bool has_brackets = host[0] == '[' && host[length - 1] == ']';
    return cluster_take_host(to, host + has_brackets, length - 2 * has_brackets);
}

bool redirection_read(
    struct redirection *redirection, const char *error, uint16_t slot, const char *asked_host)
{
    size_t n = strcspn(error, " ");
    *redirection = (struct redirection){.kind = REDIRECTION_NONE};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == n && memcmp(words[i].word, error, n) == 0) {
            redirection->kind = words[i].kind;
            return !words[i].has_place ||
                (error[n] == ' ' && read_place(&redirection->to, error + n + 1, slot, asked_host));
        }
    }
    return true;
}
