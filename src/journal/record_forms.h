/* record_forms.h - the words of a lease's record: a row has a word's key and the place of its
 * value, a form how such values are written and read. */
#ifndef BERTH_JOURNAL_RECORD_FORMS_H
#define BERTH_JOURNAL_RECORD_FORMS_H

#include "base/text.h"
#include "core/core.h"

#include <string.h>

/* A record being written. */
struct writing {
    struct text *out;
    const struct lease *lease;
    const char *database; /* its name; NULL: host scope */
    bool is_brief; /* without what no room was kept for */
};

/* A record being read. */
struct record {
    struct remembered remembered; /* first: record_free() gets a pointer to it */
    const char *database; /* or NULL */
    char *kept; /* the rest of `text`: words not understood */
    char text[]; /* the strings point into it */
};

struct record_row;

struct record_form {
    /* Writes nothing if the value is the row's initial one. NULL: another row writes it. */
    void (*write)(const struct writing *writing, const struct record_row *row);
    /* Writes the longest value. NULL: that depends on the request. */
    void (*write_longest)(struct text *out, const struct record_row *row);
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

#define ALWAYS UINT64_MAX /* for .initial: always written */

extern const struct record_form
    form_id, /* of a lease */
    form_number, form_uint32, form_time, form_signal, form_signed, form_on_lost,
    form_text, form_process, form_wrapper, form_ttl, form_database, form_now, form_until,
    form_rested, form_stopping, form_because, form_slot, form_item, form_want;

/* For the forms of attributes, both structs have the same members. */
#define form_TEXT form_text
#define form_NUMBER form_signed
#define form_SPAN form_time
#define form_ON_LOST form_on_lost
#define form_SIGNAL form_signal
#define form_LEASE form_id

/* " key=". With all its zeros, since the compiler knows how many bytes that are. */
static inline void record_put_head(struct text *out, const struct record_row *row)
{
    memcpy(text_room(out, MAX_HEAD), row->head, MAX_HEAD);
    out->length += row->key_length + 2;
}

/* " key=" and a number. */
void record_put_number(struct text *out, const struct record_row *row, uint64_t number);
/* A number from the row's min to its max. */
bool record_read_in_range(const struct record_row *row, const char *value, uint64_t *numberp);
/* The length of " key=" and the encoded text; 0 if it is NULL. */
size_t record_text_length(const struct record_row *row, const char *text);
/* Sets the index of the word; `words` may have gaps. */
bool record_find_word(const char *value, const char *const words[], size_t n, size_t *indexp);

#endif
