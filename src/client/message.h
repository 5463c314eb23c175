/* message.h - what berth tells the user: whole lines on stderr. stdout belongs to the job. */
#ifndef BERTH_CLIENT_MESSAGE_H
#define BERTH_CLIENT_MESSAGE_H

#include <stddef.h>

/* "berth: ...\n" in one write, so that lines of parallel jobs do not mix. Whatever is in it (paths,
 * arguments), it is one line of printable ASCII. Keeps errno. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes a value that came over the wire fit to be shown: decodes it in place and replaces what
 * could steer a terminal. Returns `text`, or "" for NULL. */
char *message_clean(char *text);

/* Appends to a string in a buffer of `size` bytes; what does not fit is cut off. */
void append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
