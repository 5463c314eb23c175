/* record_forms.h - the words of a lease's record: a row (record_rows.def) has a word's key and the
 * place of its value, a form how such values are read. record_words.h writes them. */
#ifndef BERTH_JOURNAL_RECORD_FORMS_H
#define BERTH_JOURNAL_RECORD_FORMS_H

#include "base/text.h"
#include "core/core.h"

/* A record being read. */
struct record {
    struct remembered remembered; /* first: record_free() gets a pointer to it */
    const char *database; /* or NULL */
    char *kept; /* the rest of `text`: words not understood */
    char text[]; /* the strings point into it */
};

struct record_row;

struct record_form {
    /* Writes the word with the longest value. NULL: that depends on the request. */
    char *(*put_longest)(char *to, const struct record_row *row);
    /* False: malformed. Cuts `value` up in place. */
    bool (*read)(struct remembered *remembered, const struct record_row *row, char *value);
};

enum { MAX_HEAD = 16 };

struct record_row {
    char head[MAX_HEAD]; /* " key=", and zeros */
    size_t key_length;
    const struct record_form *form;
    unsigned presence; /* enum presence, record.c */
    size_t from; /* offset of the member in struct lease */
    size_t to; /* in struct remembered */
    uint64_t min, max, initial;
};

enum {
    MAX_WORD = 80, /* of a word of bounded length: a head, two numbers, a comma */
};

#define ALWAYS UINT64_MAX /* for .initial */

extern const struct record_form
    form_id, /* of a lease */
    form_number, form_uint32, form_time, form_signal, form_signed, form_on_lost,
    form_text, form_process, form_wrapper, form_ttl, form_database, form_now, form_away,
    form_until, form_hold, form_rested, form_stopping, form_because, form_slot, form_item,
    form_want;

/* For the forms of attributes, both structs have the same members. */
#define form_TEXT form_text
#define form_NUMBER form_signed
#define form_SPAN form_time
#define form_ON_LOST form_on_lost
#define form_SIGNAL form_signal
#define form_LEASE form_id

/* A number from the row's min to its max. */
bool record_read_in_range(const struct record_row *row, const char *value, uint64_t *numberp);
/* For `stopping`; has gaps. */
extern const char *const record_stopping_words[N_OUTCOMES];
/* Sets the index of the word; `words` may have gaps. */
bool record_find_word(const char *value, const char *const words[], size_t n, size_t *indexp);

#endif
