#include "base/utf8.h"

#include <string.h>

size_t utf8_decode(const char *bytes, uint32_t *characterp)
{
    static const struct {
        uint8_t mask, lead;
        uint32_t min;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    uint8_t first = (uint8_t)bytes[0];
    size_t more = 0;
    while (more < 4 && (first & forms[more].mask) != forms[more].lead) {
        more++;
    }
    if (more == 4) {
        return 0;
    }
    uint32_t character = first & (uint8_t)~forms[more].mask;
    for (size_t i = 1; i <= more; i++) {
        uint8_t byte = (uint8_t)bytes[i]; /* the final NUL is no continuation */
        if ((byte & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (byte & 0x3f);
    }
    if (character < forms[more].min || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff)) {
        return 0;
    }
    *characterp = character;
    return more + 1;
}

size_t utf8_cut(const char *text, size_t max)
{
    size_t n = strlen(text);
    if (n <= max) {
        return n;
    }
    size_t at = 0, next = 0;
    while (next <= max) {
        uint32_t character;
        size_t length = utf8_decode(text + next, &character);
        at = next;
        next += length > 0 ? length : 1;
    }
    return at;
}
