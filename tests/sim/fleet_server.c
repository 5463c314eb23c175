/* fleet_server.c - the simulated fleet's Redis: its process, its clock, and its data. */
#include "fleet_internal.h"

#include "base/words.h"
#include "tests/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENTS = 2048, MAX_WRITES = 40, CHECK_PERIOD = 50 };

#define WALL_CLOCK INT64_C(1700000000000000) /* us, when the fleet's is 0 */
#define COPY_PERIOD (5 * SECOND)

bool server_is_there(const struct fleet *fleet)
{
    return fleet->timers[TIMER_RETURN] == NEVER;
}

/* ---- calls ---- */

static size_t split(const struct packet *packet, const char *words[], size_t lengths[])
{
    const char *at = packet->bytes.bytes;
    for (size_t i = 0; i < packet->n && i < MAX_ARGUMENTS; i++, at += lengths[i - 1] + 1) {
        words[i] = at;
        lengths[i] = strlen(at);
    }
    return packet->n;
}

static int breaks_off_after(struct fleet *fleet)
{
    bool breaks =
        fleet->has_faults && random_below(&fleet->random, 1000) < fleet->server.breaks_off_permille;
    return breaks ? (int)random_below(&fleet->random, MAX_WRITES) : NEVER_BREAKS_OFF;
}

/* A number of the database's record; 0 if there is none. */
static uint64_t record(const struct fleet *fleet, const char *field)
{
    const struct member *member = redis_data_member(fleet->server.redis.data, "{berth}:db", field);
    char text[24] = {0};
    if (member && member->value.n < sizeof text) {
        memcpy(text, member->value.at, member->value.n);
    }
    return strtoull(text, NULL, 10);
}

static void end_blindness(struct fleet *fleet)
{
    fleet->server.is_blind = false;
    fleet->server.undone.n = 0;
    fleet->server.noticed_at = fleet->now;
}

/* Whether the data have a session of that host that has said hello since the last grace began. */
static bool has_session(const struct fleet *fleet, const struct host *host)
{
    const struct member *member =
        redis_data_member(fleet->server.redis.data, "{berth}:session", host->name);
    char text[64] = {0}; /* "SID INCARNATION EPOCH ..." */
    uintmax_t epoch = 0;
    if (member) {
        memcpy(text, member->value.at,
            member->value.n < sizeof text ? member->value.n : sizeof text - 1);
    }
    return sscanf(text, "%*u %*u %ju", &epoch) == 1 && epoch == record(fleet, "epoch");
}

/* What a call finds. */
struct before {
    uint64_t epoch;
    bool has_session;
};

static bool is_undone(const struct undone *undone, uint64_t call)
{
    size_t i = 0;
    while (i < undone->n && (call <= undone->spans[i].from || call > undone->spans[i].to)) {
        i++;
    }
    return i < undone->n;
}

/* A host that has had an answer which was undone must notice, whatever it calls. One whose session
 * the data do not have, as it ended or began since, or have from before a grace, says hello anyway:
 * also if it has begun again and has not had the answer yet. Where a key was missing then, all
 * of it begins from the start. */
static void check_notice(struct fleet *fleet, const struct packet *packet,
    const struct before *before, bool was_broken_off)
{
    struct server *server = &fleet->server;
    const struct host *host = &fleet->hosts[packet->host];
    bool knows = before->has_session && packet->call >= host->first_call &&
        is_undone(&server->undone, packet->call);
    if (record(fleet, "epoch") != before->epoch) {
        trace(fleet, "%s has noticed that the data are old", host->name);
        end_blindness(fleet);
    } else if (knows && !was_broken_off) {
        fail("%s has not noticed that the data are old", host->name);
    } else {
        uint64_t *last_token = &server->blind[server->n_blind - 1].last_token;
        uint64_t number = record(fleet, "number");
        *last_token = number > *last_token ? number : *last_token;
    }
}

static bool is_whole(const struct fleet *fleet)
{
    const struct keys *keys = &fleet->server.keys;
    size_t n = 0;
    for (size_t i = 0; i < N_DATA_KEYS; i++) {
        n += redis_data_find(fleet->server.redis.data, bytes_of(keys->keys[i])) != NULL;
    }
    return n == N_DATA_KEYS;
}

/* "$0\r\n\r\n" is an empty string. */
static void check_data(struct fleet *fleet)
{
    if (!is_whole(fleet)) {
        return; /* no call goes on with the rest */
    }
    struct text answer = TEXT_INIT;
    redis_eval(&fleet->server.redis, "fleet_check", fleet->server.check.bytes,
        fleet->server.check.length, &answer);
    if (strcmp(answer.bytes, "$0\r\n\r\n") != 0) {
        fail("in the data: %s", strchr(answer.bytes, '\n') + 1);
    }
    text_deinit(&answer);
}

/* What a broken-off script leaves is repaired by and by. */
static void note_break(struct fleet *fleet, enum script script)
{
    struct redis *redis = &fleet->server.redis;
    fleet->server.n_broken_off++;
    trace(fleet, "%s was broken off after %d writes", script_words[script], redis->n_writes);
    if (redis->n_writes > 0 && !redis_data_find(redis->data, bytes_of("{berth}:broken"))) {
        struct value *value = redis_data_make(redis->data, bytes_of("{berth}:broken"), VALUE_SET);
        value_put(value, (struct member){.name = bytes_of("off")});
    }
}

static bool is_argument(size_t argc, const char *const argv[], const char *text)
{
    size_t i = 0;
    while (i < argc && strcmp(argv[i], text) != 0) {
        i++;
    }
    return i < argc;
}

static bool has_lease(const struct fleet *fleet, const struct host *host, const char *id)
{
    char key[SESSION_ID_SIZE + LEASE_ID_SIZE];
    snprintf(key, sizeof key, "%s/%s", host->name, id);
    return redis_data_member(fleet->server.redis.data, "{berth}:leases", key);
}

/* Notes the requests that an acquire leaves without a place: it has refused them, or was broken
 * off. */
static void note_turned_away(
    struct fleet *fleet, const struct packet *packet, size_t argc, const char *const argv[])
{
    struct host *host = &fleet->hosts[packet->host];
    for (size_t i = 0; packet->script == SCRIPT_ACQUIRE && i < MAX_JOBS; i++) {
        struct job *job = &host->jobs[i];
        char id[LEASE_ID_SIZE];
        lease_id_format(id, job->id);
        if (job->id != 0 && job->is_waiting && is_argument(argc, argv, id)) {
            job->was_turned_away |= !has_lease(fleet, host, id);
        }
    }
}

void server_execute(struct fleet *fleet, const struct packet *packet, struct text *reply)
{
    const char *argv[MAX_ARGUMENTS];
    size_t lengths[MAX_ARGUMENTS];
    struct redis *redis = &fleet->server.redis;
    size_t argc = split(packet, argv, lengths);
    const struct before before = {
        .epoch = record(fleet, "epoch"),
        .has_session = is_whole(fleet) && has_session(fleet, &fleet->hosts[packet->host]),
    };
    redis->now = WALL_CLOCK +
        (clock_at(&fleet->server.clock, fleet->now) + fleet->server.clock_offset) / 1000;
    redis->breaks_off_after = breaks_off_after(fleet);
    redis_run(redis, packet->script, &fleet->server.keys, argc, argv, lengths, reply);
    fleet->server.n_executed++;
    bool was_broken_off = redis->was_broken_off; /* the check is a script too */
    if (was_broken_off) {
        note_break(fleet, packet->script);
    }
    struct host *host = &fleet->hosts[packet->host];
    if (!before.has_session && has_session(fleet, host)) {
        host->first_call = fleet->server.n_executed;
    }
    note_turned_away(fleet, packet, argc, argv);
    rates_look(fleet);
    if (fleet->server.n_executed % CHECK_PERIOD == 0) {
        check_data(fleet);
    }
    if (fleet->server.is_blind) {
        check_notice(fleet, packet, &before, was_broken_off);
    }
}

/* ---- its process ---- */

static void begin_process(struct server *server)
{
    server->run++;
    snprintf(server->redis.run_id, sizeof server->redis.run_id, "%040ju", (uintmax_t)server->run);
    snprintf(server->redis.replid, sizeof server->redis.replid, "%040ju", (uintmax_t)server->run);
}

void server_breaks_connections(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        if (fleet->hosts[i].is_connected) {
            net_break(fleet, &fleet->hosts[i], "the server has closed it");
            host_turn(fleet, &fleet->hosts[i]);
        }
    }
}

void server_dies(struct fleet *fleet)
{
    trace(fleet, "the server dies");
    fleet->server.died_at = fleet->now;
    fleet->timers[TIMER_RETURN] = fleet->now + chance(fleet, 10 * MILLISECOND, 30 * SECOND);
    net_forget_commands(fleet);
    server_breaks_connections(fleet);
}

static void replace_data(struct fleet *fleet, struct redis_data *data)
{
    redis_data_free(fleet->server.redis.data);
    fleet->server.redis.data = data;
    fleet->server.data_lost_at = fleet->now;
    if (fleet->server.is_blind) { /* everybody notices that */
        end_blindness(fleet);
    }
}

void server_is_emptied(struct fleet *fleet)
{
    trace(fleet, "FLUSHALL");
    replace_data(fleet, redis_data_new());
}

void server_loses_a_key(struct fleet *fleet)
{
    const char *key = fleet->server.keys.keys[random_below(&fleet->random, N_DATA_KEYS)];
    struct redis_data *data = redis_data_copy(fleet->server.redis.data);
    trace(fleet, "%s is lost", key);
    redis_data_remove(data, bytes_of(key));
    replace_data(fleet, data);
}

/* NULL: there is none yet. */
static const struct copy *random_copy(struct fleet *fleet)
{
    size_t n = fleet->server.n_copies < N_COPIES ? fleet->server.n_copies : N_COPIES;
    return n > 0 ? &fleet->server.copies[random_below(&fleet->random, (uint32_t)n)] : NULL;
}

static void return_to_a_copy(struct fleet *fleet)
{
    const struct copy *copy = random_copy(fleet);
    if (copy) {
        replace_data(fleet, redis_data_copy(copy->data));
    }
}

void server_is_rolled_back(struct fleet *fleet)
{
    struct server *server = &fleet->server;
    const struct copy *copy = random_copy(fleet);
    if (!copy || server->n_blind == MAX_BLIND || copy->n_executed == server->n_executed ||
        copy->undone.n == MAX_UNDONE) {
        return; /* where no call is undone, nobody could notice */
    }
    trace(fleet, "the server goes back to call %ju of %ju", (uintmax_t)copy->n_executed,
        (uintmax_t)server->n_executed);
    uint64_t last_token = record(fleet, "number");
    struct undone undone = copy->undone; /* the copy may be of data that had gone back already */
    undone.spans[undone.n].from = copy->n_executed;
    undone.spans[undone.n++].to = server->n_executed;
    replace_data(fleet, redis_data_copy(copy->data));
    if (record(fleet, "layout") == 0) {
        return; /* its place is empty */
    }
    server->blind[server->n_blind++] = (struct blind_span){record(fleet, "number") + 1, last_token};
    server->undone = undone;
    server->is_blind = true;
    rates_forget(fleet);
    if (random_percent(&fleet->random, 50)) {
        server_breaks_connections(fleet);
    }
}

bool server_was_blind(const struct fleet *fleet, uint64_t token)
{
    bool is_fresh = fleet->server.noticed_at != 0 &&
        fleet->now <
            fleet->server.noticed_at + slow(fleet->ttl); /* what was told before comes late */
    if (fleet->server.is_blind || is_fresh) {
        return true;
    }
    for (size_t i = 0; i < fleet->server.n_blind; i++) {
        const struct blind_span *span = &fleet->server.blind[i];
        if (token >= span->first_token && token <= span->last_token) {
            return true;
        }
    }
    return false;
}

/* It comes back empty, with older data, or as it was. */
void server_returns(struct fleet *fleet)
{
    uint32_t kind = random_below(&fleet->random, 3);
    trace(fleet, "the server returns, %s",
        kind == 0       ? "empty"
            : kind == 1 ? "with an old copy"
                        : "with its data");
    fleet->timers[TIMER_RETURN] = NEVER;
    begin_process(&fleet->server);
    if (kind == 0) {
        replace_data(fleet, redis_data_new());
    } else if (kind == 1) {
        return_to_a_copy(fleet);
    }
}

void server_sets_clock(struct fleet *fleet, nanoseconds step)
{
    trace(fleet, "the server's clock is set by %jd s", (intmax_t)(step / SECOND));
    fleet->server.clock_offset += step;
    fleet->server.clock_set_at = fleet->now;
    fleet->figures[FIGURE_STEPS]++;
}

void server_copies_data(struct fleet *fleet)
{
    struct server *server = &fleet->server;
    struct copy *copy = &server->copies[server->n_copies++ % N_COPIES];
    redis_data_free(copy->data);
    *copy = (struct copy){redis_data_copy(server->redis.data), server->n_executed, server->undone};
    fleet->timers[TIMER_COPY] = fleet->now + COPY_PERIOD;
}

/* ---- life ---- */

void server_init(struct fleet *fleet)
{
    struct server *server = &fleet->server;
    struct text path = TEXT_INIT;
    redis_init(&server->redis, random_next(&fleet->random));
    server->redis.publish = net_publish;
    server->redis.context = fleet;
    keys_init(&server->keys, "berth", "");
    text_add_format(&path, "%s/tests/sim/fleet_check.lua", source_dir);
    REQUIRE(file_read(path.bytes, &server->check), "cannot read %s", path.bytes);
    text_deinit(&path);
    begin_process(server);
    clock_begin(fleet, &server->clock);
    server->breaks_off_permille = PICK(&fleet->random, 0, 0, 2, 10);
}

void server_deinit(struct fleet *fleet)
{
    for (size_t i = 0; i < N_COPIES; i++) {
        redis_data_free(fleet->server.copies[i].data);
    }
    text_deinit(&fleet->server.check);
    redis_deinit(&fleet->server.redis);
}

/* ---- at the end ---- */

/* What stays: the database's record, sessions, definitions, changes; when items of a pool were last
 * used. */
static bool may_stay(const struct fleet *fleet, struct bytes key, const struct value *value)
{
    static const char *const stay[] = {"{berth}:db", "{berth}:sessions", "{berth}:session",
        "{berth}:definitions", "{berth}:changes", "{berth}:news", "{berth}:undone",
        "{berth}:broken", "{berth}:ended", "{berth}:gone", "{berth}:history"};
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++) {
        if (bytes_are(key, bytes_of(stay[i]))) {
            return true;
        }
    }
    if (value->n == 1 && bytes_are(value->members[0]->name, bytes_of("~"))) {
        return true; /* it keeps the key alive */
    }
    if (bytes_are(key, bytes_of("{berth}:identities"))) {
        return fleet->server.n_broken_off > 0; /* nobody's: the next request for it gets it */
    }
    bool is_of_pool = bytes_are(key, bytes_of("{berth}:freed"));
    for (size_t i = 0; i < value->n; i++) {
        struct bytes name = value->members[i]->name;
        is_of_pool &= bytes_are(name, bytes_of("~")) || memcmp(name.at, "pool ", 5) == 0;
    }
    return is_of_pool;
}

static void complain_of_sessions(const struct fleet *fleet, struct text *why)
{
    static const char key[] = "{berth}:sessions";
    const struct redis_data *data = fleet->server.redis.data;
    size_t n = 1; /* "~" */
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        const struct host *host = &fleet->hosts[i];
        if (host->is_there && !redis_data_member(data, key, host->name)) {
            text_add_format(why, "the session of %s is not there in the end", host->name);
            return;
        }
        n += host->is_there;
    }
    size_t n_found = redis_data_find(data, bytes_of(key))->n;
    if (n_found != n) {
        text_add_format(why, "%zu sessions of %zu hosts in the end", n_found - 1, n - 1);
    }
}

bool server_is_done(const struct fleet *fleet, struct text *why)
{
    const struct redis_data *data = fleet->server.redis.data;
    for (size_t i = 0; i < data->n; i++) {
        const struct value *value = data->values[i];
        if (!may_stay(fleet, value->key, value)) {
            const struct bytes *name = &value->members[0]->name;
            text_add_format(why, "%.*s has %zu members in the end: %.*s", (int)value->key.n,
                value->key.at, value->n, (int)name->n, name->at);
            return false;
        }
    }
    complain_of_sessions(fleet, why);
    return why->length == 0;
}
