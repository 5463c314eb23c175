/* record_forms.c - see record_forms.h: numbers, texts, words, processes and times. */
#include "journal/record_forms.h"

#include "base/words.h"
#include "journal/record_words.h"

#include <stdlib.h>
#include <string.h>

static void *target_of(struct remembered *remembered, const struct record_row *row)
{
    return (char *)remembered + row->to;
}

bool record_read_in_range(const struct record_row *row, const char *value, uint64_t *numberp)
{
    return number_parse(value, row->max, numberp) && *numberp >= row->min;
}

/* ---- numbers ---- */

static char *put_max(char *to, const struct record_row *row)
{
    return put_number_word(to, row, row->max);
}

static bool read_number(struct remembered *remembered, const struct record_row *row, char *value)
{
    return record_read_in_range(row, value, target_of(remembered, row));
}

const struct record_form form_number = {put_max, read_number};

static bool read_uint32(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t number;
    bool is_good = record_read_in_range(row, value, &number);
    uint32_t bits = is_good ? (uint32_t)number : 0;
    memcpy(target_of(remembered, row), &bits, sizeof bits);
    return is_good;
}

const struct record_form form_uint32 = {put_max, read_uint32};

static bool read_time(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t number;
    bool is_good = record_read_in_range(row, value, &number);
    if (is_good) {
        *(nanoseconds *)target_of(remembered, row) = (nanoseconds)number;
    }
    return is_good;
}

const struct record_form form_time = {put_max, read_time};
const struct record_form form_rested = {put_max, read_time};

static bool read_signal(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t number;
    bool is_good = record_read_in_range(row, value, &number);
    *(uint8_t *)target_of(remembered, row) = is_good ? (uint8_t)number : 0;
    return is_good;
}

const struct record_form form_signal = {put_max, read_signal};

static char *put_max_negative(char *to, const struct record_row *row)
{
    return put_signed_word(to, row, -(int64_t)row->max);
}

static bool read_signed(struct remembered *remembered, const struct record_row *row, char *value)
{
    int64_t number;
    bool is_good = signed_number_parse(value, (int64_t)row->max, &number);
    *(int32_t *)target_of(remembered, row) = is_good ? (int32_t)number : 0;
    return is_good;
}

const struct record_form form_signed = {put_max_negative, read_signed};

static char *put_longest_id(char *to, const struct record_row *row)
{
    return put_id_word(to, row, UINT64_MAX);
}

static bool read_id(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t *member = target_of(remembered, row);
    return lease_id_parse(value, member) && *member != 0;
}

const struct record_form form_id = {put_longest_id, read_id};

/* ---- texts ---- */

char *put_text_word(
    struct writing *writing, char *to, const struct record_row *row, const char *text)
{
    size_t plain = percent_plain(text); /* all of it, as a rule */
    const char *rest = text + plain;
    size_t max = *rest ? 3 * strlen(rest) : 0;
    to = put_head(make_room(writing, to, plain + max), row);
    to = put_bytes(to, text, plain);
    return *rest ? to + percent_encode(to, max + 1, rest) : to;
}

static bool read_text(struct remembered *remembered, const struct record_row *row, char *value)
{
    *(const char **)target_of(remembered, row) = value;
    return percent_decode(value) && value[0] != '\0' && strlen(value) <= row->max;
}

const struct record_form form_text = {NULL, read_text};

static bool read_database(struct remembered *remembered, const struct record_row *row, char *value)
{
    (void)row;
    ((struct record *)remembered)->database = value;
    return name_is_valid(value);
}

const struct record_form form_database = {NULL, read_database};

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

static char *put_longest_word(
    char *to, const struct record_row *row, const char *const words[], size_t n)
{
    const char *longest = "";
    for (size_t i = 0; i < n; i++) {
        longest = words[i] && strlen(words[i]) > strlen(longest) ? words[i] : longest;
    }
    return put_string(put_head(to, row), longest);
}

static char *put_longest_on_lost(char *to, const struct record_row *row)
{
    return put_longest_word(to, row, on_lost_words, N_ON_LOST);
}

static bool read_on_lost(struct remembered *remembered, const struct record_row *row, char *value)
{
    enum on_lost on_lost = ON_LOST_KILL;
    bool is_good = on_lost_parse(value, &on_lost);
    *(uint8_t *)target_of(remembered, row) = (uint8_t)on_lost;
    return is_good;
}

const struct record_form form_on_lost = {put_longest_on_lost, read_on_lost};

const char *const record_stopping_words[N_OUTCOMES] = {
    [OUTCOME_REVOKED] = "revoked",
    [OUTCOME_WITHDRAWN] = "withdrawn",
    [OUTCOME_MAX_HOLD] = "max-hold",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_DEADLINE] = "deadline",
};

static char *put_longest_stopping(char *to, const struct record_row *row)
{
    return put_longest_word(to, row, record_stopping_words, N_OUTCOMES);
}

static bool read_stopping(struct remembered *remembered, const struct record_row *row, char *value)
{
    size_t index = OUTCOME_OK;
    (void)row;
    bool is_good = record_find_word(value, record_stopping_words, N_OUTCOMES, &index);
    remembered->stopping = (enum outcome)index;
    return is_good;
}

const struct record_form form_stopping = {put_longest_stopping, read_stopping};

const struct record_form form_because = {NULL, read_text};

/* ---- what the lease is bound to ---- */

static char *put_longest_process(char *to, const struct record_row *row)
{
    const struct process longest = {.pid = INT32_MAX, .started = UINT64_MAX};
    return put_process_word(to, row, &longest);
}

/* PID,STARTED */
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

static bool read_process(struct remembered *remembered, const struct record_row *row, char *value)
{
    remembered->binding = BOUND_PROCESS;
    return read_start(row, value, &remembered->process);
}

const struct record_form form_process = {put_longest_process, read_process};

static bool read_wrapper(struct remembered *remembered, const struct record_row *row, char *value)
{
    return read_start(row, value, &remembered->wrapper);
}

const struct record_form form_wrapper = {put_longest_process, read_wrapper};

static bool read_ttl(struct remembered *remembered, const struct record_row *row, char *value)
{
    remembered->binding = BOUND_TIME;
    return read_time(remembered, row, value);
}

const struct record_form form_ttl = {put_max, read_ttl};

/* ---- what depends on its state ---- */

static bool read_now(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t one;
    remembered->wants_now = record_read_in_range(row, value, &one);
    return remembered->wants_now;
}

const struct record_form form_now = {put_max, read_now};

static bool read_away(struct remembered *remembered, const struct record_row *row, char *value)
{
    uint64_t one;
    remembered->is_away = record_read_in_range(row, value, &one);
    return remembered->is_away;
}

const struct record_form form_away = {put_max, read_away};

const struct record_form form_until = {put_max, read_time};
/* Room is kept for `ttl` and, at the longest, `rested` or `ticket`: with a process there is no ttl,
 * in host scope no ticket, in fleet scope no rest. */
const struct record_form form_hold = {NULL, read_time};
