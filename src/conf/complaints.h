/* complaints.h - collects configuration errors in any order and reports them in file and line
 * order. */
#pragma once

#include "conf/configuration.h"

#include <stdbool.h>

struct place {
    uint32_t file; /* index into complaints.files */
    uint32_t line; /* from 1; 0: the whole file */
};

struct complaint {
    struct place place;
    size_t sequence;
    char *text;
};

struct complaints {
    char **files; /* in the order they were read */
    struct complaint *list;
    size_t n_files, n;
};

#define COMPLAINTS_INIT                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

void complaints_deinit(struct complaints *complaints);
uint32_t complaints_add_file(struct complaints *complaints, const char *name);
const char *complaints_file(const struct complaints *complaints, struct place place);

/* `section` ("semaphore x") may be NULL or "", `key` NULL. Of a URL only the scheme is shown: it
 * may hold a password. */
void complain(struct complaints *complaints, struct place place, const char *section,
    const char *key, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether there is a complaint about that line; never for line 0. */
bool complaints_has(const struct complaints *complaints, struct place place);
/* Moves all complaints to `errors`, sorted. */
void complaints_report(struct complaints *complaints, struct conf_errors *errors);

enum { QUOTE_BYTES = 80 };
/* For text of any length inside a message: "%.*s%s" with QUOTE(text). Cuts at a whole character. */
int quote_length(const char *text);
#define QUOTE(text) quote_length(text), (text), (text)[quote_length(text)] == '\0' ? "" : "..."
