#include "client/sanitize.h"

#include "base/utf8.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static const struct {
    uint32_t first, last;
} deceptive[] = {
#define X(first, last) {first, last},
#include "client/deceptive.def"
#undef X
};

void sanitize_choose_locale(void)
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

size_t sanitize_char(char out[static SANITIZED_SIZE], const char *text)
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
