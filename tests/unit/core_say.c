/* core_say.c - the fixture's answers: an operation's effects as a text, and what must be true after
 * each, whatever the test expects. */
#include "core_remember.h"
#include "core_text.h"
#include "core_world.h"
#include "tests/core_check.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- texts ---- */

struct text text_new(void)
{
    static char texts[N_TEXTS][TEXT_BYTES];
    static size_t next;
    struct text text = {.bytes = texts[next++ % N_TEXTS]};
    text.bytes[0] = '\0';
    return text;
}

void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->bytes + text->n, TEXT_BYTES - text->n, format, arguments);
    va_end(arguments);
    cr_assert(n >= 0 && text->n + (size_t)n < TEXT_BYTES);
    text->n += (size_t)n;
}

void say_instant(struct text *text, nanoseconds instant)
{
    if (instant == NEVER) {
        say(text, "never");
    } else {
        say(text, "%g", (double)(instant - beginning) / 1e9);
    }
}

const char *lease_name(const struct lease *lease)
{
    const struct named_lease *found = named_by_id(lease->id);
    cr_assert_not_null(found, "an effect names a lease that was never handed out");
    return found->name;
}

void say_units(struct text *text, const struct lease *lease)
{
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct claim *claim = lease_asked(lease, i);
        const struct unit *unit = claim_first_unit(claim);
        uint32_t n = 0;
        say(text, " %s%s=", claim->resource->name, claim_is_share(claim) ? "~" : "");
        for (; unit && n < claim->count; unit = unit->next_of_claim, n++) {
            say(text, "%s", n > 0 ? "," : "");
            if (unit->item) {
                say(text, "%s", unit->item);
            } else {
                say(text, "%u", unit->index);
            }
        }
        cr_assert_eq(n, claim->of || !claim_is_share(claim) ? claim->count : 0);
    }
}

static void say_signal(struct text *text, const struct effect *effect)
{
    cr_assert_eq(effect->lease->binding, BOUND_PROCESS);
    cr_assert_eq(effect->why, (enum outcome)effect->lease->stopping);
    cr_assert(named_by_id(effect->lease->id)->is_watched, "who is not watched cannot be signalled");
    say(text, " %d", effect->signal);
}

static void say_watch(const struct effect *effect)
{
    struct named_lease *lease = named_by_id(effect->lease->id);
    cr_assert_eq(effect->lease->binding, BOUND_PROCESS);
    cr_assert_not(lease->is_watched, "%s is watched already", lease->name);
    lease->is_watched = true;
}

static void say_unwatch(const struct effect *effect)
{
    struct named_lease *lease = named_by_id(effect->lease->id);
    cr_assert(lease->is_watched, "%s is not watched", lease->name);
    lease->is_watched = false;
}

void note_there(const struct lease *lease)
{
    struct named_lease *its = named_by_id(lease->id);
    cr_assert_not(its->is_there, "%s is in its database already", its->name);
    its->is_there = lease->database != 0 && lease->n_claims > 0;
}

static void note_gone(const struct lease *lease)
{
    struct named_lease *its = named_by_id(lease->id);
    cr_assert(its->is_there, "%s is given back twice", its->name);
    its->is_there = false;
}

static void say_effect(struct text *text, const struct effect *effect)
{
    static const struct {
        const char *word;
        bool has_client, has_reason;
    } kinds[] = {
        [EFFECT_GRANTED] = {"granted", true, false},
        [EFFECT_DENIED] = {"denied", true, true},
        [EFFECT_LOST] = {"lost", true, true},
        [EFFECT_STOP] = {"stop", true, true},
        [EFFECT_WATCH] = {"watch", false, false},
        [EFFECT_UNWATCH] = {"unwatch", false, false},
        [EFFECT_SIGNAL] = {"signal", false, false},
        [EFFECT_ASK] = {"ask", false, false},
        [EFFECT_GIVE_BACK] = {"give-back", false, false},
        [EFFECT_PLACE] = {"place", true, false},
        [EFFECT_DRAINED] = {"drained", false, false},
    };
    const struct lease *lease = effect->lease;
    cr_assert_eq(!lease, effect->kind == EFFECT_DRAINED);
    cr_assert(kinds[effect->kind].has_client || !effect->client);
    cr_assert(!effect->client || effect->client->uid == lease->uid);
    cr_assert(!effect->client || !effect->client->is_nobody);
    say(text, "; %s%s%s", lease ? lease_name(lease) : "", lease ? " " : "",
        kinds[effect->kind].word);
    if (kinds[effect->kind].has_reason) {
        say(text, " %s", outcome_words[effect->why]);
    }
    if (effect->reason) {
        say(text, " (%s)", effect->reason);
    }
    if (kinds[effect->kind].has_client && !effect->client) {
        cr_assert(effect->kind != EFFECT_GRANTED || lease->database != 0);
        say(text, " unheard");
    }
    switch (effect->kind) {
    case EFFECT_GRANTED:
        cr_assert_eq(lease->state, LEASE_HELD);
        say_units(text, lease);
        break;
    case EFFECT_ASK: /* may be over already: then that follows */
        cr_assert_neq(lease->state, LEASE_HELD);
        note_there(lease);
        break;
    case EFFECT_GIVE_BACK:
        cr_assert_neq(lease->state, LEASE_HELD);
        note_gone(lease);
        break;
    case EFFECT_PLACE:
        cr_assert_eq(lease->state, LEASE_WAITING);
        say(text, " %u", lease->position);
        break;
    case EFFECT_SIGNAL:
        say_signal(text, effect);
        break;
    case EFFECT_WATCH:
        say_watch(effect);
        break;
    case EFFECT_UNWATCH:
        say_unwatch(effect);
        break;
    case EFFECT_STOP: /* of what is bound to time: over already */
        cr_assert(lease->is_ending ||
            (lease->state == LEASE_ENDED) == (lease->binding == BOUND_TIME));
        break;
    default:
        cr_assert(!lease || lease->is_ending || lease->state == LEASE_ENDED);
    }
}

/* A journal that hears only of changes. Resting units are remembered as the lease's. */
static void write_down(const struct lease *lease)
{
    struct named_lease *its = named_by_id(lease->id);
    bool is_over = lease->state == LEASE_ENDED;
    bool rests = its && its->record && is_over && core_note_rest(lease, its->record) != 0;
    if (its && !rests) { /* else it was over before it had a name */
        forget(its->record);
        its->record = is_over ? NULL : remember(lease);
    }
}

static void keep_records(void)
{
    for (const struct lease *lease = world.effects.changed; lease; lease = lease->next_changed) {
        write_down(lease);
    }
    for (const struct lease *lease = world.effects.ended; lease; lease = lease->next_ended) {
        write_down(lease);
    }
}

/* For a living lease: its record is true, and its process is watched if necessary. */
static bool check_lease(struct lease *lease, void *context)
{
    const struct named_lease *its = named_by_id(lease->id);
    (void)context;
    cr_assert_not_null(its);
    struct saved_lease *now = remember(lease);
    cr_assert_not_null(its->record, "%s is not written down", its->name);
    const char *difference = saved_lease_difference(its->record, now);
    cr_assert_null(difference, "%s: %s is not written down", its->name, difference);
    forget(now);
    bool is_held = lease->database != 0 && lease->state == LEASE_HELD && lease->n_claims > 0;
    bool is_there = lease->is_asked || is_held;
    cr_assert_eq(its->is_there, is_there, "%s: what its database was told", its->name);
    if (lease->is_ending) {
        return true; /* nobody minds its process any more */
    }
    bool needs_watch = lease->binding == BOUND_PROCESS && !lease->process_is_gone &&
        (lease_is_detached(lease) || lease->stopping != OUTCOME_OK);
    cr_assert(!needs_watch || its->is_watched, "%s is not watched", its->name);
    cr_assert(needs_watch || !its->is_watched || lease->process_is_gone,
        "%s is watched while its client is there", its->name);
    return true;
}

const char *and_effects(struct text *text)
{
    keep_records();
    for (size_t i = 0; i < world.effects.n; i++) {
        say_effect(text, &world.effects.list[i]);
    }
    effects_clear(&world.effects);
    core_check(world.core);
    cr_assert(core_for_each_lease(world.core, check_lease, NULL));
    return text->bytes;
}

const char *answer(enum outcome outcome, const char *at_fault)
{
    struct text text = text_new();
    say(&text, "%s%s%s", outcome_words[outcome], at_fault ? " " : "", at_fault ? at_fault : "");
    return and_effects(&text);
}
