/* fields.h - the key=value words of a line of berthd, put into the members of a struct. Pure.
 *
 * Unknown keys are ignored; missing ones leave their member as it is. */
#ifndef BERTH_VIEW_FIELDS_H
#define BERTH_VIEW_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list with commas. */
struct words {
    char **list; /* owned; the strings are the line's */
    size_t n;
    bool is_cut; /* the daemon had no room for the rest */
};

struct optional {
    bool is_given;
    uint64_t number;
};

enum field_type {
    FIELD_TEXT, /* const char *, decoded, but not escaped */
    FIELD_NUMBER, /* uint64_t, at most INT64_MAX */
    FIELD_OPTIONAL, /* struct optional */
    FIELD_SIGNED, /* int64_t */
    FIELD_FLAG, /* bool */
    FIELD_WORDS, /* struct words, not decoded */
};

/* Where the value of a key goes. */
struct field {
    const char *key;
    enum field_type type;
    size_t offset;
};

/* Puts the values of the known keys among `words` into `record`; decodes them in place. `fields`
 * ends with an empty one. False: a value of the wrong form. */
bool fields_take(const struct field *fields, char *const words[], size_t n, void *record);

/* Of a line WORD NAME [KEY=VALUE]...: sets its name, and takes its keys as above. False also if
 * there is no name. */
bool line_take(
    const struct field *fields, char *const words[], size_t n, const char **namep, void *record);

/* Splits `value` in place. */
void words_parse(struct words *words, char *value);

/* Makes room for one more element behind the first `n`, and zeroes it. The array has room for
 * *sizep, which doubles. Returns where the array is now. */
void *array_grown(void *list, size_t n, size_t *sizep, size_t element);

#endif
