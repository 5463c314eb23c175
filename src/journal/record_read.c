/* record_read.c - reads a lease's record.
 *
 * A record without a readable envelope is no record. Any other key may be a later version's: what
 * is not understood is kept as written. */
#include "base/memory.h"
#include "base/words.h"
#include "core/units.h"
#include "journal/record.h"
#include "journal/record_words.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const char *key;
    /* False: malformed. Cuts `value` up in place. */
    bool (*read)(struct record *record, const struct row *row, char *value);
    unsigned presence; /* enum presence */
    size_t offset, size; /* of the member of struct record */
    uint64_t min, max;
};

/* ---- words ---- */

static void *member_of(struct record *record, const struct row *row)
{
    return (char *)record + row->offset;
}

static void set_number(struct record *record, const struct row *row, uint64_t number)
{
    void *member = member_of(record, row);
    if (row->size == sizeof(uint64_t)) {
        *(uint64_t *)member = number;
    } else if (row->size == sizeof(uint32_t)) {
        *(uint32_t *)member = (uint32_t)number;
    } else {
        *(uint8_t *)member = (uint8_t)number;
    }
}

static bool read_in_range(const struct row *row, const char *value, uint64_t *numberp)
{
    return number_parse(value, row->max, numberp) && *numberp >= row->min;
}

static bool read_number(struct record *record, const struct row *row, char *value)
{
    uint64_t number;
    bool is_good = read_in_range(row, value, &number);
    set_number(record, row, is_good ? number : 0);
    return is_good;
}

static bool read_signed(struct record *record, const struct row *row, char *value)
{
    int64_t number;
    bool is_good = signed_number_parse(value, (int64_t)row->max, &number);
    set_number(record, row, is_good ? (uint64_t)number : 0);
    return is_good;
}

static bool read_id(struct record *record, const struct row *row, char *value)
{
    uint64_t *id = member_of(record, row);
    return lease_id_parse(value, id) && *id != 0;
}

static bool read_text(struct record *record, const struct row *row, char *value)
{
    *(const char **)member_of(record, row) = value;
    return percent_decode(value) && value[0] != '\0' && strlen(value) <= row->max;
}

/* `words` may have gaps. */
static bool read_word(struct record *record, const struct row *row, const char *value,
    const char *const words[], size_t n)
{
    size_t i = words_index(value, words, n);
    set_number(record, row, i < n ? i : 0);
    return i < n;
}

static bool read_on_lost(struct record *record, const struct row *row, char *value)
{
    return read_word(record, row, value, on_lost_words, N_ON_LOST);
}

static bool read_replace(struct record *record, const struct row *row, char *value)
{
    return read_word(record, row, value, replace_words, N_REPLACE);
}

static bool read_stopping(struct record *record, const struct row *row, char *value)
{
    return read_word(record, row, value, record_stopping_words, N_OUTCOMES);
}

/* Cuts the value at its first comma; NULL: it has none. */
static char *cut_at_comma(char *value)
{
    char *comma = strchr(value, ',');
    if (comma) {
        *comma++ = '\0';
    }
    return comma;
}

/* PID,STARTED */
static bool read_process(struct record *record, const struct row *row, char *value)
{
    struct process *process = member_of(record, row);
    uint64_t pid;
    const char *started = cut_at_comma(value);
    bool is_good = started && read_in_range(row, value, &pid) &&
        number_parse(started, UINT64_MAX, &process->started);
    process->pid = is_good ? (int32_t)pid : 0;
    return is_good;
}

/* ---- units ---- */

/* NAME,... : the next claim; *restp is what follows the name. NULL: malformed. */
static struct saved_claim *read_claim(struct saved_lease *lease, char *value, char **restp)
{
    *restp = cut_at_comma(value);
    if (!*restp || lease->n_claims == MAX_RESOURCES_PER_LEASE || !name_is_valid(value)) {
        return NULL;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (strcmp(lease->claims[i].name, value) == 0) {
            return NULL;
        }
    }
    struct saved_claim *claim = &lease->claims[lease->n_claims++];
    claim->name = value;
    return claim;
}

/* NAME,TOKEN,UNITS */
static bool read_units(struct record *record, const struct row *row, char *value, bool is_pool)
{
    char *token;
    struct saved_claim *claim = read_claim(&record->lease, value, &token);
    char *list = claim ? cut_at_comma(token) : NULL;
    if (!list) {
        return false;
    }
    claim->is_pool = is_pool;
    claim->count = units_count(list, is_pool);
    if (claim->count == 0 || !read_in_range(row, token, &claim->token)) {
        return false;
    }
    struct saved_unit *units = memory_new(claim->count * sizeof *units);
    claim->units = units; /* record_free() frees them from now on */
    return units_parse(list, is_pool, claim->count, units);
}

static bool read_slot(struct record *record, const struct row *row, char *value)
{
    return read_units(record, row, value, false);
}

static bool read_item(struct record *record, const struct row *row, char *value)
{
    return read_units(record, row, value, true);
}

/* NAME,COUNT */
static bool read_want(struct record *record, const struct row *row, char *value)
{
    char *rest;
    uint64_t count;
    struct saved_claim *claim = read_claim(&record->lease, value, &rest);
    if (!claim || !read_in_range(row, rest, &count)) {
        return false;
    }
    claim->count = (uint32_t)count;
    return true;
}

/* NAME,COUNT,LEASE */
static bool read_share(struct record *record, const struct row *row, char *value)
{
    char *count, *lease;
    uint64_t number;
    struct saved_claim *claim = read_claim(&record->lease, value, &count);
    lease = claim ? cut_at_comma(count) : NULL;
    bool is_good = lease && read_in_range(row, count, &number) &&
        lease_id_parse(lease, &claim->sharer) && claim->sharer != 0;
    if (is_good) {
        claim->count = (uint32_t)number;
    }
    return is_good;
}

/* Bit 1 << i: claim i, of those before it in the record. */
static bool read_all(struct record *record, const struct row *row, char *value)
{
    struct saved_lease *lease = &record->lease;
    uint64_t all;
    bool is_good = read_in_range(row, value, &all) && all >> lease->n_claims == 0;
    for (size_t i = 0; is_good && i < lease->n_claims; i++) {
        lease->claims[i].is_all = (all >> i & 1) != 0;
    }
    return is_good;
}

/* How many, of those before it in the record, are levels: the last ones. */
static bool read_levels(struct record *record, const struct row *row, char *value)
{
    struct saved_lease *lease = &record->lease;
    uint64_t n;
    bool is_good = read_in_range(row, value, &n) && n < lease->n_claims;
    for (size_t i = lease->n_claims; is_good && i > lease->n_claims - n; i--) {
        lease->claims[i - 1].is_level = true;
    }
    return is_good;
}

/* CLAIM,CHARGED,PAID,STEP: of claim 0, 1, ..., of those before it in the record. */
static bool read_rate(struct record *record, const struct row *row, char *value)
{
    struct saved_lease *lease = &record->lease;
    enum { CLAIM, CHARGED, PAID, STEP, N };
    uint64_t numbers[N];
    size_t n = 0;
    for (char *word; n < N && (word = strsep(&value, ","));) {
        n = read_in_range(row, word, &numbers[n]) ? n + 1 : N + 1;
    }
    bool is_good = n == N && !value && numbers[CLAIM] < lease->n_claims &&
        numbers[CHARGED] <= numbers[PAID] && numbers[STEP] > 0;
    if (is_good) {
        lease->claims[numbers[CLAIM]].rate = (struct saved_rate){(nanoseconds)numbers[CHARGED],
            (nanoseconds)numbers[PAID], (nanoseconds)numbers[STEP]};
    }
    return is_good;
}

/* COOLDOWN,... : one for each claim, in their order. */
static bool read_cooldowns(struct record *record, const struct row *row, char *value)
{
    struct saved_lease *lease = &record->lease;
    bool is_good = true;
    size_t n = 0;
    for (char *word; is_good && (word = strsep(&value, ",")); n++) {
        uint64_t cooldown;
        is_good = n < lease->n_claims && read_in_range(row, word, &cooldown);
        if (is_good) {
            lease->claims[n].cooldown = (nanoseconds)cooldown;
        }
    }
    is_good = is_good && n == lease->n_claims;
    for (size_t i = 0; !is_good && i < lease->n_claims; i++) {
        lease->claims[i].cooldown = 0; /* as if nothing had been said */
    }
    lease->has_cooldowns = is_good;
    return is_good;
}

static const struct row rows[] = {
#define ROW(key, form, presence, member, min, max, initial)                                        \
    {#key, read_##form, presence, offsetof(struct record, member),                                 \
        sizeof((struct record *)NULL)->member, min, max},
#include "journal/record_rows.def"
#undef ROW
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const struct row *find_row(const char *key, size_t length)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strncmp(rows[i].key, key, length) == 0 && rows[i].key[length] == '\0') {
            return &rows[i];
        }
    }
    return NULL;
}

/* Another version's word. False if it is malformed. */
static bool read_unknown(struct record *record, const char *word, const char *key)
{
    char *end = record->kept + strlen(record->kept);
    record->lease.is_opaque |= key != word;
    *end = ' ';
    strcpy(end + 1, word);
    return strchr(key, '=') > key;
}

static bool read_known(struct record *record, const struct row *row, bool seen[], char *value)
{
    struct saved_lease *lease = &record->lease;
    unsigned may = lease->is_held ? MAY_HELD : MAY_WAITING;
    bool *is_seen = &seen[row - rows], is_again = *is_seen && !(row->presence & MANY);
    *is_seen = true;
    bool is_good = !is_again && (row->presence & may) != 0 && row->read(record, row, value);
    lease->is_opaque |= !is_good;
    return is_good || !(row->presence & ENVELOPE);
}

/* KEY=VALUE, or !KEY=VALUE: a reader that does not understand the latter may use only the
 * envelope. */
static bool read_key(struct record *record, char *word, bool seen[])
{
    char *key = word + (word[0] == '!');
    size_t length = strcspn(key, "=");
    const struct row *row = find_row(key, length);
    return row && key[length] == '=' ? read_known(record, row, seen, key + length + 1)
                                     : read_unknown(record, word, key);
}

/* ---- the whole record ---- */

static bool has_tokens(const struct saved_lease *lease)
{
    bool has = true;
    for (size_t i = 0; lease->is_held && i < lease->n_claims; i++) {
        has &= lease->claims[i].token != 0 || lease->claims[i].sharer != 0;
    }
    return has;
}

static bool has_envelope(const struct record *record, const bool seen[])
{
    const struct saved_lease *lease = &record->lease;
    unsigned must = lease->is_held ? MUST_HELD : MUST_WAITING;
    for (size_t i = 0; i < N_ROWS; i++) {
        if ((rows[i].presence & must) == must && !seen[i]) {
            return false;
        }
    }
    bool is_bound_once = lease->process.pid == 0 || lease->ttl == 0;
    bool has_job = lease->wrapper.pid == 0 || lease->process.pid != 0;
    bool is_of_its_scope = record->database
        ? name_is_valid(record->database) &&
            lease->rested_at == 0 /* in fleet scope the database keeps resting units */
        : has_tokens(lease);
    return lease->n_claims > 0 && is_bound_once && has_job && is_of_its_scope;
}

/* Only databases give these out. */
static bool is_of_fleet_only(const struct saved_lease *lease)
{
    return lease->stopping == OUTCOME_LOST || lease->stopping == OUTCOME_DEADLINE ||
        (lease->ticket != 0 && lease->is_held) || lease->wants_now;
}

/* Leaves only what the envelope says. */
static void forget_the_rest(struct saved_lease *lease)
{
    lease_attributes_init(&lease->attributes);
    lease->attributes.kill_after = 10 * NANOSECONDS_PER_SECOND;
    lease->until = lease->binding == BOUND_TIME ? lease->until : NEVER;
    lease->ttl = lease->binding == BOUND_TIME ? lease->ttl : 0;
    lease->hold_until = NEVER;
    lease->stopping = OUTCOME_OK;
    lease->stop_reason = NULL;
    lease->by = (struct actor){.is_known = false};
    lease->ticket = 0;
    lease->wants_now = lease->is_away = false;
}

static bool read_whole(struct record *record)
{
    struct saved_lease *lease = &record->lease;
    bool seen[N_ROWS] = {false};
    char *text = record->text, *word = strsep(&text, " ");
    lease->is_held = strcmp(word, record_state_words[true]) == 0;
    if (!lease->is_held && strcmp(word, record_state_words[false]) != 0) {
        return false;
    }
    while ((word = strsep(&text, " "))) {
        if (!read_key(record, word, seen)) {
            return false;
        }
    }
    lease->binding = lease->process.pid != 0 ? BOUND_PROCESS
        : lease->ttl != 0                    ? BOUND_TIME
                                             : BOUND_CONNECTION;
    lease->is_opaque |= !record->database && is_of_fleet_only(lease);
    if (!has_envelope(record, seen)) {
        return false;
    }
    lease->ttl = lease->binding == BOUND_TIME ? lease->ttl : record->lapse;
    lease->by = (struct actor){
        .is_known = record->by != NO_USER,
        .has_login = record->by_login != NO_USER,
        .uid = (uint32_t)record->by,
        .login = (uint32_t)record->by_login,
    };
    return true;
}

struct saved_lease *record_read(const char *text, size_t length)
{
    if (memchr(text, '\0', length)) {
        return NULL;
    }
    struct record *record = memory_new(sizeof *record + 2 * (length + 1) + 1);
    record->lease =
        (struct saved_lease){.until = NEVER, .hold_until = NEVER, .stopping = OUTCOME_OK};
    record->by = record->by_login = NO_USER;
    lease_attributes_init(&record->lease.attributes);
    record->kept = record->text + length + 1;
    memcpy(record->text, text, length);
    if (!read_whole(record)) {
        return record_free(&record->lease);
    }
    if (record->lease.is_opaque) {
        memcpy(record->kept, text, length);
        record->kept[length] = '\0';
        forget_the_rest(&record->lease);
    }
    record->lease.kept = record->kept[0] ? record->kept : NULL;
    return &record->lease;
}

const char *record_database(const struct saved_lease *saved)
{
    return ((const struct record *)saved)->database;
}

struct saved_lease *record_free(struct saved_lease *saved)
{
    for (size_t i = 0; saved && i < saved->n_claims; i++) {
        free((void *)saved->claims[i].units);
    }
    free(saved);
    return NULL;
}

enum record_kind record_kind(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const char *end = memchr(text, ' ', length);
    size_t n = end ? (size_t)(end - text) : length, at = length > 0 && text[0] == '!';
    for (size_t i = 0; i < 2; i++) {
        const char *word = record_state_words[i];
        if (strlen(word) == n && memcmp(word, text, n) == 0) {
            return RECORD_LEASE;
        }
    }
    bool must_understand = at == 1, is_word = n > at;
    for (; at < n; at++) {
        is_word &= text[at] != '\0' && strchr(letters, text[at]);
    }
    return !is_word ? RECORD_NONSENSE : must_understand ? RECORD_MUST_UNDERSTAND : RECORD_UNKNOWN;
}
