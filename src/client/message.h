/* message.h - what berth and berthctl tell the user: whole lines on stderr. stdout belongs to the
 * job, and to results. */
#pragma once

#include <stddef.h>

extern const char *message_program; /* "berth", unless another one says who it is */

/* Writes "berth: ...\n" at once, so that lines of parallel jobs do not mix. Whatever it quotes
 * (paths, arguments, what others have said), the message is one harmless line (sanitize.h). Keeps
 * errno. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Calls the function before each message from now on. */
void message_precede_by(void (*function)(void));

/* Decodes a value from the wire in place, for a message. Returns `text`, or "" for NULL. */
char *message_decoded(char *text);

/* Appends to a string in a buffer of `size` bytes; cuts what does not fit. */
void append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
