/* say.h - sentences for the log and for status that quote a peer: one line, bounded, and harmless
 * to a terminal. Pure. */
#ifndef BERTH_REDIS_SAY_H
#define BERTH_REDIS_SAY_H

#include <stddef.h>

enum { SAY_BYTES = 256 };

/* As snprintf(); bytes outside printable ASCII become '?'. */
__attribute__((format(printf, 3, 4))) void say(char *out, size_t size, const char *format, ...);

#endif
