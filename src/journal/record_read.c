/* record_read.c - records back from text; doc/journal.md states the rules.
 *
 * The envelope is read or there is no record. Any other key may be a later version's: what is not
 * understood is kept as it is written. */
#include "journal/record.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/units.h"
#include "journal/record_words.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TICKET (UINT64_C(1) << 53) /* Lua's numbers */

#define N_WORDS(words) (sizeof(words) / sizeof(words)[0])

/* ---- one function for each kind of value; false if it is not one ---- */

struct record {
    struct remembered remembered; /* first: record_free() gets a pointer to it */
    const char *database; /* or NULL */
    char *kept; /* the rest of `text`: what is not understood */
    char text[]; /* what its strings point into */
};

/* One key. */
struct row {
    const char *key;
    bool (*read)(struct remembered *remembered, const struct row *row, char *value);
    unsigned presence; /* enum presence */
    size_t offset; /* of the member that it fills */
    uint64_t fewest, most;
};

static void *member_of(struct remembered *remembered, const struct row *row)
{
    return (char *)remembered + row->offset;
}

static bool read_in_range(const struct row *row, const char *value, uint64_t *numberp)
{
    return number_parse(value, row->most, numberp) && *numberp >= row->fewest;
}

static bool read_id(struct remembered *remembered, const struct row *row, char *value)
{
    uint64_t *member = member_of(remembered, row);
    return lease_id_parse(value, member) && *member != 0;
}

static bool read_32_bits(struct remembered *remembered, const struct row *row, char *value)
{
    uint64_t number;
    bool is_good = read_in_range(row, value, &number);
    if (is_good) {
        uint32_t bits = (uint32_t)number;
        memcpy(member_of(remembered, row), &bits, sizeof bits); /* signed or not */
    }
    return is_good;
}

static bool read_time(struct remembered *remembered, const struct row *row, char *value)
{
    uint64_t number;
    bool is_good = read_in_range(row, value, &number);
    if (is_good) {
        *(nanoseconds *)member_of(remembered, row) = (nanoseconds)number;
    }
    return is_good;
}

static bool read_string(struct remembered *remembered, const struct row *row, char *value)
{
    *(const char **)member_of(remembered, row) = value;
    return percent_decode(value) && value[0] != '\0' && strlen(value) <= row->most;
}

static bool read_signal(struct remembered *remembered, const struct row *row, char *value)
{
    uint64_t number;
    bool is_good = read_in_range(row, value, &number);
    remembered->signal = is_good ? (uint8_t)number : 0;
    return is_good;
}

static bool read_database(struct remembered *remembered, const struct row *row, char *value)
{
    (void)row;
    ((struct record *)remembered)->database = value;
    return name_is_valid(value);
}

static bool read_number(struct remembered *remembered, const struct row *row, char *value)
{
    return read_in_range(row, value, member_of(remembered, row));
}

static bool read_now(struct remembered *remembered, const struct row *row, char *value)
{
    uint64_t one;
    remembered->wants_now = read_in_range(row, value, &one);
    return remembered->wants_now;
}

static bool read_priority(struct remembered *remembered, const struct row *row, char *value)
{
    int64_t priority;
    bool is_good = signed_number_parse(value, (int64_t)row->most, &priority);
    remembered->priority = is_good ? (int32_t)priority : 0;
    return is_good;
}

/* PID,STARTED */
static bool read_start(const struct row *row, char *value, struct process *process)
{
    uint64_t pid, started;
    char *comma = strchr(value, ',');
    if (!comma) {
        return false;
    }
    *comma = '\0';
    if (!read_in_range(row, value, &pid) || !number_parse(comma + 1, UINT64_MAX, &started)) {
        return false;
    }
    *process = (struct process){.pid = (int32_t)pid, .started = started};
    return true;
}

static bool read_process(struct remembered *remembered, const struct row *row, char *value)
{
    remembered->binding = BOUND_PROCESS;
    return read_start(row, value, &remembered->process);
}

static bool read_wrapper(struct remembered *remembered, const struct row *row, char *value)
{
    return read_start(row, value, &remembered->wrapper);
}

static bool read_ttl(struct remembered *remembered, const struct row *row, char *value)
{
    remembered->binding = BOUND_TIME;
    return read_time(remembered, row, value);
}

/* Into the index of the word; words may be missing. */
static bool find_word(const char *value, const char *const words[], size_t n, size_t *indexp)
{
    for (size_t i = 0; i < n; i++) {
        if (words[i] && strcmp(words[i], value) == 0) {
            *indexp = i;
            return true;
        }
    }
    return false;
}

static bool read_on_lost(struct remembered *remembered, const struct row *row, char *value)
{
    (void)row;
    return on_lost_parse(value, &remembered->on_lost);
}

static bool read_stopping(struct remembered *remembered, const struct row *row, char *value)
{
    size_t index = OUTCOME_OK;
    (void)row;
    bool is_good = find_word(value, stopping_words, N_WORDS(stopping_words), &index);
    remembered->stopping = (enum outcome)index;
    return is_good;
}

/* NAME,... : the next claim, and what is behind its name. */
static struct remembered_claim *read_claim_name(
    struct remembered *remembered, char *value, char **restp)
{
    char *comma = strchr(value, ',');
    if (!comma || remembered->n_claims == MAX_RESOURCES_PER_LEASE) {
        return NULL;
    }
    *comma = '\0';
    *restp = comma + 1;
    if (!name_is_valid(value)) {
        return NULL;
    }
    for (size_t i = 0; i < remembered->n_claims; i++) {
        if (strcmp(remembered->claims[i].name, value) == 0) {
            return NULL;
        }
    }
    struct remembered_claim *claim = &remembered->claims[remembered->n_claims++];
    claim->name = value;
    return claim;
}

static bool read_want(struct remembered *remembered, const struct row *row, char *value)
{
    char *rest;
    uint64_t count;
    struct remembered_claim *claim = read_claim_name(remembered, value, &rest);
    if (!claim || !read_in_range(row, rest, &count)) {
        return false;
    }
    claim->count = (uint32_t)count;
    return true;
}

static bool read_units(
    struct remembered *remembered, const struct row *row, char *value, bool is_pool)
{
    char *rest;
    struct remembered_claim *claim = read_claim_name(remembered, value, &rest);
    char *comma = claim ? strchr(rest, ',') : NULL;
    if (!comma) {
        return false;
    }
    *comma = '\0';
    claim->is_pool = is_pool;
    claim->count = units_count(comma + 1, is_pool);
    if (claim->count == 0 || !read_in_range(row, rest, &claim->token)) {
        return false;
    }
    struct remembered_unit *units = memory_new(claim->count * sizeof *units);
    claim->units = units; /* from now on record_free()'s */
    return units_parse(comma + 1, is_pool, claim->count, units);
}

static bool read_slot(struct remembered *remembered, const struct row *row, char *value)
{
    return read_units(remembered, row, value, false);
}

static bool read_item(struct remembered *remembered, const struct row *row, char *value)
{
    return read_units(remembered, row, value, true);
}

enum presence {
    MAY_WAITING = 1,
    MAY_HELD = 2,
    MUST_WAITING = 4 | MAY_WAITING,
    MUST_HELD = 8 | MAY_HELD,
    MANY = 16, /* may be there more than once */
    ENVELOPE = 32, /* read alike by every version */
    MAY = MAY_WAITING | MAY_HELD,
    MUST = MUST_WAITING | MUST_HELD | ENVELOPE,
};

#define AT(member) offsetof(struct remembered, member)

static const struct row rows[] = {
    {"id", read_id, MUST, AT(id), 0, 0},
    {"uid", read_32_bits, MUST, AT(uid), 0, UINT32_MAX},
    {"pid", read_32_bits, MUST, AT(pid), 0, INT32_MAX},
    {"asked", read_time, MUST, AT(asked_at), 0, NEVER - 1},
    {"priority", read_priority, MAY, 0, 0, MAX_PRIORITY},
    {"process", read_process, MAY | ENVELOPE, 0, 2, INT32_MAX},
    {"wrapper", read_wrapper, MAY | ENVELOPE, 0, 2, INT32_MAX},
    {"ttl", read_ttl, MAY | ENVELOPE, AT(ttl), 1, NEVER - 1},
    {"kill_after", read_time, MAY, AT(kill_after), 0, NEVER - 1},
    {"on_lost", read_on_lost, MAY, 0, 0, 0},
    {"signal", read_signal, MAY, 0, 0, 64},
    {"parent", read_id, MAY, AT(parent), 0, 0},
    {"holder", read_string, MAY, AT(holder), 0, HOLDER_BYTES},
    {"reason", read_string, MAY, AT(reason), 0, REASON_BYTES},
    {"program", read_string, MAY, AT(program), 0, PROGRAM_BYTES},
    {"once", read_string, MAY, AT(once), 0, ONCE_BYTES},
    {"database", read_database, MAY | ENVELOPE, 0, 0, 0},
    {"ticket", read_number, MAY, AT(ticket), 1, MOST_TICKET},
    {"now", read_now, MAY_WAITING, 0, 1, 1},
    {"granted", read_time, MUST_HELD | ENVELOPE, AT(granted_at), 0, NEVER - 1},
    {"until", read_time, MAY | ENVELOPE, AT(until), 0, NEVER - 1},
    {"rested", read_time, MAY_HELD | ENVELOPE, AT(rested_at), 1, NEVER - 1},
    {"stopping", read_stopping, MAY_HELD, 0, 0, 0},
    {"slot", read_slot, MAY_HELD | MANY | ENVELOPE, 0, 0, INT64_MAX},
    {"item", read_item, MAY_HELD | MANY | ENVELOPE, 0, 0, INT64_MAX},
    {"want", read_want, MUST_WAITING | MANY | ENVELOPE, 0, 1, MAX_LIMIT},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- one key ---- */

static const struct row *find_row(const char *word, size_t length)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].key) == length && memcmp(rows[i].key, word, length) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void keep(struct record *record, const char *word)
{
    char *end = record->kept + strlen(record->kept);
    *end = ' ';
    strcpy(end + 1, word);
}

/* Another version's. False: not a word of a record at all. */
static bool read_unknown(struct record *record, const char *word, const char *key)
{
    record->remembered.is_opaque |= key != word;
    keep(record, word);
    return strchr(key, '=') > key;
}

static bool read_known(struct remembered *remembered, const struct row *row, bool seen[N_ROWS],
    char *value)
{
    unsigned may = remembered->is_held ? MAY_HELD : MAY_WAITING;
    bool *is_seen = &seen[row - rows], is_again = *is_seen && !(row->presence & MANY);
    *is_seen = true;
    bool is_good = !is_again && (row->presence & may) != 0 && row->read(remembered, row, value);
    remembered->is_opaque |= !is_good;
    return is_good || !(row->presence & ENVELOPE);
}

/* KEY=VALUE, or !KEY=VALUE: who does not understand it must not go by anything but the envelope. */
static bool read_word(struct record *record, char *word, bool seen[N_ROWS])
{
    char *key = word + (word[0] == '!');
    size_t length = strcspn(key, "=");
    const struct row *row = find_row(key, length);
    return row && key[length] == '='
        ? read_known(&record->remembered, row, seen, key + length + 1)
        : read_unknown(record, word, key);
}

/* ---- all of them ---- */

static bool has_tokens(const struct remembered *remembered)
{
    bool has = true;
    for (size_t i = 0; remembered->is_held && i < remembered->n_claims; i++) {
        has &= remembered->claims[i].token != 0;
    }
    return has;
}

static bool has_envelope(const struct remembered *remembered, const bool seen[N_ROWS])
{
    unsigned must = remembered->is_held ? MUST_HELD : MUST_WAITING;
    for (size_t i = 0; i < N_ROWS; i++) {
        if ((rows[i].presence & must) == must && !seen[i]) {
            return false;
        }
    }
    bool is_bound_once = !remembered->process.pid || !remembered->ttl;
    bool has_job = !remembered->wrapper.pid || remembered->process.pid;
    bool is_of_its_scope = record_database(remembered)
        ? remembered->rested_at == 0 /* the database keeps what rests */
        : has_tokens(remembered);
    return remembered->n_claims > 0 && is_bound_once && has_job && is_of_its_scope;
}

/* Nothing else gives those out. */
static bool is_of_fleet_only(const struct remembered *remembered)
{
    return remembered->stopping == OUTCOME_LOST || remembered->stopping == OUTCOME_DEADLINE ||
        remembered->ticket != 0 || remembered->wants_now;
}

/* As if only the envelope had been there. */
static void forget_the_rest(struct remembered *remembered)
{
    struct remembered all = *remembered;
    *remembered = (struct remembered){
        .id = all.id,
        .is_held = all.is_held,
        .uid = all.uid,
        .pid = all.pid,
        .binding = all.binding,
        .process = all.process,
        .wrapper = all.wrapper,
        .asked_at = all.asked_at,
        .granted_at = all.granted_at,
        .rested_at = all.rested_at,
        .until = all.binding == BOUND_TIME ? all.until : NEVER,
        .ttl = all.ttl,
        .kill_after = 10 * NANOSECONDS_PER_SECOND,
        .on_lost = ON_LOST_KILL,
        .stopping = OUTCOME_OK,
        .signal = SIGTERM,
        .is_opaque = true,
        .n_claims = all.n_claims,
    };
    memcpy(remembered->claims, all.claims, sizeof all.claims);
}

static bool read_all(struct record *record)
{
    struct remembered *remembered = &record->remembered;
    bool seen[N_ROWS] = {false};
    size_t state;
    char *text = record->text, *word = strsep(&text, " ");
    if (!find_word(word, state_words, N_WORDS(state_words), &state)) {
        return false;
    }
    remembered->is_held = state;
    while ((word = strsep(&text, " "))) {
        if (!read_word(record, word, seen)) {
            return false;
        }
    }
    remembered->is_opaque |= !record->database && is_of_fleet_only(remembered);
    return has_envelope(remembered, seen);
}

struct remembered *record_read(const char *text, size_t length)
{
    if (memchr(text, '\0', length)) {
        return NULL;
    }
    struct record *record = memory_new(sizeof *record + 2 * (length + 1) + 1);
    record->remembered = (struct remembered){
        .until = NEVER, .on_lost = ON_LOST_KILL, .signal = SIGTERM, .stopping = OUTCOME_OK};
    record->kept = record->text + length + 1;
    memcpy(record->text, text, length);
    if (!read_all(record)) {
        return record_free(&record->remembered);
    }
    if (record->remembered.is_opaque) {
        memcpy(record->kept, text, length);
        record->kept[length] = '\0';
        forget_the_rest(&record->remembered);
    }
    record->remembered.kept = record->kept[0] ? record->kept : NULL;
    return &record->remembered;
}

enum record_kind record_kind(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const char *end = memchr(text, ' ', length);
    size_t n = end ? (size_t)(end - text) : length, at = length > 0 && text[0] == '!';
    bool is_lease = false;
    for (size_t i = 0; i < N_WORDS(state_words); i++) {
        is_lease |= strlen(state_words[i]) == n && memcmp(state_words[i], text, n) == 0;
    }
    if (is_lease) {
        return RECORD_LEASE;
    }
    bool must_understand = at == 1, is_word = n > at;
    for (; at < n; at++) {
        is_word &= text[at] != '\0' && strchr(letters, text[at]);
    }
    return !is_word ? RECORD_NONSENSE : must_understand ? RECORD_MUST_UNDERSTAND : RECORD_UNKNOWN;
}

const char *record_database(const struct remembered *remembered)
{
    return ((const struct record *)remembered)->database;
}

struct remembered *record_free(struct remembered *remembered)
{
    for (size_t i = 0; remembered && i < remembered->n_claims; i++) {
        free((void *)remembered->claims[i].units);
    }
    free(remembered);
    return NULL;
}
