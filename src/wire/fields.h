/* fields.h - the key=value words of a line <-> the members of a struct, by a table. Pure.
 *
 * A reader ignores unknown keys, and leaves the members of missing ones as they are. */
#pragma once

#include "base/text.h"
#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list with commas between. Who writes it sets .joined, a reader the rest. */
struct words {
    const char *joined; /* or NULL: left out */
    char **list; /* owned; the strings are the line's */
    size_t n;
    bool is_cut; /* the daemon had no room for the rest: the last word is "..." */
};

struct optional {
    bool is_given;
    uint64_t number;
};

/* Perhaps. Milliseconds on the clock of the berthd that says so, for differences alone; one before
 * its host was booted is negative. */
struct instant {
    bool is_given;
    int64_t at;
};

static inline struct instant instant_of(nanoseconds at)
{
    return (struct instant){true, at / NANOSECONDS_PER_MILLISECOND};
}

/* A user, perhaps. */
struct shown_user {
    struct optional uid;
    const char *name; /* of a writer: what it calls .uid, or NULL. No line has it */
};

enum field_type {
    FIELD_TEXT, /* NULL: left out. Decoded, but not escaped */
    FIELD_NUMBER, /* at most INT64_MAX */
    FIELD_TOKEN, /* the same, but too large for other languages */
    FIELD_COUNT, /* 0: left out */
    FIELD_OPTIONAL,
    FIELD_SIGNED,
    FIELD_FLAG, /* false: left out */
    FIELD_SWITCH, /* 0 or 1 */
    FIELD_SPAN, /* milliseconds */
    FIELD_OPTIONAL_SPAN,
    FIELD_INSTANT, /* left out unless it is given */
    FIELD_USER,
    FIELD_WORDS, /* not decoded */
    FIELD_UNITS, /* the same: of a resource */
};

/* What the member of each type is. */
#define FIELD_C_TEXT const char *
#define FIELD_C_NUMBER uint64_t
#define FIELD_C_TOKEN uint64_t
#define FIELD_C_COUNT uint64_t
#define FIELD_C_OPTIONAL struct optional
#define FIELD_C_SIGNED int64_t
#define FIELD_C_FLAG bool
#define FIELD_C_SWITCH bool
#define FIELD_C_SPAN uint64_t
#define FIELD_C_OPTIONAL_SPAN struct optional
#define FIELD_C_INSTANT struct instant
#define FIELD_C_USER struct shown_user
#define FIELD_C_WORDS struct words
#define FIELD_C_UNITS struct words

/* Who gets to see a key. */
enum field_whom { FOR_ANYBODY, FOR_TRUSTED, FOR_ASKERS, FOR_FOLLOWERS, FOR_THOSE_OF_ALL };

enum { MAX_FIELD_HEAD = 24 };

/* Where the value of a key is. */
struct field {
    const char *key;
    char head[MAX_FIELD_HEAD]; /* for who writes: " key=", copied as a whole */
    uint8_t head_length;
    enum field_type type;
    size_t offset;
    enum field_whom whom;
};

/* Puts the values of the known keys among `words` into `record`; decodes them in place. `fields`
 * ends with an empty one. False: a value of the wrong form. */
bool fields_take(const struct field *fields, char *const words[], size_t n, void *record);

/* Of a line WORD NAME [KEY=VALUE]...: sets its name, and takes its keys as above. False also if
 * there is no name. */
bool line_take(
    const struct field *fields, char *const words[], size_t n, const char **namep, void *record);

/* Adds " key=value" for each field that is for these: bits 1 << FOR_... */
void fields_add(
    struct text *out, const struct field *fields, unsigned whom, const void *record);

/* Splits `value` in place. */
void words_parse(struct words *words, char *value);
