/* record_words.h - a record's words as they are written. Inline, with rows that the compiler knows:
 * a lease writes half of the words, and for each record all of them are gone through. */
#ifndef BERTH_JOURNAL_RECORD_WORDS_H
#define BERTH_JOURNAL_RECORD_WORDS_H

#include "base/on_lost.h"
#include "base/put.h"
#include "base/words.h"
#include "core/units.h"
#include "journal/record_forms.h"

/* A record being written. Each writer of a form writes the word of a row, or nothing, and returns
 * where the next word goes. Room for all words of bounded length is there from the start; the
 * others call make_room(). */
struct writing {
    struct text *out;
    const char *end; /* behind it there is still that room */
    const struct lease *lease;
    const char *database; /* its name; NULL: host scope */
    bool is_brief; /* without what no room was kept for */
};

/* Brings `out` up to date, also for what goes on by text_...(). */
char *make_more_room(struct writing *writing, char *to, size_t n);
static inline char *make_room(struct writing *writing, char *to, size_t n)
{
    return writing->end - to >= (ptrdiff_t)n ? to : make_more_room(writing, to, n);
}

/* " key=". With all its zeros, since the compiler knows how many bytes that are. */
static inline char *put_head(char *to, const struct record_row *row)
{
    memcpy(to, row->head, MAX_HEAD);
    return to + row->key_length + 2;
}

static inline const void *member_of(const struct writing *writing, const struct record_row *row)
{
    return (const char *)writing->lease + row->from;
}

/* ---- numbers ---- */

static inline char *put_number_word(char *to, const struct record_row *row, uint64_t number)
{
    return put_number(put_head(to, row), number);
}

static inline char *write_unless_initial(char *to, const struct record_row *row, uint64_t number)
{
    return number != row->initial ? put_number_word(to, row, number) : to;
}

static inline char *write_number(
    struct writing *writing, char *to, const struct record_row *row)
{
    return write_unless_initial(to, row, *(const uint64_t *)member_of(writing, row));
}

/* Signed or not; never negative. */
static inline char *write_uint32(
    struct writing *writing, char *to, const struct record_row *row)
{
    uint32_t number;
    memcpy(&number, member_of(writing, row), sizeof number);
    return write_unless_initial(to, row, number);
}

static inline char *write_time(struct writing *writing, char *to, const struct record_row *row)
{
    return write_unless_initial(
        to, row, (uint64_t) * (const nanoseconds *)member_of(writing, row));
}

static inline char *write_signal(struct writing *writing, char *to, const struct record_row *row)
{
    return write_unless_initial(to, row, *(const uint8_t *)member_of(writing, row));
}

static inline char *put_signed_word(char *to, const struct record_row *row, int64_t number)
{
    to = put_head(to, row);
    to = number < 0 ? put_byte(to, '-') : to;
    return put_number(to, (uint64_t)(number < 0 ? -number : number));
}

static inline char *write_signed(struct writing *writing, char *to, const struct record_row *row)
{
    int32_t number = *(const int32_t *)member_of(writing, row);
    return number != (int32_t)row->initial ? put_signed_word(to, row, number) : to;
}

static inline char *put_id_word(char *to, const struct record_row *row, uint64_t id)
{
    to = put_head(to, row);
    return to + lease_id_format(to, id);
}

static inline char *write_id(struct writing *writing, char *to, const struct record_row *row)
{
    uint64_t id = *(const uint64_t *)member_of(writing, row);
    return id != row->initial ? put_id_word(to, row, id) : to;
}

/* ---- texts and words ---- */

/* Percent-encoded. */
char *put_text_word(
    struct writing *writing, char *to, const struct record_row *row, const char *text);

static inline char *write_unless_null(
    struct writing *writing, char *to, const struct record_row *row, const char *text)
{
    return text ? put_text_word(writing, to, row, text) : to;
}

static inline char *write_text(struct writing *writing, char *to, const struct record_row *row)
{
    return write_unless_null(writing, to, row, *(const char *const *)member_of(writing, row));
}

static inline char *write_database(
    struct writing *writing, char *to, const struct record_row *row)
{
    return write_unless_null(writing, to, row, writing->database);
}

static inline char *write_on_lost(struct writing *writing, char *to, const struct record_row *row)
{
    uint8_t on_lost = *(const uint8_t *)member_of(writing, row);
    const char *word = on_lost != row->initial ? on_lost_words[on_lost] : NULL;
    return write_unless_null(writing, to, row, word);
}

static inline char *write_stopping(
    struct writing *writing, char *to, const struct record_row *row)
{
    uint8_t stopping = writing->lease->stopping;
    const char *word = stopping != row->initial ? record_stopping_words[stopping] : NULL;
    return write_unless_null(writing, to, row, word);
}

/* An operator may give a reason long after room was kept for the record. */
static inline char *write_because(struct writing *writing, char *to, const struct record_row *row)
{
    const char *reason = writing->is_brief ? NULL : lease_stop_reason(writing->lease);
    return write_unless_null(writing, to, row, reason);
}

/* ---- what the lease is bound to ---- */

/* PID,STARTED */
static inline char *put_process_word(
    char *to, const struct record_row *row, const struct process *process)
{
    to = put_number_word(to, row, (uint64_t)process->pid);
    return put_number(put_byte(to, ','), process->started);
}

static inline char *write_process(struct writing *writing, char *to, const struct record_row *row)
{
    const struct lease *lease = writing->lease;
    return lease->binding == BOUND_PROCESS ? put_process_word(to, row, &lease->process) : to;
}

static inline char *write_wrapper(struct writing *writing, char *to, const struct record_row *row)
{
    const struct lease *lease = writing->lease;
    return lease->wrapper.pid != 0 ? put_process_word(to, row, &lease->wrapper) : to;
}

static inline char *write_ttl(struct writing *writing, char *to, const struct record_row *row)
{
    const struct lease *lease = writing->lease;
    return lease->binding == BOUND_TIME ? put_number_word(to, row, (uint64_t)lease->ttl) : to;
}

/* ---- what depends on its state ---- */

static inline char *write_now(struct writing *writing, char *to, const struct record_row *row)
{
    return writing->lease->wants_now ? put_number_word(to, row, 1) : to;
}

static inline char *write_away(struct writing *writing, char *to, const struct record_row *row)
{
    return writing->lease->is_away ? put_number_word(to, row, 1) : to;
}

static inline char *write_until(struct writing *writing, char *to, const struct record_row *row)
{
    const struct lease *lease = writing->lease;
    const struct order_node *timer = lease->waiting ? &lease->waiting->timer
        : lease->term                               ? &lease->term->timer
                                                    : NULL;
    return timer && order_contains(timer) ? put_number_word(to, row, timer->major) : to;
}

static inline char *write_hold(struct writing *writing, char *to, const struct record_row *row)
{
    const struct term *term = writing->lease->term;
    return term ? write_unless_initial(to, row, (uint64_t)term->hold_until) : to;
}

/* Only record_add_rest() writes it, when the lease has ended. */
static inline char *write_rested(struct writing *writing, char *to, const struct record_row *row)
{
    (void)writing;
    (void)row;
    return to;
}

/* ---- units ---- */

/* Slots and items, in the order of the claims. */
static inline char *write_slot(struct writing *writing, char *to, const struct record_row *row)
{
    (void)row;
    make_more_room(writing, to, 0);
    units_write(writing->out, writing->lease);
    return make_more_room(writing, writing->out->bytes + writing->out->length, 0);
}

/* write_slot() does. */
static inline char *write_item(struct writing *writing, char *to, const struct record_row *row)
{
    (void)writing;
    (void)row;
    return to;
}

char *write_want(struct writing *writing, char *to, const struct record_row *row);

/* For the forms of attributes. */
#define write_TEXT write_text
#define write_NUMBER write_signed
#define write_SPAN write_time
#define write_ON_LOST write_on_lost
#define write_SIGNAL write_signal
#define write_LEASE write_id

#endif
