/* core_fixture.c - see the header. A mistake in a test's own text ends the test. */
#include "core_fixture.h"

#include "core_remember.h"
#include "core_text.h"
#include "core_world.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;

/* ---- definitions ---- */

const char *define_all(const char *const lines_of_file[])
{
    struct definitions *definitions = calloc(1, sizeof *definitions);
    struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    for (size_t i = 0; lines_of_file[i]; i++) {
        definitions_parse(definitions, &bounds, lines_of_file[i]);
    }
    const char *refused = NULL;
    enum outcome outcome = core_define(world.core, definitions->list, definitions->n, &bounds,
        world.now, &world.effects, &refused);
    const char *text = answer(outcome, refused);
    definitions_free(outcome == OUTCOME_OK ? world.definitions : definitions);
    if (outcome == OUTCOME_OK) {
        world.definitions = definitions;
    }
    return text;
}

/* ---- clients ---- */

/* 1000 + a hash of the letters; "root" is 0. */
uint32_t uid_of(const char *who)
{
    uint32_t uid = 0;
    for (; isalpha((unsigned char)*who); who++) {
        uid = uid * 31 + (uint32_t)(*who - 'a');
    }
    return 1000 + uid % 100000;
}

struct named_client **find_client(const char *who)
{
    struct named_client **spare = NULL;
    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        struct named_client **slot = &world.clients[i];
        if (*slot && strcmp((*slot)->name, who) == 0) {
            return slot;
        }
        spare = *slot ? spare : slot;
    }
    cr_assert_not_null(spare);
    return spare;
}

const char *connect_client(const char *who)
{
    struct named_client **slot = find_client(who);
    cr_assert_null(*slot, "%s is connected", who);
    struct named_client *new = calloc(1, sizeof *new);
    snprintf(new->name, sizeof new->name, "%s", who);
    enum outcome outcome = core_client_init(world.core, &new->client, uid_of(who));
    if (outcome == OUTCOME_OK) {
        *slot = new;
    } else {
        free(new);
    }
    return answer(outcome, NULL);
}

struct client *client(const char *who)
{
    if (!*find_client(who)) {
        EXPECT(connect_client(who), "ok");
    }
    return &(*find_client(who))->client;
}

const char *client_gone(const char *who)
{
    struct named_client **slot = find_client(who);
    cr_assert_not_null(*slot, "%s is not connected", who);
    core_client_deinit(world.core, &(*slot)->client, world.now, &world.effects);
    free(*slot);
    *slot = NULL;
    return answer(OUTCOME_OK, NULL);
}

/* ---- leases ---- */

struct named_lease *named(const char *lease)
{
    for (size_t i = world.n_leases; i-- > 0;) {
        if (strcmp(world.leases[i].name, lease) == 0) {
            return &world.leases[i];
        }
    }
    return NULL;
}

struct named_lease *named_by_id(uint64_t id)
{
    for (size_t i = world.n_leases; i-- > 0;) {
        if (world.leases[i].id == id) {
            return &world.leases[i];
        }
    }
    return NULL;
}

struct named_lease *name_id(const char *name, uint64_t id)
{
    cr_assert_lt(world.n_leases, (size_t)MAX_LEASES);
    cr_assert_null(named_by_id(id), "an id that was used before");
    struct named_lease *new = &world.leases[world.n_leases++];
    snprintf(new->name, sizeof new->name, "%s", name);
    new->id = id;
    return new;
}

struct lease *lease_of(const char *lease)
{
    const struct named_lease *found = named(lease);
    return found ? core_find_lease(world.core, found->id) : NULL;
}

struct lease *living(const char *lease)
{
    struct lease *found = lease_of(lease);
    cr_assert_not_null(found, "%s is over", lease);
    return found;
}

/* A process with the pid 7 was started at 70. */
struct process process_of(uint32_t pid)
{
    return (struct process){.pid = (int32_t)pid, .started = pid * 10};
}

static void ask_take_key(struct acquire_request *ask, const char *key, const char *value)
{
    for (enum attribute i = 0; i < N_ATTRIBUTES; i++) {
        bool is_word = attribute_rows[i].type == ATTRIBUTE_TEXT ||
            attribute_rows[i].type == ATTRIBUTE_REPLACE;
        if (is_word && strcmp(attribute_rows[i].word, key) == 0) {
            lease_attributes_parse(&ask->attributes, i, value);
            return;
        }
    }
    if (strcmp(key, "wait") == 0) {
        ask->wait = seconds(value);
    } else if (strcmp(key, "priority") == 0) {
        ask->attributes.priority = atoi(value);
    } else if (strcmp(key, "parent") == 0) {
        ask->attributes.parent = named(value) ? named(value)->id : 0;
    } else if (strcmp(key, "nested") == 0) {
        ask->nested = nested_of(value);
    } else if (strcmp(key, "pid") == 0) {
        ask->binding = BOUND_PROCESS;
        ask->process = process_of(number(value));
        ask->pid = ask->process.pid;
    } else if (strcmp(key, "peer") == 0) { /* a program's; a ttl comes before it */
        ask_take_key(ask, "pid", value);
        ask->attributes.signal = 0;
    } else if (strcmp(key, "wrapper") == 0) {
        ask->wrapper = process_of(number(value));
    } else if (strcmp(key, "ttl") == 0) {
        ask->binding = BOUND_TIME;
        ask->ttl = seconds(value);
    } else if (strcmp(key, "signal") == 0) {
        ask->attributes.signal = (uint8_t)number(value);
    } else if (strcmp(key, "kill-after") == 0) {
        ask->has_kill_after = true;
        ask->attributes.kill_after = seconds(value);
    } else if (strcmp(key, "on-lost") == 0) {
        ask->has_on_lost = true;
        ask->attributes.on_lost = on_lost_of(value);
    } else {
        cr_assert_fail("no key %s", key);
    }
}

static void parsed_ask_take_word(struct parsed_ask *parsed, char *word)
{
    struct acquire_request *ask = &parsed->ask;
    char *equals = strchr(word, '=');
    if (equals) {
        *equals = '\0';
        ask_take_key(ask, word, equals + 1);
        return;
    }
    cr_assert_lt(ask->n_wants, (size_t)MAX_RESOURCES_PER_LEASE);
    char *rest = word;
    const char *name = strsep(&rest, ":"), *count = strsep(&rest, ":");
    parsed->units[ask->n_wants] = rest;
    bool is_all = count && strcmp(count, "all") == 0;
    ask->wants[ask->n_wants++] = (struct requested_resource){
        .name = name, .count = count && !is_all ? number(count) : 1, .is_all = is_all};
}

void parsed_ask_read(struct parsed_ask *parsed, const char *text)
{
    *parsed =
        (struct parsed_ask){.ask = {.wait = NEVER, .pid = 1, .nested = NESTED_NOT_SAID,
        .attributes.signal = SIGNAL_TERM}};
    for (size_t i = 0; next_word(&text, parsed->words[i]); i++) {
        cr_assert_lt(i, MAX_ASK_WORDS - 1);
        parsed_ask_take_word(parsed, parsed->words[i]);
    }
}

const char *acquire(const char *who, const char *lease, const char *text)
{
    struct parsed_ask parsed;
    parsed_ask_read(&parsed, text);
    struct lease *got = (struct lease *)-1;
    const char *at_fault = "untouched";
    enum outcome outcome = core_acquire(
        world.core, client(who), &parsed.ask, world.now, &world.effects, &got, &at_fault);
    bool is_refusal =
        outcome != OUTCOME_OK && outcome != OUTCOME_WAITING && outcome != OUTCOME_PENDING;
    struct text out = text_new();
    say(&out, "%s%s%s", outcome_words[outcome], is_refusal && at_fault ? " " : "",
        is_refusal && at_fault ? at_fault : "");
    cr_assert_eq(!got, is_refusal);
    if (got) {
        name_id(lease, got->id);
        cr_assert_eq(got->state, outcome == OUTCOME_OK ? LEASE_HELD : LEASE_WAITING);
        cr_assert_eq(got->client, client(who));
    }
    if (outcome == OUTCOME_OK) {
        say_units(&out, got);
    }
    return and_effects(&out);
}

const char *end_lease(const char *who, const char *lease)
{
    core_end(world.core, living(lease), client(who), world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

/* ---- operator and time ---- */

/* "ann", or "ann/bob": bob had logged in. */
static struct actor pauser_of(char *text)
{
    char *login = strchr(text, '/');
    if (login) {
        *login++ = '\0';
    }
    return (struct actor){
        .is_known = true,
        .has_login = login != NULL,
        .uid = uid_of(text),
        .login = login ? uid_of(login) : 0,
    };
}

const char *change_as(const char *payer, const char *text)
{
    static const char *const words[N_CHANGES] = {
        [CHANGE_LIMIT] = "limit",
        [CHANGE_ADD] = "add",
        [CHANGE_REMOVE] = "remove",
        [CHANGE_RESERVE] = "reserve",
        [CHANGE_PAUSE] = "pause",
        [CHANGE_RESUME] = "resume",
        [CHANGE_RESET] = "reset",
    };
    char word[64], name[64], item[64], reason[64];
    cr_assert(next_word(&text, word) && next_word(&text, name));
    struct change change = {.kind = N_CHANGES, .is_charged = payer};
    change.payer = payer ? uid_of(payer) : 0;
    for (size_t i = 0; i < N_CHANGES; i++) {
        if (strcmp(words[i], word) == 0) {
            change.kind = (enum change_kind)i;
        }
    }
    cr_assert_neq(change.kind, N_CHANGES, "no change %s", word);
    if (next_word(&text, item)) {
        change.item = item;
        change.limit = change.kind == CHANGE_LIMIT ? number(item) : 0;
        change.reason = change.kind == CHANGE_PAUSE ? item : NULL;
    }
    bool has_more = next_word(&text, reason);
    if (has_more && change.kind == CHANGE_PAUSE) {
        change.by = pauser_of(reason);
    } else if (has_more) {
        change.reason = reason;
    }
    return answer(core_change(world.core, name, &change, world.now, &world.effects), NULL);
}

const char *change(const char *text)
{
    return change_as(NULL, text);
}

const char *drain(bool draining)
{
    core_drain(world.core, draining, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *tick(double at)
{
    nanoseconds now = beginning + (nanoseconds)(at * 1e9);
    cr_assert_geq(now, world.now, "time goes forward");
    world.now = now;
    core_tick(world.core, now, &world.effects);
    cr_assert_gt(core_next_deadline(world.core), now);
    return answer(OUTCOME_OK, NULL);
}

const char *deadline(void)
{
    nanoseconds next = core_next_deadline(world.core);
    struct text text = text_new();
    say_instant(&text, next);
    return text.bytes;
}

/* ---- the world ---- */

void world_begin(void)
{
    world = (struct world){.core = core_new(1), .now = beginning};
    core_begin_numbers(world.core, 100);
}

static void require_idle(const struct resource *resource)
{
    cr_assert_eq(resource_in_use(resource), 0);
    cr_assert_eq(resource_waiting(resource), 0);
    cr_assert_eq(resource->usages.n, resource->idle_usage ? 1 : 0);
    cr_assert(resource->is_defined);
}

/* All processes end, and all time runs out: then nothing may be left. */
static bool end_process(struct lease *lease, void *context)
{
    struct lease **foundp = context;
    *foundp = lease->binding == BOUND_PROCESS ? lease : *foundp;
    return !*foundp;
}

static void end_all(void)
{
    struct lease *lease = NULL;
    while (!core_for_each_lease(world.core, end_process, &lease)) {
        const char *name = lease_name(lease);
        process_gone(name);
        cr_assert_null(lease_of(name), "%s outlives everything", name);
        lease = NULL;
    }
    for (int i = 0; i < 1000 && core_next_deadline(world.core) != NEVER; i++) {
        tick((double)(core_next_deadline(world.core) - beginning) / 1e9 + 1e-3);
    }
    cr_assert_eq(core_n_held(world.core), 0);
    cr_assert_eq(core_n_waiting(world.core), 0);
}

void world_end(void)
{
    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        if (world.clients[i]) {
            client_gone(world.clients[i]->name);
        }
    }
    end_all();
    struct core_cursor cursor;
    struct resource *resource;
    core_cursor_init(world.core, &cursor);
    while ((resource = core_cursor_next(world.core, &cursor))) {
        require_idle(resource);
    }
    core_cursor_deinit(world.core, &cursor);
    world.core = core_free(world.core);
    effects_deinit(&world.effects);
    definitions_free(world.definitions);
    for (size_t i = 0; i < world.n_leases; i++) {
        struct saved_lease *record = world.leases[i].record;
        cr_assert(!record || record->rested_at != 0, "%s is over", world.leases[i].name);
        forget(record);
    }
}
