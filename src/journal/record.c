/* record.c - the words of a lease's record, in the order in which they are written; doc/journal.md
 * has the rules.
 *
 * A record without a readable envelope is no record. Any other key may be a later version's: what
 * is not understood is kept as written. */
#include "journal/record.h"

#include "base/memory.h"
#include "base/words.h"
#include "journal/record_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STATES = 2 };

static const char *const state_words[N_STATES] = {[false] = "waiting", [true] = "held"};

#define MAX_TICKET (UINT64_C(1) << 53) /* the largest integer exact in Lua */

enum presence {
    MAY_WAITING = 1,
    MAY_HELD = 2,
    MUST_WAITING = 4 | MAY_WAITING,
    MUST_HELD = 8 | MAY_HELD,
    MANY = 16, /* the key may be given more than once */
    ENVELOPE = 32, /* read alike by every version */
    MAY = MAY_WAITING | MAY_HELD,
    MUST = MUST_WAITING | MUST_HELD | ENVELOPE,
};

#define HEAD(key) " " key "=", sizeof(key) - 1
#define AT(member) offsetof(struct lease, member), offsetof(struct remembered, member)
#define INTO(member) 0, offsetof(struct remembered, member)
#define NOWHERE 0, 0

enum {
#define ROW(key, ...) ROW_##key,
#include "journal/record_rows.def"
#undef ROW
    N_ROWS
};

static const struct record_row rows[N_ROWS] = {
#define ROW(key, form, presence, ...) {HEAD(#key), &form_##form, presence, __VA_ARGS__},
#include "journal/record_rows.def"
#undef ROW
};

static const struct record_row *find_row(const char *word, size_t length)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].key_length == length && memcmp(rows[i].head + 1, word, length) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static unsigned may_be_in(bool is_held)
{
    return is_held ? MAY_HELD : MAY_WAITING;
}

/* ---- written ---- */

enum { ROOM = N_ROWS * MAX_WORD }; /* for all words of bounded length */

/* Behind what `out` has. */
static char *find_room(struct writing *writing, size_t n)
{
    struct text *out = writing->out;
    char *to = text_room(out, ROOM + n);
    writing->end = out->bytes + out->size - ROOM;
    return to;
}

char *make_more_room(struct writing *writing, char *to, size_t n)
{
    writing->out->length = (size_t)(to - writing->out->bytes);
    return find_room(writing, n);
}

static char *write_words(struct writing *writing, char *to)
{
    bool is_held = writing->lease->state == LEASE_HELD;
    unsigned may = may_be_in(is_held);
    to = put_string(to, state_words[is_held]);
#define ROW(key, form, presence, ...)                                                              \
    if (((presence)&may) != 0) {                                                                   \
        to = write_##form(writing, to, &rows[ROW_##key]);                                          \
    }
#include "journal/record_rows.def"
#undef ROW
    return to;
}

static void write_record(struct writing *writing)
{
    struct text *out = writing->out;
    const struct lease *lease = writing->lease;
    if (!lease->is_opaque) {
        text_end(out, write_words(writing, find_room(writing, 0)));
    }
    if (lease->kept) {
        text_add(out, lease->kept);
    }
}

void record_write(struct text *out, const struct lease *lease, const char *database)
{
    write_record(&(struct writing){.out = out, .lease = lease, .database = database});
}

void record_write_brief(struct text *out, const struct lease *lease, const char *database)
{
    write_record(
        &(struct writing){.out = out, .lease = lease, .database = database, .is_brief = true});
}

void record_add_rest(struct text *record, nanoseconds ended_at)
{
    char *to = text_room(record, MAX_WORD);
    text_end(record, put_number_word(to, &rows[ROW_rested], (uint64_t)ended_at));
}

/* ---- the longest record ---- */

/* With the longest values, without what depends on the request: texts and units. */
static size_t longest_in(bool is_held)
{
    char room[ROOM], *to = put_string(room, state_words[is_held]);
    for (size_t i = 0; i < N_ROWS; i++) {
        if ((rows[i].presence & may_be_in(is_held)) && rows[i].form->put_longest) {
            to = rows[i].form->put_longest(to, &rows[i]);
        }
    }
    return (size_t)(to - room);
}

static inline size_t text_length(const struct record_row *row, const char *text)
{
    return text ? row->key_length + sizeof " =" - 1 + percent_encoded_length(text) : 0;
}

static size_t texts_length(const struct terms *terms, const char *database)
{
    size_t length = text_length(&rows[ROW_database], database);
#define LENGTH_TEXT(word) text_length(&rows[ROW_##word], terms->word)
#define LENGTH_NUMBER(word) 0
#define LENGTH_SPAN(word) 0
#define LENGTH_ON_LOST(word) 0
#define LENGTH_SIGNAL(word) 0
#define LENGTH_LEASE(word) 0
#define ATTRIBUTE(word, type, ...) length += LENGTH_##type(word);
#include "base/attributes.def"
#undef ATTRIBUTE
    return length;
}

size_t record_max_bytes(const struct terms *terms, const char *database, size_t units)
{
    static size_t longest; /* always the same */
    if (longest == 0) {
        size_t held = longest_in(true), waiting = longest_in(false);
        longest = held > waiting ? held : waiting;
    }
    return longest + texts_length(terms, database) + units;
}

/* ---- read: one word ---- */

static void keep(struct record *record, const char *word)
{
    char *end = record->kept + strlen(record->kept);
    *end = ' ';
    strcpy(end + 1, word);
}

/* Another version's word. False if it is malformed. */
static bool read_unknown(struct record *record, const char *word, const char *key)
{
    record->remembered.is_opaque |= key != word;
    keep(record, word);
    return strchr(key, '=') > key;
}

static bool read_known(
    struct remembered *remembered, const struct record_row *row, bool seen[N_ROWS], char *value)
{
    unsigned may = may_be_in(remembered->is_held);
    bool *is_seen = &seen[row - rows], is_again = *is_seen && !(row->presence & MANY);
    *is_seen = true;
    bool is_good =
        !is_again && (row->presence & may) != 0 && row->form->read(remembered, row, value);
    remembered->is_opaque |= !is_good;
    return is_good || !(row->presence & ENVELOPE);
}

/* KEY=VALUE, or !KEY=VALUE: a reader that does not understand the latter may use only the
 * envelope. */
static bool read_word(struct record *record, char *word, bool seen[N_ROWS])
{
    char *key = word + (word[0] == '!');
    size_t length = strcspn(key, "=");
    const struct record_row *row = find_row(key, length);
    return row && key[length] == '='
        ? read_known(&record->remembered, row, seen, key + length + 1)
        : read_unknown(record, word, key);
}

/* ---- the whole record ---- */

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
        ? remembered->rested_at == 0 /* in fleet scope the database keeps resting units */
        : has_tokens(remembered);
    return remembered->n_claims > 0 && is_bound_once && has_job && is_of_its_scope;
}

/* Only databases give these out. */
static bool is_of_fleet_only(const struct remembered *remembered)
{
    return remembered->stopping == OUTCOME_LOST || remembered->stopping == OUTCOME_DEADLINE ||
        remembered->ticket != 0 || remembered->wants_now;
}

/* Leaves only what the envelope says. */
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
        .hold_until = NEVER,
        .ttl = all.ttl,
        .stopping = OUTCOME_OK,
        .is_opaque = true,
        .n_claims = all.n_claims,
    };
    memcpy(remembered->claims, all.claims, sizeof all.claims);
    terms_init(&remembered->terms);
    remembered->terms.kill_after = 10 * NANOSECONDS_PER_SECOND;
}

static bool read_all(struct record *record)
{
    struct remembered *remembered = &record->remembered;
    bool seen[N_ROWS] = {false};
    size_t state;
    char *text = record->text, *word = strsep(&text, " ");
    if (!record_find_word(word, state_words, N_STATES, &state)) {
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
        .until = NEVER, .hold_until = NEVER, .stopping = OUTCOME_OK};
    terms_init(&record->remembered.terms);
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
    for (size_t i = 0; i < N_STATES; i++) {
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

void record_write_numbers(struct text *out, uint64_t mark, uint64_t of)
{
    text_add_format(out, "numbers %" PRIu64 " %016" PRIx64, mark, of);
}

bool record_read_numbers(const char *text, size_t length, struct record_numbers *numbers)
{
    char copy[64] = "";
    struct record_numbers found;
    int end = 0;
    memcpy(copy, text, length < sizeof copy ? length : 0);
    bool is_whole =
        sscanf(copy, "numbers %" SCNu64 " %" SCNx64 "%n", &found.mark, &found.of, &end) == 2 &&
        (size_t)end == length;
    if (is_whole) {
        *numbers = found;
    }
    return is_whole;
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
