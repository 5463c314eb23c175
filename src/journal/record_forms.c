/* record_forms.c - see record_forms.h: numbers, texts, words, processes and times. */
#include "journal/record_forms.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

static const void *member_of(const struct writing *writing, const struct record_row *row)
{
    return (const char *)writing->lease + row->from;
}

static void *target_of(struct remembered *remembered, const struct record_row *row)
{
    return (char *)remembered + row->to;
}

bool record_read_in_range(const struct record_row *row, const char *value, uint64_t *numberp)
{
    return number_parse(value, row->max, numberp) && *numberp >= row->min;
}

/* ---- numbers ---- */

void record_put_number(struct text *out, const struct record_row *row, uint64_t number)
{
    record_put_head(out, row);
    text_add_number(out, number);
}

static void write_number_unless_initial(
    const struct writing *writing, const struct record_row *row, uint64_t number)
{
    if (number != row->initial) {
        record_put_number(writing->out, row, number);
    }
}

static void write_max(struct text *out, const struct record_row *row)
{
    record_put_number(out, row, row->max);
}

static void write_number(const struct writing *writing, const struct record_row *row)
{
    write_number_unless_initial(writing, row, *(const uint64_t *)member_of(writing, row));
}

static bool read_number(struct remembered *remembered, const struct record_row *row, char *value)
{
    return record_read_in_range(row, value, target_of(remembered, row));
}

const struct record_form form_number = {write_number, write_max, read_number};

/* Signed or not; never negative. */
static void write_uint32(const struct writing *writing, const struct record_row *row)
{
    uint32_t number;
    memcpy(&number, member_of(writing, row), sizeof number);
    write_number_unless_initial(writing, row, number);
}

static bool read_uint32(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t number;
    bool is_good = record_read_in_range(row, value, &number);
    uint32_t bits = is_good ? (uint32_t)number : 0;
    memcpy(target_of(remembered, row), &bits, sizeof bits);
    return is_good;
}

const struct record_form form_uint32 = {write_uint32, write_max, read_uint32};

static void write_time(const struct writing *writing, const struct record_row *row)
{
    write_number_unless_initial(
        writing, row, (uint64_t) * (const nanoseconds *)member_of(writing, row));
}

static bool read_time(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t number;
    bool is_good = record_read_in_range(row, value, &number);
    if (is_good) {
        *(nanoseconds *)target_of(remembered, row) = (nanoseconds)number;
    }
    return is_good;
}

const struct record_form form_time = {write_time, write_max, read_time};
/* Only record_add_rest() writes it, when the lease has ended. */
const struct record_form form_rested = {NULL, write_max, read_time};

static void write_signal(const struct writing *writing, const struct record_row *row)
{
    write_number_unless_initial(writing, row, *(const uint8_t *)member_of(writing, row));
}

static bool read_signal(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t number;
    bool is_good = record_read_in_range(row, value, &number);
    *(uint8_t *)target_of(remembered, row) = is_good ? (uint8_t)number : 0;
    return is_good;
}

const struct record_form form_signal = {write_signal, write_max, read_signal};

static void put_signed(struct text *out, const struct record_row *row, int64_t number)
{
    record_put_head(out, row);
    text_add(out, number < 0 ? "-" : "");
    text_add_number(out, (uint64_t)(number < 0 ? -number : number));
}

static void write_signed(const struct writing *writing, const struct record_row *row)
{
    int32_t number = *(const int32_t *)member_of(writing, row);
    if (number != (int32_t)row->initial) {
        put_signed(writing->out, row, number);
    }
}

static void write_max_negative(struct text *out, const struct record_row *row)
{
    put_signed(out, row, -(int64_t)row->max);
}

static bool read_signed(struct remembered *remembered, const struct record_row *row, char *value)
{
    int64_t number;
    bool is_good = signed_number_parse(value, (int64_t)row->max, &number);
    *(int32_t *)target_of(remembered, row) = is_good ? (int32_t)number : 0;
    return is_good;
}

const struct record_form form_signed = {write_signed, write_max_negative, read_signed};

static void put_id(struct text *out, const struct record_row *row, uint64_t id)
{
    char word[LEASE_ID_SIZE];
    lease_id_format(word, id);
    record_put_head(out, row);
    text_add(out, word);
}

static void write_id(const struct writing *writing, const struct record_row *row)
{
    uint64_t id = *(const uint64_t *)member_of(writing, row);
    if (id != row->initial) {
        put_id(writing->out, row, id);
    }
}

static void write_longest_id(struct text *out, const struct record_row *row)
{
    put_id(out, row, UINT64_MAX);
}

static bool read_id(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t *member = target_of(remembered, row);
    return lease_id_parse(value, member) && *member != 0;
}

const struct record_form form_id = {write_id, write_longest_id, read_id};

/* ---- texts ---- */

static void put_text(struct text *out, const struct record_row *row, const char *text)
{
    if (text) {
        record_put_head(out, row);
        text_add_encoded(out, text);
    }
}

size_t record_text_length(const struct record_row *row, const char *text)
{
    size_t plain = text ? percent_plain(text) : 0;
    return text ? row->key_length + 2 + plain + percent_encode(NULL, 0, text + plain) : 0;
}

static void write_text(const struct writing *writing, const struct record_row *row)
{
    put_text(writing->out, row, *(const char *const *)member_of(writing, row));
}

static bool read_text(struct remembered *remembered, const struct record_row *row, char *value)
{
    *(const char **)target_of(remembered, row) = value;
    return percent_decode(value) && value[0] != '\0' && strlen(value) <= row->max;
}

const struct record_form form_text = {write_text, NULL, read_text};

static void write_database(const struct writing *writing, const struct record_row *row)
{
    put_text(writing->out, row, writing->database);
}

static bool read_database(struct remembered *remembered, const struct record_row *row, char *value)
{
    (void)row;
    ((struct record *)remembered)->database = value;
    return name_is_valid(value);
}

const struct record_form form_database = {write_database, NULL, read_database};

/* ---- words ---- */

bool record_find_word(const char *value, const char *const words[], size_t n, size_t *indexp)
{
    for (size_t i = 0; i < n; i++) {
        if (words[i] && strcmp(words[i], value) == 0) {
            *indexp = i;
            return true;
        }
    }
    return false;
}

static void put_longest_word(
    struct text *out, const struct record_row *row, const char *const words[], size_t n)
{
    const char *longest = "";
    for (size_t i = 0; i < n; i++) {
        longest = words[i] && strlen(words[i]) > strlen(longest) ? words[i] : longest;
    }
    put_text(out, row, longest);
}

static void write_on_lost(const struct writing *writing, const struct record_row *row)
{
    uint8_t on_lost = *(const uint8_t *)member_of(writing, row);
    put_text(writing->out, row, on_lost != row->initial ? on_lost_words[on_lost] : NULL);
}

static void write_longest_on_lost(struct text *out, const struct record_row *row)
{
    put_longest_word(out, row, on_lost_words, N_ON_LOST);
}

static bool read_on_lost(struct remembered *remembered, const struct record_row *row, char *value)
{
    enum on_lost on_lost = ON_LOST_KILL;
    bool is_good = on_lost_parse(value, &on_lost);
    *(uint8_t *)target_of(remembered, row) = (uint8_t)on_lost;
    return is_good;
}

const struct record_form form_on_lost = {write_on_lost, write_longest_on_lost, read_on_lost};

static const char *const stopping_words[] = {
    [OUTCOME_REVOKED] = "revoked",
    [OUTCOME_WITHDRAWN] = "withdrawn",
    [OUTCOME_MAX_HOLD] = "max-hold",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_DEADLINE] = "deadline",
};

enum { N_STOPPING_WORDS = sizeof stopping_words / sizeof stopping_words[0] };

static void write_stopping(const struct writing *writing, const struct record_row *row)
{
    uint8_t stopping = writing->lease->stopping;
    put_text(writing->out, row, stopping != row->initial ? stopping_words[stopping] : NULL);
}

static void write_longest_stopping(struct text *out, const struct record_row *row)
{
    put_longest_word(out, row, stopping_words, N_STOPPING_WORDS);
}

static bool read_stopping(struct remembered *remembered, const struct record_row *row, char *value)
{
    size_t index = OUTCOME_OK;
    (void)row;
    bool is_good = record_find_word(value, stopping_words, N_STOPPING_WORDS, &index);
    remembered->stopping = (enum outcome)index;
    return is_good;
}

const struct record_form form_stopping = {write_stopping, write_longest_stopping, read_stopping};

/* An operator may give a reason long after room was kept for the record. */
static void write_because(const struct writing *writing, const struct record_row *row)
{
    if (!writing->is_brief) {
        put_text(writing->out, row, lease_stop_reason(writing->lease));
    }
}

const struct record_form form_because = {write_because, NULL, read_text};

/* ---- what the lease is bound to ---- */

/* PID,STARTED */
static void put_process(
    struct text *out, const struct record_row *row, const struct process *process)
{
    record_put_number(out, row, (uint64_t)process->pid);
    text_add(out, ",");
    text_add_number(out, process->started);
}

static void write_longest_process(struct text *out, const struct record_row *row)
{
    const struct process longest = {.pid = INT32_MAX, .started = UINT64_MAX};
    put_process(out, row, &longest);
}

static bool read_start(const struct record_row *row, char *value, struct process *process)
{
    uint64_t pid, started;
    char *comma = strchr(value, ',');
    if (!comma) {
        return false;
    }
    *comma = '\0';
    if (!record_read_in_range(row, value, &pid) || !number_parse(comma + 1, UINT64_MAX, &started)) {
        return false;
    }
    *process = (struct process){.pid = (int32_t)pid, .started = started};
    return true;
}

static void write_process(const struct writing *writing, const struct record_row *row)
{
    if (writing->lease->binding == BOUND_PROCESS) {
        put_process(writing->out, row, &writing->lease->process);
    }
}

static bool read_process(struct remembered *remembered, const struct record_row *row, char *value)
{
    remembered->binding = BOUND_PROCESS;
    return read_start(row, value, &remembered->process);
}

const struct record_form form_process = {write_process, write_longest_process, read_process};

static void write_wrapper(const struct writing *writing, const struct record_row *row)
{
    if (writing->lease->wrapper.pid != 0) {
        put_process(writing->out, row, &writing->lease->wrapper);
    }
}

static bool read_wrapper(struct remembered *remembered, const struct record_row *row, char *value)
{
    return read_start(row, value, &remembered->wrapper);
}

const struct record_form form_wrapper = {write_wrapper, write_longest_process, read_wrapper};

static void write_ttl(const struct writing *writing, const struct record_row *row)
{
    if (writing->lease->binding == BOUND_TIME) {
        record_put_number(writing->out, row, (uint64_t)writing->lease->ttl);
    }
}

static bool read_ttl(struct remembered *remembered, const struct record_row *row, char *value)
{
    remembered->binding = BOUND_TIME;
    return read_time(remembered, row, value);
}

const struct record_form form_ttl = {write_ttl, write_max, read_ttl};

/* ---- what depends on its state ---- */

static void write_now(const struct writing *writing, const struct record_row *row)
{
    if (writing->lease->wants_now) {
        record_put_number(writing->out, row, 1);
    }
}

static bool read_now(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t one;
    remembered->wants_now = record_read_in_range(row, value, &one);
    return remembered->wants_now;
}

const struct record_form form_now = {write_now, write_max, read_now};

static const struct order_node *timer_of(const struct lease *lease)
{
    if (lease->state == LEASE_HELD) {
        return lease->term ? &lease->term->timer : NULL;
    }
    return &lease->waiting->timer;
}

static void write_until(const struct writing *writing, const struct record_row *row)
{
    const struct order_node *timer = timer_of(writing->lease);
    if (timer && order_contains(timer)) {
        record_put_number(writing->out, row, timer->major);
    }
}

const struct record_form form_until = {write_until, write_max, read_time};
