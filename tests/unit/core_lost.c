/* core_lost.c - the fixture's part about what leases are bound to, how they are stopped, and how
 * they are made again after a core has died; see core_fixture.h. */
#include "core_remember.h"
#include "core_text.h"
#include "core_world.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bound to something ---- */

const char *half_close(const char *who)
{
    core_client_end_leases(world.core, client(who), world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *process_gone(const char *lease)
{
    cr_assert(named(lease)->is_watched, "nobody looks at the process of %s", lease);
    named(lease)->is_watched = false;
    core_process_exited(world.core, living(lease), world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

static const char *bind_lease(
    const char *who, const char *lease, enum binding binding, struct process process)
{
    enum outcome outcome =
        lease_bind(living(lease), client(who), binding, &process, &world.effects);
    if (outcome == OUTCOME_OK) {
        named(lease)->is_watched = false;
    }
    return answer(outcome, NULL);
}

const char *bind_to(const char *who, const char *lease, uint32_t pid)
{
    return bind_lease(who, lease, BOUND_PROCESS, process_of(pid));
}

const char *bind_to_connection(const char *who, const char *lease)
{
    return bind_lease(who, lease, BOUND_CONNECTION, (struct process){.pid = 1});
}

/* ---- moved, or taken away ---- */

const char *move_first(const char *lease)
{
    core_move(world.core, living(lease), true, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *move_last(const char *lease)
{
    core_move(world.core, living(lease), false, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *revoke(const char *lease)
{
    core_revoke(world.core, living(lease), OUTCOME_REVOKED, NULL, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *revoke_saying(const char *name, const char *reason)
{
    struct lease *lease = living(name);
    core_revoke(world.core, lease, OUTCOME_REVOKED, reason, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *withdraw(const char *lease)
{
    core_revoke(world.core, living(lease), OUTCOME_WITHDRAWN, NULL, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *drop(const char *lease)
{
    core_revoke(world.core, living(lease), OUTCOME_DROPPED, NULL, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *renew(const char *lease, double ttl)
{
    return answer(
        core_renew(world.core, living(lease), (nanoseconds)(ttl * 1e9), world.now, &world.effects),
        NULL);
}

/* ---- another run ---- */

/* A killed core's last effects reach nobody. */
static void forget_effects(void)
{
    effects_clear(&world.effects);
}

void crash(bool from_one)
{
    uint64_t next = from_one ? 1 : core_next_number(world.core) + 1000;
    core_grant_no_more(world.core);
    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        if (world.clients[i]) {
            core_client_deinit(world.core, &world.clients[i]->client, world.now, &world.effects);
            forget_effects();
            free(world.clients[i]);
            world.clients[i] = NULL;
        }
    }
    core_abandon(world.core, world.now, &world.effects);
    forget_effects();
    core_free(world.core);
    definitions_free(world.definitions);
    world.definitions = NULL;
    world.core = core_new(1);
    core_begin_numbers(world.core, next);
    for (size_t i = 0; i < world.n_leases; i++) {
        world.leases[i].is_there = false;
        world.leases[i].is_watched = false;
    }
}

void begin_grace(bool closed, double until)
{
    core_begin_grace(world.core, closed, beginning + (nanoseconds)(until * 1e9));
}

void lose_record(const char *lease)
{
    cr_assert_not_null(named(lease)->record, "%s is not written down", lease);
    named(lease)->record = forget(named(lease)->record);
}

/* Forgets a record of resting units when it is of no use any more. */
static const char *restore_rest(struct named_lease *its)
{
    nanoseconds until = core_restore_cooldown(world.core, its->record, world.now, &world.effects);
    if (until == 0) {
        its->record = forget(its->record);
        return "=rested";
    }
    return "=rests";
}

/* Forgets a record that is refused. */
static enum outcome restore_one(struct named_lease *its)
{
    struct lease *lease = (struct lease *)-1;
    enum outcome outcome = core_restore(world.core, its->record, world.now, &world.effects, &lease);
    cr_assert_eq(!lease, outcome != OUTCOME_OK);
    forget(its->record);
    its->record = NULL;
    if (lease) {
        note_there(lease);
    }
    if (lease && lease->state != LEASE_ENDED) {
        cr_assert_eq(lease->id, its->id);
        cr_assert(lease_is_detached(lease));
        its->record = remember(lease);
    }
    return outcome;
}

/* Holders in the order of their grants, then waiters by age. */
static bool goes_before(const struct saved_lease *a, const struct saved_lease *b)
{
    if (a->is_held != b->is_held) {
        return a->is_held;
    }
    bool by_grant = a->is_held && a->granted_at != b->granted_at;
    return by_grant ? a->granted_at < b->granted_at : a->id < b->id;
}

const char *restore_all(void)
{
    static bool is_done[MAX_LEASES];
    struct text text = text_new();
    memset(is_done, 0, sizeof is_done);
    for (;;) {
        struct named_lease *next = NULL;
        for (size_t i = 0; i < world.n_leases; i++) {
            struct named_lease *its = &world.leases[i];
            bool is_sooner =
                its->record && !is_done[i] && (!next || goes_before(its->record, next->record));
            next = is_sooner ? its : next;
        }
        if (!next) {
            core_end_restoring(world.core, world.now, &world.effects);
            return and_effects(&text);
        }
        is_done[next - world.leases] = true;
        say(&text, "%s%s", text.n > 0 ? " " : "", next->name);
        if (next->record->rested_at != 0) {
            say(&text, "%s", restore_rest(next));
            continue;
        }
        enum outcome outcome = restore_one(next);
        if (outcome != OUTCOME_OK) {
            say(&text, "=%s", outcome_words[outcome]);
        }
    }
}

static const char *start_again(bool is_closed, const char *const lines_of_file[])
{
    crash(false);
    EXPECT(define_all(lines_of_file), "ok");
    core_begin_grace(world.core, is_closed, world.now + 10 * NANOSECONDS_PER_SECOND);
    return restore_all();
}

const char *restart_with(const char *const lines_of_file[])
{
    return start_again(false, lines_of_file);
}

const char *restart_without_records(const char *lost_ones, const char *const lines_of_file[])
{
    char names[WORD_BYTES], *rest = names;
    snprintf(names, sizeof names, "%s", lost_ones);
    for (const char *lease; (lease = strsep(&rest, ","));) {
        lose_record(lease);
    }
    return start_again(true, lines_of_file);
}

/* ---- made up ---- */

/* "0,1", "a,b": slots are digits. */
void parse_units(char *text, struct saved_unit *units, uint32_t count)
{
    uint32_t n = 0;
    for (char *unit; (unit = strsep(&text, ",")); n++) {
        cr_assert_lt(n, count);
        bool is_slot = isdigit((unsigned char)unit[0]);
        units[n] =
            (struct saved_unit){.item = is_slot ? NULL : unit, .slot = is_slot ? number(unit) : 0};
    }
    cr_assert_eq(n, count);
}

struct made_up {
    struct saved_lease saved;
    struct parsed_ask parsed;
    struct saved_unit units[MAX_RESOURCES_PER_LEASE][MAX_COUNT];
};

static nanoseconds instant(const char *text)
{
    return beginning + seconds(text);
}

/* Keys that no ask has; false if it is another. */
static bool take_key(struct saved_lease *saved, const char *word)
{
    const char *value = strchr(word, '=');
    if (strncmp(word, "id=", 3) == 0) {
        saved->id = number(value + 1);
    } else if (strncmp(word, "until=", 6) == 0) {
        saved->until = instant(value + 1);
    } else if (strncmp(word, "granted=", 8) == 0) {
        saved->granted_at = instant(value + 1);
    } else if (strncmp(word, "stopping=", 9) == 0) {
        saved->stopping = outcome_of(value + 1);
    } else if (strncmp(word, "database=", 9) == 0) {
        saved->database = (uint8_t)number(value + 1);
    } else if (strncmp(word, "ticket=", 7) == 0) {
        saved->ticket = number(value + 1);
    } else if (strcmp(word, "wants-now=1") == 0) {
        saved->wants_now = true;
    } else {
        return false;
    }
    return true;
}

static void take_claim(struct made_up *made_up, size_t i)
{
    struct saved_claim *claim = &made_up->saved.claims[i];
    const struct requested_resource *want = &made_up->parsed.ask.wants[i];
    *claim = (struct saved_claim){.name = want->name, .count = want->count};
    if (made_up->saved.is_held) {
        char *token = made_up->parsed.units[i];
        char *units = strsep(&token, ":");
        cr_assert_leq(want->count, (uint32_t)MAX_COUNT);
        parse_units(units, made_up->units[i], want->count);
        claim->units = made_up->units[i];
        claim->is_pool = claim->units[0].item != NULL;
        claim->token = number(token);
    }
}

static void make_up(struct made_up *made_up, const char *text)
{
    struct saved_lease *saved = &made_up->saved;
    struct acquire_request *ask = &made_up->parsed.ask;
    char who[64], word[64], rest[512] = "";
    cr_assert(next_word(&text, who));
    *saved = (struct saved_lease){.uid = uid_of(who),
        .until = NEVER,
        .hold_until = NEVER,
        .asked_at = beginning,
        .granted_at = beginning,
        .attributes.kill_after = 10 * NANOSECONDS_PER_SECOND,
        .attributes.on_lost = ON_LOST_KILL};
    while (next_word(&text, word)) {
        if (!take_key(saved, word)) {
            strcat(strcat(rest, " "), word);
        }
    }
    parsed_ask_read(&made_up->parsed, rest);
    saved->is_held = made_up->parsed.units[0] != NULL;
    saved->binding = ask->binding;
    saved->process = ask->process;
    saved->pid = ask->pid;
    saved->ttl = ask->ttl;
    saved->attributes.signal = ask->attributes.signal;
    saved->attributes.priority = ask->attributes.priority;
    saved->attributes.holder = ask->attributes.holder;
    saved->attributes.once = ask->attributes.once;
    saved->attributes.replace = ask->attributes.replace;
    saved->attributes.on_lost =
        ask->has_on_lost ? ask->attributes.on_lost : saved->attributes.on_lost;
    saved->attributes.kill_after =
        ask->has_kill_after ? ask->attributes.kill_after : saved->attributes.kill_after;
    saved->n_claims = ask->n_wants;
    for (size_t i = 0; i < ask->n_wants; i++) {
        take_claim(made_up, i);
    }
}

const char *restore(const char *lease, const char *text)
{
    struct made_up *made_up = calloc(1, sizeof *made_up);
    struct lease *restored = NULL;
    make_up(made_up, text);
    enum outcome outcome =
        core_restore(world.core, &made_up->saved, world.now, &world.effects, &restored);
    if (restored) {
        struct named_lease *its = name_id(lease, restored->id);
        note_there(restored);
        its->record = restored->state == LEASE_ENDED ? NULL : remember(restored);
    }
    free(made_up);
    return answer(outcome, NULL);
}

const char *restored(void)
{
    core_end_restoring(world.core, world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

/* ---- coming back ---- */

typedef enum outcome take_operation(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects);

static const char *take(const char *who, const char *lease, take_operation *operation)
{
    struct lease *found = living(lease);
    struct text text = text_new();
    enum outcome outcome = operation(world.core, client(who), found, world.now, &world.effects);
    bool is_taken = outcome != OUTCOME_HELD && found->state != LEASE_ENDED;
    cr_assert(!is_taken || found->client == client(who));
    say(&text, "%s", outcome_words[outcome]);
    if (outcome == OUTCOME_OK) {
        say_units(&text, found);
    }
    return and_effects(&text);
}

const char *reclaim(const char *who, const char *lease)
{
    return take(who, lease, core_reclaim);
}

const char *repeat(const char *who, const char *lease)
{
    return take(who, lease, core_repeat);
}

const char *reclaim_unknown(const char *who, const char *lease, const char *text)
{
    struct parsed_ask parsed;
    struct saved_unit units[MAX_RESOURCES_PER_LEASE][MAX_COUNT];
    struct saved_claim claims[MAX_RESOURCES_PER_LEASE] = {{.name = NULL}};
    struct lease *got = NULL;
    const char *at_fault = NULL;
    parsed_ask_read(&parsed, text);
    bool is_held = parsed.units[0] != NULL;
    for (size_t i = 0; is_held && i < parsed.ask.n_wants; i++) {
        char *token = parsed.units[i], *names = strsep(&token, ":");
        if (names[0] == '~') { /* a share of that lease */
            claims[i] = (struct saved_claim){.name = parsed.ask.wants[i].name,
                .count = parsed.ask.wants[i].count,
                .sharer = named(names + 1)->id};
            if (token) { /* it proves its units, too */
                parse_units(token, units[i], parsed.ask.wants[i].count);
                claims[i].units = units[i];
                claims[i].token = 1;
            }
            continue;
        }
        parse_units(names, units[i], parsed.ask.wants[i].count);
        claims[i].units = units[i];
        claims[i].token = token ? number(token) : 0;
    }
    uint64_t id = named(lease)->id;
    enum outcome outcome = !is_held && core_is_replaced(world.core, uid_of(who), &parsed.ask, id)
        ? OUTCOME_REPLACED
        : core_reclaim_unknown(world.core, client(who), &parsed.ask, id, is_held ? claims : NULL,
              world.now, &world.effects, &got, &at_fault);
    struct text out = text_new();
    say(&out, "%s%s%s", outcome_words[outcome], at_fault ? " " : "", at_fault ? at_fault : "");
    cr_assert_eq(
        !got, outcome != OUTCOME_OK && outcome != OUTCOME_WAITING && outcome != OUTCOME_PENDING);
    if (outcome == OUTCOME_OK) {
        note_there(got);
        say_units(&out, got);
    }
    return and_effects(&out);
}

const char *replaced_holder(const char *lease)
{
    const struct lease *found = core_replaced_holder(world.core, living(lease));
    return found ? lease_name(found) : "none";
}

const char *find_once(const char *who, const char *once)
{
    const struct lease *found = core_find_once(world.core, uid_of(who), once);
    return found ? lease_name(found) : "none";
}

const char *grace_until(void)
{
    struct text text = text_new();
    say_instant(&text, core_grace_until(world.core));
    return text.bytes;
}
