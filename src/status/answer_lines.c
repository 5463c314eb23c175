#include "status/answer_lines.h"
#include "core/units.h"

#include "base/words.h"

#include <stdarg.h>
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

void answer_error_saying(struct text *text, enum code code, const char *format, ...)
{
    char what[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    text_add(text, "error ");
    add_code_and_text(text, code, what);
}

void answer_error(struct text *text, enum code code, const char *subject)
{
    answer_error_saying(text, code, "%.*s%s%s", NAME_BYTES, subject ? subject : "",
        subject ? ": " : "", code_table[code].meaning);
}

void answer_lease_id(struct text *text, const struct lease *lease)
{
    char id[LEASE_ID_SIZE];
    lease_id_format(id, lease->id);
    text_add(text, id);
}

void answer_stop_rules(struct text *text, const struct lease *lease)
{
    if (!lease_has_proof(lease)) {
        return;
    }
    if (lease->binding == BOUND_CONNECTION || lease->attributes.signal == 0) {
        text_add_key(text, "bound", lease_bound_word(lease));
    }
    text_add_number_key(text, "kill_after", (uint64_t)lease->attributes.kill_after / 1000000);
    text_add(text, "ms");
    text_add_key(text, "on_lost", on_lost_words[lease->attributes.on_lost]);
}

void answer_deadline(struct text *text, const struct lease *lease, nanoseconds clock_offset)
{
    bool is_only_notified = lease->binding == BOUND_TIME;
    nanoseconds gone_by = is_only_notified ? lease_until(lease) : lease_gone_by(lease);
    if (gone_by == NEVER || (is_only_notified && lease->database == 0)) {
        return;
    }
    text_add(text, "* ");
    text_add(text, event_words[EVENT_DEADLINE]);
    text_add(text, " ");
    answer_lease_id(text, lease);
    text_add(text, " ");
    text_add_number(text, (uint64_t)(gone_by - clock_offset));
    text_add_number_key(text, "stop", (uint64_t)(lease_until(lease) - clock_offset));
    text_add(text, "\n");
}

static void effect_granted(struct text *text, const struct effect *effect, const char *proof)
{
    units_write(text, effect->lease);
    answer_stop_rules(text, effect->lease);
    text_add_key(text, "proof", proof);
    text_add(text, "\n");
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

/* What the client is told to do. */
static enum event stop_event(const struct effect *effect)
{
    return outcome_code(effect->why) == CODE_REVOKED ? EVENT_REVOKED : EVENT_EXPIRED;
}

void answer_effect(struct text *text, const struct effect *effect, const char *what)
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

/* A lease without units or a proof, whose values are the longest. */
static size_t longest_grant(bool has_job)
{
    struct lease lease = {.id = UINT64_MAX,
        .state = LEASE_HELD,
        .binding = BOUND_CONNECTION,
        .attributes = {.kill_after = NEVER - 1, .on_lost = ON_LOST_KILL, .signal = has_job}};
    const struct effect effect = {.kind = EFFECT_GRANTED, .lease = &lease};
    struct text text = TEXT_INIT;
    answer_effect(&text, &effect, has_job ? "" : NULL);
    size_t length = text.length;
    text_deinit(&text);
    return length;
}

size_t answer_longest_grant(const struct acquire_request *ask)
{
    static size_t longest[2]; /* always the same */
    bool has_job = ask->attributes.signal != 0 || ask->binding == BOUND_PROCESS;
    if (longest[has_job] == 0) {
        longest[has_job] = longest_grant(has_job);
    }
    return longest[has_job];
}

bool answer_is_too_much(const struct acquire_request *ask, size_t more)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ask->n_wants; i++) {
        n += ask->wants[i].count;
    }
    return n > MAX_UNITS || answer_longest_grant(ask) + more > LINE_BYTES;
}
