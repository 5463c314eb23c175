#include "client/harmless.h"

#include "base/utf8.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* Printable for the C library, but invisible (Unicode's Default_Ignorable_Code_Point), or able to
 * change how the text around them reads: direction overrides, line separators. */
static const struct {
    uint32_t first, last;
} deceptive[] = {
    {0xad, 0xad},
    {0x34f, 0x34f},
    {0x61c, 0x61c},
    {0x115f, 0x1160},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0x3164, 0x3164},
    {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

void harmless_choose_locale(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C");
    }
}

static bool is_printable(uint32_t character)
{
    for (size_t i = 0; i < sizeof deceptive / sizeof deceptive[0]; i++) {
        if (character >= deceptive[i].first && character <= deceptive[i].last) {
            return false;
        }
    }
    return wcwidth((wchar_t)character) >= 0;
}

size_t harmless_next(char out[static HARMLESS_SIZE], const char *text)
{
    uint32_t character;
    size_t n = utf8_decode(text, &character);
    if (n > 0 && is_printable(character)) {
        memcpy(out, text, n);
        out[n] = '\0';
        return n;
    }
    n = n == 0 ? 1 : n;
    for (size_t i = 0; i < n; i++) {
        snprintf(out + 4 * i, sizeof "\\xNN", "\\x%02x", (uint8_t)text[i]);
    }
    return n;
}
