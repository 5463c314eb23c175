/* record.c - writes a lease's record: its words in the order of record_rows.def; doc/journal.md has
 * the rules. record_read.c reads it. */
#include "journal/record.h"

#include "base/words.h"
#include "core/meter.h"
#include "core/units.h"
#include "journal/record_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALWAYS UINT64_MAX

enum {
    MAX_TEXT = 3 * REASON_BYTES, /* no text is longer, encoded */
    MAX_WORD = MAX_TEXT + 32,
    /* For all words but those of units. */
#define ROW(...) +MAX_WORD
    ROOM = MAX_RESOURCES_PER_LEASE * MAX_WORD
#include "journal/record_rows.def"
#undef ROW
};

const char *const record_state_words[] = {[false] = "waiting", [true] = "held"};

const char *const record_stopping_words[N_OUTCOMES] = {
    [OUTCOME_RELEASED] = "released", /* its units wait for its shares */
    [OUTCOME_REVOKED] = "revoked",
    [OUTCOME_WITHDRAWN] = "withdrawn",
    [OUTCOME_MAX_HOLD] = "max-hold",
    [OUTCOME_EXPIRED] = "expired",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_DEADLINE] = "deadline",
};

/* ---- words: each returns where the next one goes. Inline, with rows that the compiler knows: a
 * lease has half of the words, and all are gone through ---- */

static inline char *put_number_word(char *to, const char *head, uint64_t number, uint64_t initial)
{
    return number != initial ? put_number(put_string(to, head), number) : to;
}

#define write_number(to, head, number, initial)                                                    \
    put_number_word(to, head, (uint64_t)(number), (uint64_t)(initial))

static inline char *write_signed(char *to, const char *head, int32_t number, int32_t initial)
{
    return number != initial ? put_signed(put_string(to, head), number) : to;
}

static inline char *write_id(char *to, const char *head, uint64_t id, uint64_t initial)
{
    if (id == initial) {
        return to;
    }
    to = put_string(to, head);
    return to + lease_id_format(to, id);
}

static inline char *write_text(char *to, const char *head, const char *text, const char *initial)
{
    if (text == initial) {
        return to;
    }
    size_t plain = percent_plain(text); /* all of it, as a rule */
    to = put_bytes(put_string(to, head), text, plain);
    return text[plain] ? to + percent_encode(to, MAX_TEXT + 1, text + plain) : to;
}

static inline char *write_on_lost(char *to, const char *head, uint8_t on_lost, uint8_t initial)
{
    return on_lost != initial ? put_string(put_string(to, head), on_lost_words[on_lost]) : to;
}

static inline char *write_replace(char *to, const char *head, uint8_t replace, uint8_t initial)
{
    return replace != initial ? put_string(put_string(to, head), replace_words[replace]) : to;
}

static inline char *write_stopping(
    char *to, const char *head, enum outcome stopping, enum outcome initial)
{
    return stopping != initial ? put_string(put_string(to, head), record_stopping_words[stopping])
                               : to;
}

/* PID,STARTED */
static inline char *write_process(
    char *to, const char *head, struct process process, int32_t initial)
{
    if (process.pid == initial) {
        return to;
    }
    to = put_number(put_string(to, head), (uint64_t)process.pid);
    return put_number(put_byte(to, ','), process.started);
}

/* These are of claims, which are not in struct record. */
#define write_slot(to, ...) (to)
#define write_item(to, ...) (to)
#define write_want(to, ...) (to)
#define write_share(to, ...) (to)
#define write_all(to, ...) (to)
#define write_levels(to, ...) (to)
#define write_rate(to, ...) (to)
#define write_cooldowns(to, ...) (to)

static char *write_words(char *to, const struct record *record)
{
    unsigned may = record->lease.is_held ? MAY_HELD : MAY_WAITING;
    to = put_string(to, record_state_words[record->lease.is_held]);
#define ROW(key, form, presence, member, min, max, initial)                                        \
    if (((presence)&may) != 0) {                                                                   \
        to = write_##form(to, " " #key "=", record->member, initial);                              \
    }
#include "journal/record_rows.def"
#undef ROW
    return to;
}

/* Of what it waits for, and of shares: their units are in another record. */
static char *write_want_of(char *to, const struct claim *claim)
{
    to = put_string(to, claim_is_share(claim) ? " uses=" : " want=");
    to = put_string(to, claim->resource->name);
    to = put_number(put_byte(to, ','), claim->count);
    if (claim_is_share(claim)) {
        to = put_byte(to, ',');
        to += lease_id_format(to, claim->sharer);
    }
    return to;
}

static void write_claims(struct text *out, const struct lease *lease)
{
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct claim *claim = lease_asked(lease, i);
        if (lease->state == LEASE_HELD && !claim_is_share(claim)) {
            units_write_of(out, claim);
        } else {
            text_end(out, write_want_of(text_room(out, MAX_WORD), claim));
        }
    }
}

/* Which claims are to all: bit 1 << i is of claim i. How many are to levels, the last ones. */
static void add_kinds(struct text *out, const struct lease *lease)
{
    unsigned all = 0;
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        all |= (unsigned)lease_asked(lease, i)->is_all << i;
    }
    if (all != 0) {
        text_add_number_key(out, "all", all);
    }
    if (lease->n_levels != 0) {
        text_add_number_key(out, "levels", lease->n_levels);
    }
}

/* What has been granted under a rate outlives the lease, as units at rest do. Not of a share: it
 * got nothing, and its record need not stay. */
static void add_rates(struct text *out, const struct lease *lease)
{
    for (size_t i = 0; lease->state == LEASE_HELD && i < lease_n_all(lease); i++) {
        const struct claim *claim = lease_asked(lease, i);
        if (claim->resource->meter && !claim_is_share(claim)) {
            const struct saved_rate rate = resource_rate(claim->resource);
            text_add_format(out, " rate=%zu,%jd,%jd,%jd", i, (intmax_t)rate.charged_at,
                (intmax_t)rate.paid_at, (intmax_t)rate.step);
        }
    }
}

/* ---- records ---- */

/* All but the claims and the reason of a stop. */
static void fill(struct record *record, const struct lease *lease, const char *database)
{
    static const struct process nobody;
    const struct taken *taken = lease->taken;
    const struct lease_timer *lease_timer = lease->lease_timer;
    const struct sorted_set_node *timer = lease->waiting ? &lease->waiting->timer
        : lease_timer                                    ? &lease_timer->timer
                                                         : NULL;
    record->database = database;
    record->lease.id = lease->id;
    record->lease.is_held = lease->state == LEASE_HELD;
    record->lease.uid = lease->uid;
    record->lease.pid = lease->pid;
    record->lease.attributes = lease->attributes;
    record->lease.process = lease->binding == BOUND_PROCESS ? lease->process : nobody;
    record->lease.wrapper = lease->wrapper;
    record->lease.ttl = lease->binding == BOUND_TIME ? lease->ttl : 0;
    record->lapse = lease->binding == BOUND_TIME ? 0 : lease->ttl;
    record->lease.asked_at = lease->asked_at;
    record->lease.granted_at = lease->granted_at;
    record->lease.rested_at = 0;
    record->lease.until = timer && sorted_set_contains(timer) ? (nanoseconds)timer->major : NEVER;
    record->lease.hold_until = lease_timer ? lease_timer->hold_until : NEVER;
    record->lease.stopping =
        lease->is_ending ? OUTCOME_RELEASED : (enum outcome)lease->stopping;
    record->by = taken && taken->by.is_known ? taken->by.uid : NO_USER;
    record->by_login = taken && taken->by.has_login ? taken->by.login : NO_USER;
    record->lease.ticket = lease->ticket;
    record->lease.wants_now = lease->wants_now;
    record->lease.is_away = lease->is_away;
}

void record_write(
    struct text *out, const struct lease *lease, const char *database, bool with_reason)
{
    if (!lease->is_opaque) {
        struct record record;
        fill(&record, lease, database);
        record.lease.stop_reason = with_reason ? lease_stop_reason(lease) : NULL;
        char *to = write_words(text_room(out, ROOM), &record);
        text_end(out, to);
        write_claims(out, lease);
        add_kinds(out, lease);
        add_rates(out, lease);
    }
    if (lease->kept) {
        text_add(out, lease->kept);
    }
}

void record_add_rest(struct text *record, const struct saved_lease *ended)
{
    const char *before = " cooldown=";
    text_add_number_key(record, "rested", (uint64_t)ended->rested_at);
    for (size_t i = 0; i < ended->n_claims; i++, before = ",") {
        text_add_format(record, "%s%jd", before, (intmax_t)ended->claims[i].cooldown);
    }
}

size_t record_rest_bytes(size_t n_claims)
{
    return strlen(" rested=9223372036854775806 cooldown") +
        n_claims * strlen("=315360000000000000");
}

/* ---- the longest record ---- */

/* Texts and units depend on the request. */
#define LONGEST_number(member, max) (member) = (max)
#define LONGEST_signed(member, max) (member) = -(max)
#define LONGEST_id(member, max) (member) = UINT64_MAX
#define LONGEST_text(member, max) (member) = NULL
#define LONGEST_on_lost(member, max) (member) = ON_LOST_WARN
#define LONGEST_replace(member, max) (member) = REPLACE_WAITING
#define LONGEST_stopping(member, max) (member) = OUTCOME_WITHDRAWN
#define LONGEST_process(member, max)                                                               \
    (member) = (struct process){.pid = (max), .started = UINT64_MAX}
#define LONGEST_slot(member, max) (void)0
#define LONGEST_item(member, max) (void)0
#define LONGEST_want(member, max) (void)0
#define LONGEST_share(member, max) (void)0
#define LONGEST_all(member, max) (void)0
#define LONGEST_levels(member, max) (void)0
#define LONGEST_rate(member, max) (void)0
#define LONGEST_cooldowns(member, max) (void)0

static size_t longest_in(bool is_held)
{
    struct record record = {.lease.is_held = is_held};
    char room[ROOM];
#define ROW(key, form, presence, member, min, max, initial) LONGEST_##form(record.member, max);
#include "journal/record_rows.def"
#undef ROW
    record.lease.ttl = 0; /* only without a process, which takes more */
    record.lapse = 0; /* only without a wrapper, which takes more */
    record.lease.ticket = is_held ? 0 : record.lease.ticket; /* held: in fleet scope only, */
    record.lease.rested_at = 0; /* where there is no rest */
    return (size_t)(write_words(room, &record) - room);
}

static size_t text_length(size_t key_length, const char *text)
{
    return text ? key_length + sizeof " =" - 1 + percent_encoded_length(text) : 0;
}

static size_t texts_length(const struct lease_attributes *attributes, const char *database)
{
    size_t length = text_length(strlen("database"), database);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const struct attribute_row *row = &attribute_rows[i];
        length += text_length(strlen(row->word), lease_attributes_text(attributes, row));
    }
    return length;
}

size_t record_max_bytes(const struct lease_attributes *attributes, const char *database,
    size_t n_claims, size_t units)
{
    static size_t longest; /* always the same */
    if (longest == 0) {
        size_t held = longest_in(true), waiting = longest_in(false);
        longest = held > waiting ? held : waiting;
    }
    size_t of_scope = database ? strlen(" ticket=9007199254740992") : record_rest_bytes(n_claims);
    return longest + of_scope + texts_length(attributes, database) + units;
}

/* ---- numbers ---- */

void record_write_numbers(struct text *out, const struct record_numbers *numbers)
{
    text_add_format(out, "numbers %" PRIu64 " %016" PRIx64 " %" PRIu64, numbers->mark, numbers->of,
        numbers->rates_begun);
}

bool record_read_numbers(const char *text, size_t length, struct record_numbers *numbers)
{
    char copy[RECORD_NUMBERS_BYTES] = "";
    struct record_numbers found;
    int end = 0;
    memcpy(copy, text, length < sizeof copy ? length : 0);
    bool is_whole =
        sscanf(copy, "numbers %" SCNu64 " %" SCNx64 " %" SCNu64 "%n", &found.mark, &found.of,
            &found.rates_begun, &end) == 3 &&
        (size_t)end == length;
    if (is_whole) {
        *numbers = found;
    }
    return is_whole;
}
