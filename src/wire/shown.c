/* shown.c - see shown.h. The attributes are those of base/attributes.def. */
#include "wire/shown.h"

#include "base/words.h"

const struct shown_row shown_rows[N_SHOWN] = {
#define ATTRIBUTE(name, type, bound, initial, heading) [SHOWN_##name] = {#name, heading},
#include "base/attributes.def"
#undef ATTRIBUTE
};

bool shown_take(const char *shown[N_SHOWN], char *const words[], size_t n)
{
    bool is_good = true;
    for (size_t i = 0; i < N_SHOWN; i++) {
        char *value = shown_rows[i].title ? words_find(words, n, shown_rows[i].word) : NULL;
        is_good = is_good && (!value || percent_decode(value));
        shown[i] = value;
    }
    return is_good;
}
