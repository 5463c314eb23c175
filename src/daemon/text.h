/* text.h - a growing string for answers. */
#ifndef BERTH_DAEMON_TEXT_H
#define BERTH_DAEMON_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes; /* not NUL-terminated; owned */
    size_t length, size;
};

#define TEXT_INIT {0}

void text_deinit(struct text *text);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t n);
void text_add_number(struct text *text, uint64_t number);
/* Percent-encoded. */
void text_add_encoded(struct text *text, const char *string);
/* " key=value", encoded; nothing if the value is NULL. */
void text_add_key(struct text *text, const char *key, const char *value);
void text_add_number_key(struct text *text, const char *key, uint64_t number);
__attribute__((format(printf, 2, 3))) void text_add_format(
    struct text *text, const char *format, ...);

#endif
