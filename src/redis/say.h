/* say.h - sentences for the log and for status, with words of a peer in them: one line, bounded,
 * nothing that a terminal would take for a command. Pure. */
#ifndef BERTH_REDIS_SAY_H
#define BERTH_REDIS_SAY_H

#include <stddef.h>

enum { SAY_BYTES = 256 };

/* As snprintf(); what is not printable ASCII becomes '?'. */
__attribute__((format(printf, 3, 4))) void say(char *out, size_t size, const char *format, ...);

#endif
