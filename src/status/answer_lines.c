#include "core/units.h"
#include "status/answer_lines.h"

#include "base/words.h"
#include "core/ranges.h"

#include <stdio.h>
#include <string.h>

static const enum code codes_of_outcomes[N_OUTCOMES] = {
#define OUTCOME(id, code, refusal) [OUTCOME_##id] = CODE_##code,
#include "core/outcomes.def"
#undef OUTCOME
};

enum code outcome_code(enum outcome outcome)
{
    return codes_of_outcomes[outcome];
}

static void add_code_and_text(struct text *text, enum code code, const char *what)
{
    text_add(text, code_table[code].word);
    text_add(text, " ");
    text_add_encoded(text, what);
    text_add(text, "\n");
}

void answer_error_saying(struct text *text, enum code code, const char *what)
{
    text_add(text, "error ");
    add_code_and_text(text, code, what);
}

void answer_error(struct text *text, enum code code, const char *about)
{
    char what[NAME_BYTES + 128];
    snprintf(what, sizeof what, "%.*s%s%s", NAME_BYTES, about ? about : "", about ? ": " : "",
        code_table[code].meaning);
    answer_error_saying(text, code, what);
}

void answer_lease_id(struct text *text, const struct lease *lease)
{
    char id[LEASE_ID_SIZE];
    lease_id_format(id, lease->id);
    text_add(text, id);
}

/* Of the items that the file or the operator has put into service. */
static size_t longest_item(struct core *core, const struct want *want)
{
    const struct definition *definition = want->definition;
    const struct resource *resource = core_find_resource(core, want->name);
    size_t longest = 0;
    for (size_t i = 0; i < definition->n_items; i++) {
        size_t length = strlen(definition->items[i]);
        longest = length > longest ? length : longest;
    }
    for (uint32_t i = 0; resource && i < resource->n_units; i++) {
        size_t length = strlen(resource->units[i]->item);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static size_t longest_items(struct core *core, const struct want *want)
{
    size_t at_most = want->count * (size_t)(ITEM_BYTES + 1);
    return at_most < LINE_BYTES / MAX_RESOURCES_PER_LEASE
        ? at_most
        : want->count * (longest_item(core, want) + 1);
}

/* The longest that naming the units of one want can get, commas included. */
static size_t longest_units(struct core *core, const struct want *want, size_t n_wants)
{
    static const size_t slot_digits = 7; /* of MAX_LIMIT */
    if (definition_is_pool(want->definition)) {
        return longest_items(core, want);
    }
    return (slot_digits + 1) * slots_most_words(want->count, n_wants);
}

size_t answer_longest_grant(struct core *core, const struct ask *ask)
{
    static const size_t fixed = sizeof "* granted \n" + LEASE_ID_SIZE;
    static const size_t of_a_job = sizeof " bound=connection kill_after=315360000000ms on_lost=kill"
                                          " proof=0123456789abcdef";
    static const size_t token_digits = 19;
    bool has_job = ask->terms.signal != 0;
    size_t length = fixed + (has_job ? of_a_job : 0);
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct want *want = &ask->wants[i];
        length += sizeof " slot=,," + strlen(want->name) + token_digits;
        length += has_job ? sizeof "," + token_digits : 0; /* in the proof */
        length += longest_units(core, want, ask->n_wants);
    }
    return length;
}

void answer_stop_rules(struct text *text, const struct lease *lease)
{
    if (lease->terms.signal == 0) {
        return;
    }
    if (lease->binding == BOUND_CONNECTION) {
        text_add_key(text, "bound", "connection");
    }
    text_add_number_key(text, "kill_after", (uint64_t)lease->terms.kill_after / 1000000);
    text_add(text, "ms");
    text_add_key(text, "on_lost", on_lost_words[lease->terms.on_lost]);
}

void answer_deadline(struct text *text, const struct lease *lease)
{
    bool is_told_only = lease->binding == BOUND_TIME;
    nanoseconds gone_by = is_told_only ? lease_until(lease) : lease_gone_by(lease);
    if (gone_by == NEVER || (is_told_only && lease->database == 0)) {
        return;
    }
    text_add(text, "* ");
    text_add(text, event_words[EVENT_DEADLINE]);
    text_add(text, " ");
    answer_lease_id(text, lease);
    text_add(text, " ");
    text_add_number(text, (uint64_t)gone_by);
    text_add_number_key(text, "stop", (uint64_t)lease_until(lease));
    text_add(text, "\n");
}

static void effect_granted(struct text *text, const struct effect *effect, const char *proof)
{
    units_write(text, effect->lease);
    answer_stop_rules(text, effect->lease);
    text_add_key(text, "proof", proof);
    text_add(text, "\n");
    answer_deadline(text, effect->lease);
}

static void effect_place(struct text *text, const struct effect *effect, const char *what)
{
    (void)what;
    if (effect->lease->position != 0) {
        text_add_number_key(text, "position", effect->lease->position);
    }
    text_add(text, "\n");
}

static void effect_over(struct text *text, const struct effect *effect, const char *what)
{
    text_add(text, " ");
    add_code_and_text(text, outcome_code(effect->why), what);
}

void answer_event(struct text *text, enum event event)
{
    text_add(text, "* ");
    text_add(text, event_words[event]);
    text_add(text, "\n");
}

/* What the client is told to do about it. */
static enum event stop_event(const struct effect *effect)
{
    return outcome_code(effect->why) == CODE_REVOKED ? EVENT_REVOKED : EVENT_EXPIRED;
}

void answer_effect_saying(struct text *text, const struct effect *effect, const char *what)
{
    static const struct {
        enum event event;
        void (*add_rest)(struct text *text, const struct effect *effect, const char *what);
    } rows[] = {
        [EFFECT_GRANTED] = {EVENT_GRANTED, effect_granted},
        [EFFECT_DENIED] = {EVENT_DENIED, effect_over},
        [EFFECT_LOST] = {EVENT_LOST, effect_over},
        [EFFECT_STOP] = {EVENT_NONE, effect_over},
        [EFFECT_PLACE] = {EVENT_WAITING, effect_place},
    };
    enum event event = rows[effect->kind].event;
    text_add(text, "* ");
    text_add(text, event_words[event != EVENT_NONE ? event : stop_event(effect)]);
    text_add(text, " ");
    answer_lease_id(text, effect->lease);
    rows[effect->kind].add_rest(text, effect, what);
}

void answer_effect(struct text *text, const struct effect *effect)
{
    bool is_good_news = effect->kind == EFFECT_GRANTED;
    answer_effect_saying(
        text, effect, is_good_news ? NULL : code_table[outcome_code(effect->why)].meaning);
}
