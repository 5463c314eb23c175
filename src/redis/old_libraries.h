/* old_libraries.h - deletes function libraries of other versions of Berth that nobody has called
 * for an hour. A version that comes back loads its library again (loading.h). Pure. */
#pragma once

#include "redis/resp.h"

enum {
    OLD_LIBRARIES_WORDS = 5, /* of a command, with the NULL behind them */
    OLD_LIBRARIES_AT_ONCE = 16, /* the others follow the next time */
    OLD_LIBRARY_BYTES = 64, /* of a function's name, with the NUL */
    OLD_LIBRARY_IDLE = 3600, /* seconds */
};

struct old_libraries {
    enum { OLD_LIBRARIES_LISTED, OLD_LIBRARIES_ASKED, OLD_LIBRARIES_DELETED } step;
    size_t n; /* names left; the last one is being asked, or deleted */
    char names[OLD_LIBRARIES_AT_ONCE][OLD_LIBRARY_BYTES];
    char function[OLD_LIBRARY_BYTES]; /* the one that is called */
};

/* The first command. */
void old_libraries_begin(struct old_libraries *old, const char *words[OLD_LIBRARIES_WORDS]);
/* The command after the reply to the one before; false: there is none. The words are good until the
 * next call. Errors are answers: where a user has no right to list or to delete, all libraries
 * stay. */
bool old_libraries_next(struct old_libraries *old, const struct resp *reply,
    const char *words[OLD_LIBRARIES_WORDS]);
