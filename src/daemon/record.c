#include "daemon/record.h"

#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/units.h"
#include "wire/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Words of the record by their value. */
static const char *const state_words[] = {[false] = "waiting", [true] = "held"};
static const char *const on_lost_words[] = {
    [ON_LOST_WARN] = "warn", [ON_LOST_TERM] = "term", [ON_LOST_KILL] = "kill"};
static const char *const stopping_words[] = {
    [OUTCOME_REVOKED] = "revoked",
    [OUTCOME_WITHDRAWN] = "withdrawn",
    [OUTCOME_MAX_HOLD] = "max-hold",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_DEADLINE] = "deadline",
};

#define MOST_TICKET (UINT64_C(1) << 53) /* Lua's numbers */

#define N_WORDS(words) (sizeof(words) / sizeof(words)[0])

/* ---- writing ---- */

static void add_id(struct text *out, const char *key, uint64_t id)
{
    char word[LEASE_ID_SIZE];
    lease_id_format(word, id);
    text_add(out, key);
    text_add(out, word);
}

static void add_number_unless(struct text *out, const char *key, uint64_t number, uint64_t left_out)
{
    if (number != left_out) {
        text_add_number_key(out, key, number);
    }
}

static void add_wants(struct text *out, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        text_add(out, " want=");
        text_add(out, lease->claims[i].resource->name);
        text_add(out, ",");
        text_add_number(out, lease->claims[i].count);
    }
}

static void add_binding(struct text *out, const struct lease *lease)
{
    if (lease->binding == BOUND_PROCESS) {
        text_add_number_key(out, "process", (uint64_t)lease->process.pid);
        text_add(out, ",");
        text_add_number(out, lease->process.started);
    } else if (lease->binding == BOUND_TIME) {
        text_add_number_key(out, "ttl", (uint64_t)lease->ttl);
    }
}

static void add_until(struct text *out, const struct order_node *timer)
{
    if (order_contains(timer)) {
        text_add_number_key(out, "until", timer->major);
    }
}

static void add_priority(struct text *out, int32_t priority)
{
    if (priority != 0) {
        text_add_format(out, " priority=%d", (int)priority);
    }
}

static void add_fleet(struct text *out, const struct lease *lease, const char *database)
{
    text_add_key(out, "database", database);
    add_number_unless(out, "ticket", lease->ticket, 0);
    add_number_unless(out, "now", lease->state == LEASE_WAITING && lease->wants_now, false);
}

static void add_held(struct text *out, const struct lease *lease)
{
    text_add_number_key(out, "granted", (uint64_t)lease->granted_at);
    if (lease->term) {
        add_until(out, &lease->term->timer);
    }
    if (lease->stopping != OUTCOME_OK) {
        text_add_key(out, "stopping", stopping_words[lease->stopping]);
    }
    answer_units(out, lease);
}

static void add_waiting(struct text *out, const struct lease *lease)
{
    add_until(out, &lease->waiting->timer);
    add_wants(out, lease);
}

void record_write(struct text *out, const struct lease *lease, const char *database)
{
    bool is_held = lease->state == LEASE_HELD;
    text_add(out, state_words[is_held]);
    add_id(out, " id=", lease->id);
    text_add_number_key(out, "uid", lease->uid);
    text_add_number_key(out, "pid", (uint64_t)lease->pid);
    text_add_number_key(out, "asked", (uint64_t)lease->asked_at);
    add_priority(out, lease->priority);
    add_binding(out, lease);
    add_number_unless(out, "kill_after", (uint64_t)lease->kill_after, 0);
    if (lease->on_lost != ON_LOST_KILL) {
        text_add_key(out, "on_lost", on_lost_words[lease->on_lost]);
    }
    add_number_unless(out, "signal", lease->signal, SIGTERM);
    if (lease->parent != 0) {
        add_id(out, " parent=", lease->parent);
    }
    text_add_key(out, "holder", lease->holder);
    text_add_key(out, "reason", lease->reason);
    text_add_key(out, "program", lease->program);
    text_add_key(out, "once", lease->once);
    add_fleet(out, lease, database);
    (is_held ? add_held : add_waiting)(out, lease);
}

void record_add_rest(struct text *record, nanoseconds ended_at)
{
    text_add_number_key(record, "rested", (uint64_t)ended_at);
}

static size_t encoded_length(const char *text)
{
    return text ? sizeof " program=" + percent_encode(NULL, 0, text) : 0;
}

size_t record_most_bytes(const struct ask *ask, size_t longest_grant, const char *database)
{
    /* The longest of all that is not the asker's text, nor units. */
    static const char fixed[] =
        "waiting id=7zzzzzzzzzzzz uid=4294967295 pid=2147483647 asked=9223372036854775807"
        " priority=-1000 process=2147483647,18446744073709551615 ttl=9223372036854775807"
        " kill_after=9223372036854775807 on_lost=warn signal=64 parent=7zzzzzzzzzzzz"
        " granted=9223372036854775807 until=9223372036854775807 stopping=withdrawn"
        " rested=9223372036854775807";
    static const char of_fleet[] = " database= ticket=9007199254740992 now=1";
    size_t fleet = database ? sizeof of_fleet + encoded_length(database) : 0;
    return fleet + sizeof fixed + encoded_length(ask->holder) + encoded_length(ask->reason) +
        encoded_length(ask->program) + encoded_length(ask->once) + longest_grant;
}

/* ---- reading: one function for each kind of value; false if it is not one ---- */

struct record {
    struct remembered remembered; /* first: record_free() gets a pointer to it */
    const char *database; /* or NULL */
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
static bool read_process(struct remembered *remembered, const struct row *row, char *value)
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
    remembered->binding = BOUND_PROCESS;
    remembered->process = (struct process){.pid = (int32_t)pid, .started = started};
    return true;
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
    size_t index = 0;
    (void)row;
    bool is_good = find_word(value, on_lost_words, N_WORDS(on_lost_words), &index);
    remembered->on_lost = (enum on_lost)index;
    return is_good;
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
    MAY = MAY_WAITING | MAY_HELD,
    MUST = MUST_WAITING | MUST_HELD,
};

#define AT(member) offsetof(struct remembered, member)

static const struct row rows[] = {
    {"id", read_id, MUST, AT(id), 0, 0},
    {"uid", read_32_bits, MUST, AT(uid), 0, UINT32_MAX},
    {"pid", read_32_bits, MUST, AT(pid), 0, INT32_MAX},
    {"asked", read_time, MUST, AT(asked_at), 0, NEVER - 1},
    {"priority", read_priority, MAY, 0, 0, MAX_PRIORITY},
    {"process", read_process, MAY, 0, 2, INT32_MAX},
    {"ttl", read_ttl, MAY, AT(ttl), 1, NEVER - 1},
    {"kill_after", read_time, MAY, AT(kill_after), 0, NEVER - 1},
    {"on_lost", read_on_lost, MAY, 0, 0, 0},
    {"signal", read_signal, MAY, 0, 0, 64},
    {"parent", read_id, MAY, AT(parent), 0, 0},
    {"holder", read_string, MAY, AT(holder), 0, HOLDER_BYTES},
    {"reason", read_string, MAY, AT(reason), 0, REASON_BYTES},
    {"program", read_string, MAY, AT(program), 0, PROGRAM_BYTES},
    {"once", read_string, MAY, AT(once), 0, ONCE_BYTES},
    {"database", read_database, MAY, 0, 0, 0},
    {"ticket", read_number, MAY, AT(ticket), 1, MOST_TICKET},
    {"now", read_now, MAY_WAITING, 0, 1, 1},
    {"granted", read_time, MUST_HELD, AT(granted_at), 0, NEVER - 1},
    {"until", read_time, MAY, AT(until), 0, NEVER - 1},
    {"rested", read_time, MAY_HELD, AT(rested_at), 1, NEVER - 1},
    {"stopping", read_stopping, MAY_HELD, 0, 0, 0},
    {"slot", read_slot, MAY_HELD | MANY, 0, 0, INT64_MAX},
    {"item", read_item, MAY_HELD | MANY, 0, 0, INT64_MAX},
    {"want", read_want, MUST_WAITING | MANY, 0, 1, MAX_LIMIT},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static bool read_pair(struct remembered *remembered, char *pair, bool seen[N_ROWS])
{
    char *equals = strchr(pair, '=');
    unsigned may = remembered->is_held ? MAY_HELD : MAY_WAITING;
    if (!equals) {
        return false;
    }
    *equals = '\0';
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].key, pair) == 0) {
            bool again = seen[i] && !(rows[i].presence & MANY);
            seen[i] = true;
            return !again && (rows[i].presence & may) != 0 &&
                rows[i].read(remembered, &rows[i], equals + 1);
        }
    }
    return false;
}

/* Tokens come with the grant, and nothing else is given out by anybody else. */
static bool is_of_host(const struct remembered *remembered)
{
    bool has_tokens = true;
    for (size_t i = 0; remembered->is_held && i < remembered->n_claims; i++) {
        has_tokens &= remembered->claims[i].token != 0;
    }
    bool is_stopped_by_fleet = remembered->stopping == OUTCOME_LOST ||
        remembered->stopping == OUTCOME_DEADLINE;
    return has_tokens && !is_stopped_by_fleet && remembered->ticket == 0 && !remembered->wants_now;
}

static bool has_all(const struct remembered *remembered, const bool seen[N_ROWS])
{
    unsigned must = remembered->is_held ? MUST_HELD : MUST_WAITING;
    for (size_t i = 0; i < N_ROWS; i++) {
        if ((rows[i].presence & must) == must && !seen[i]) {
            return false;
        }
    }
    bool is_bound_once = !remembered->process.pid || !remembered->ttl;
    bool is_of_its_scope = record_database(remembered)
        ? remembered->rested_at == 0 /* the database keeps what rests */
        : is_of_host(remembered);
    return remembered->n_claims > 0 && is_bound_once && is_of_its_scope;
}

static bool read_all(struct remembered *remembered, char *text)
{
    bool seen[N_ROWS] = {false};
    size_t state;
    char *word = strsep(&text, " ");
    if (!find_word(word, state_words, N_WORDS(state_words), &state)) {
        return false;
    }
    remembered->is_held = state;
    while ((word = strsep(&text, " "))) {
        if (!read_pair(remembered, word, seen)) {
            return false;
        }
    }
    return has_all(remembered, seen);
}

struct remembered *record_read(const char *text, size_t length)
{
    if (memchr(text, '\0', length)) {
        return NULL;
    }
    struct record *record = memory_new(sizeof *record + length + 1);
    record->remembered = (struct remembered){
        .until = NEVER, .on_lost = ON_LOST_KILL, .signal = SIGTERM, .stopping = OUTCOME_OK};
    memcpy(record->text, text, length);
    if (!read_all(&record->remembered, record->text)) {
        return record_free(&record->remembered);
    }
    return &record->remembered;
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
