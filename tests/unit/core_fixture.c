/* core_fixture.c - see the header. What tests ask for is never wrong by accident: any slip in a
 * test's own text ends it. */
#include "core_fixture.h"

#include "core_text.h"

#include "core/queue.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLIENTS = 64, MAX_LEASES = 512, TEXT_BYTES = 8192, N_TEXTS = 16 };

struct named_client {
    char name[16];
    struct client client;
};

struct named_lease {
    char name[16];
    uint64_t id;
};

static struct {
    struct core *core;
    struct effects effects;
    nanoseconds now;
    struct definitions *definitions;
    struct named_client *clients[MAX_CLIENTS];
    struct named_lease leases[MAX_LEASES];
    size_t n_leases;
} world;

/* ---- texts ---- */

struct text {
    char *bytes;
    size_t n;
};

static struct text text_new(void)
{
    static char texts[N_TEXTS][TEXT_BYTES];
    static size_t next;
    struct text text = {.bytes = texts[next++ % N_TEXTS]};
    text.bytes[0] = '\0';
    return text;
}

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->bytes + text->n, TEXT_BYTES - text->n, format, arguments);
    va_end(arguments);
    cr_assert(n >= 0 && text->n + (size_t)n < TEXT_BYTES);
    text->n += (size_t)n;
}

static const char *lease_name(const struct lease *lease)
{
    for (size_t i = world.n_leases; i-- > 0;) {
        if (world.leases[i].id == lease->id) {
            return world.leases[i].name;
        }
    }
    cr_assert_fail("an effect names a lease that was never handed out");
    abort();
}

static void say_units(struct text *text, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        uint32_t n = 0;
        say(text, " %s=", claim->resource->name);
        for (const struct unit *unit = claim->units; unit; unit = unit->next_of_claim, n++) {
            say(text, "%s", n > 0 ? "," : "");
            if (unit->item) {
                say(text, "%s", unit->item);
            } else {
                say(text, "%u", unit->index);
            }
        }
        cr_assert_eq(n, claim->count);
    }
}

static void say_effect(struct text *text, const struct effect *effect)
{
    static const char *const words[] = {
        [EFFECT_GRANTED] = "granted", [EFFECT_DENIED] = "denied", [EFFECT_LOST] = "lost"};
    if (effect->kind == EFFECT_DRAINED) {
        cr_assert_null(effect->lease);
        cr_assert_null(effect->client);
        say(text, "; drained");
        return;
    }
    cr_assert_not_null(effect->client);
    cr_assert_eq(effect->client->uid, effect->lease->uid);
    say(text, "; %s %s", lease_name(effect->lease), words[effect->kind]);
    if (effect->kind == EFFECT_GRANTED) {
        cr_assert_eq(effect->lease->state, LEASE_HELD);
        say_units(text, effect->lease);
    } else {
        cr_assert_eq(effect->lease->state, LEASE_ENDED);
        say(text, " %s", outcome_words[effect->why]);
    }
}

/* The end of every operation. */
static const char *and_effects(struct text *text)
{
    for (size_t i = 0; i < world.effects.n; i++) {
        say_effect(text, &world.effects.list[i]);
    }
    effects_clear(&world.effects);
    core_check(world.core);
    return text->bytes;
}

static const char *answer(enum outcome outcome, const char *about)
{
    struct text text = text_new();
    say(&text, "%s%s%s", outcome_words[outcome], about ? " " : "", about ? about : "");
    return and_effects(&text);
}

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
static uint32_t uid_of(const char *who)
{
    uint32_t uid = 0;
    for (; isalpha((unsigned char)*who); who++) {
        uid = uid * 31 + (uint32_t)(*who - 'a');
    }
    return 1000 + uid % 100000;
}

static struct named_client **find_client(const char *who)
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
    struct named_client *named = calloc(1, sizeof *named);
    snprintf(named->name, sizeof named->name, "%s", who);
    enum outcome outcome = core_client_init(world.core, &named->client, uid_of(who));
    if (outcome == OUTCOME_OK) {
        *slot = named;
    } else {
        free(named);
    }
    return answer(outcome, NULL);
}

static struct client *client(const char *who)
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

struct lease *lease_of(const char *lease)
{
    for (size_t i = world.n_leases; i-- > 0;) {
        if (strcmp(world.leases[i].name, lease) == 0) {
            return core_find_lease(world.core, world.leases[i].id);
        }
    }
    return NULL;
}

static void name_lease(const char *name, const struct lease *lease)
{
    cr_assert_lt(world.n_leases, (size_t)MAX_LEASES);
    for (size_t i = 0; i < world.n_leases; i++) {
        cr_assert_neq(world.leases[i].id, lease->id, "an id that was used before");
    }
    struct named_lease *named = &world.leases[world.n_leases++];
    snprintf(named->name, sizeof named->name, "%s", name);
    named->id = lease->id;
}

static uint64_t id_of(const char *name)
{
    for (size_t i = world.n_leases; i-- > 0;) {
        if (strcmp(world.leases[i].name, name) == 0) {
            return world.leases[i].id;
        }
    }
    return 0;
}

/* The strings of an ask live in `words`. */
static void ask_take_word(struct ask *ask, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals) {
        char *colon = strchr(word, ':');
        cr_assert_lt(ask->n_wants, (size_t)MAX_RESOURCES_PER_LEASE);
        ask->wants[ask->n_wants++] =
            (struct want){.name = word, .count = colon ? number(colon + 1) : 1};
        if (colon) {
            *colon = '\0';
        }
        return;
    }
    *equals = '\0';
    const char *value = equals + 1;
    if (strcmp(word, "wait") == 0) {
        ask->wait = seconds(value);
    } else if (strcmp(word, "priority") == 0) {
        ask->priority = atoi(value);
    } else if (strcmp(word, "holder") == 0) {
        ask->holder = value;
    } else if (strcmp(word, "reason") == 0) {
        ask->reason = value;
    } else if (strcmp(word, "program") == 0) {
        ask->program = value;
    } else if (strcmp(word, "parent") == 0) {
        ask->parent = id_of(value);
    } else {
        cr_assert_fail("no key %s", word);
    }
}

const char *acquire(const char *who, const char *lease, const char *text)
{
    char words[24][64];
    struct ask ask = {.wait = NEVER, .pid = 1};
    for (size_t i = 0; next_word(&text, words[i]); i++) {
        cr_assert_lt(i, 23);
        ask_take_word(&ask, words[i]);
    }
    struct lease *got = (struct lease *)-1;
    const char *about = "untouched";
    enum outcome outcome =
        core_acquire(world.core, client(who), &ask, world.now, &world.effects, &got, &about);
    bool is_refusal = outcome != OUTCOME_OK && outcome != OUTCOME_WAITING;
    struct text out = text_new();
    say(&out, "%s%s%s", outcome_words[outcome], is_refusal && about ? " " : "",
        is_refusal && about ? about : "");
    cr_assert_eq(!got, is_refusal);
    if (got) {
        name_lease(lease, got);
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
    struct lease *found = lease_of(lease);
    cr_assert_not_null(found, "%s is over", lease);
    core_end(world.core, found, client(who), world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

uint64_t token_of(const char *lease, const char *resource)
{
    const struct lease *found = lease_of(lease);
    cr_assert(found && found->state == LEASE_HELD);
    for (size_t i = 0; i < found->n_claims; i++) {
        if (strcmp(found->claims[i].resource->name, resource) == 0) {
            return found->claims[i].token;
        }
    }
    cr_assert_fail("%s does not hold %s", lease, resource);
    abort();
}

/* ---- operator and time ---- */

const char *change(const char *text)
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
    struct change change = {.kind = N_CHANGES};
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
    if (next_word(&text, reason)) {
        change.reason = reason;
    }
    return answer(core_change(world.core, name, &change, world.now, &world.effects), NULL);
}

const char *drain(bool draining)
{
    core_drain(world.core, draining, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

static const nanoseconds beginning = 1000 * NANOSECONDS_PER_SECOND;

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
    if (next == NEVER) {
        return "never";
    }
    say(&text, "%g", (double)(next - beginning) / 1e9);
    return text.bytes;
}

/* ---- looking ---- */

const char *state(const char *name)
{
    const struct resource *resource = core_find_resource(world.core, name);
    if (!resource) {
        return "gone";
    }
    struct text text = text_new();
    say(&text, "%u/%u free=%u waiting=%u+%u", resource_in_use(resource), resource_limit(resource),
        resource_available(resource), order_size(&resource->queue), order_size(&resource->aside));
    cr_assert_eq(
        resource_waiting(resource), order_size(&resource->queue) + order_size(&resource->aside));
    return text.bytes;
}

static void say_places(struct text *text, const struct order *order)
{
    for (struct order_node *node = order_first(order); node; node = order_next(node)) {
        const struct place *place =
            (const struct place *)(const void *)((const char *)node - offsetof(struct place, node));
        say(text, "%s ", lease_name(place->claim->lease));
    }
}

const char *lines(const char *name)
{
    const struct resource *resource = core_find_resource(world.core, name);
    cr_assert_not_null(resource);
    struct text text = text_new();
    const struct claim *claim;
    TAILQ_FOREACH (claim, &resource->holders, link) {
        say(&text, "%s ", lease_name(claim->lease));
    }
    say(&text, "| ");
    say_places(&text, &resource->queue);
    say(&text, "| ");
    say_places(&text, &resource->aside);
    text.bytes[text.n - 1] = '\0';
    return text.bytes;
}

const char *resources(void)
{
    struct core_cursor cursor;
    struct text text = text_new();
    core_cursor_init(world.core, &cursor);
    struct resource *resource;
    size_t n = 0;
    while ((resource = core_cursor_next(world.core, &cursor))) {
        say(&text, "%s%s", n++ > 0 ? " " : "", resource->name);
    }
    core_cursor_deinit(world.core, &cursor);
    cr_assert_eq(n, core_n_resources(world.core));
    return text.bytes;
}

const char *lease_state(const char *name)
{
    const struct lease *lease = lease_of(name);
    if (!lease) {
        return "gone";
    }
    if (lease->state == LEASE_WAITING) {
        return "waiting";
    }
    struct text text = text_new();
    say(&text, "granted");
    say_units(&text, lease);
    return text.bytes;
}

struct core *the_core(void)
{
    return world.core;
}

/* ---- the world ---- */

void world_begin(void)
{
    struct core_options options = {.first_id = 100, .first_token = 1, .seed = 1};
    world.core = core_new(&options);
    world.now = beginning;
}

static void require_idle(const struct resource *resource)
{
    cr_assert_eq(resource_in_use(resource), 0);
    cr_assert_eq(resource_waiting(resource), 0);
    cr_assert_eq(resource->usages.n, 0);
    cr_assert(resource->is_defined);
}

void world_end(void)
{
    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        if (world.clients[i]) {
            client_gone(world.clients[i]->name);
        }
    }
    cr_assert_eq(core_n_held(world.core), 0);
    cr_assert_eq(core_n_waiting(world.core), 0);
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
}
