/* record_forms.h - the words of a lease's record: a row says what a word is called and where its
 * value is, a form how such a value is written and read. */
#ifndef BERTH_JOURNAL_RECORD_FORMS_H
#define BERTH_JOURNAL_RECORD_FORMS_H

#include "base/text.h"
#include "core/core.h"

/* What is being written. */
struct writing {
    struct text *out;
    const struct lease *lease;
    const char *database; /* its name; NULL: host scope */
};

/* What is being read. */
struct record {
    struct remembered remembered; /* first: record_free() gets a pointer to it */
    const char *database; /* or NULL */
    char *kept; /* the rest of `text`: what is not understood */
    char text[]; /* what its strings point into */
};

struct record_row;

struct record_form {
    /* Nothing, if the value is the row's initial one. NULL: another row sees to it. */
    void (*write)(const struct writing *writing, const struct record_row *row);
    /* With the longest value. NULL: that depends on the request. */
    void (*write_longest)(struct text *out, const struct record_row *row);
    /* False: it is no such value. `value` is cut up in place. */
    bool (*read)(struct remembered *remembered, const struct record_row *row, char *value);
};

struct record_row {
    const char *head; /* " key=" */
    size_t key_length;
    const struct record_form *form;
    unsigned presence; /* enum presence, record.c */
    size_t from; /* offset of its member in struct lease */
    size_t to; /* in struct remembered */
    uint64_t least, most, initial;
};

#define ALWAYS UINT64_MAX /* for .initial: none is left out */

extern const struct record_form
    form_id, /* of a lease */
    form_number, form_uint32, form_time, form_signal, form_signed, form_on_lost,
    form_text, form_process, form_wrapper, form_ttl, form_database, form_now, form_until,
    form_rested, form_stopping, form_slot, form_item, form_want;

/* Both have the same members for the forms of attributes. */
#define form_TEXT form_text
#define form_NUMBER form_signed
#define form_SPAN form_time
#define form_ON_LOST form_on_lost
#define form_SIGNAL form_signal
#define form_LEASE form_id

/* " key=" and a number. */
void record_put_number(struct text *out, const struct record_row *row, uint64_t number);
/* The length of " key=" and that text, encoded; 0 if it is NULL. */
size_t record_text_length(const struct record_row *row, const char *text);
/* Into the index of the word; words may be missing. */
bool record_find_word(const char *value, const char *const words[], size_t n, size_t *indexp);

#endif
