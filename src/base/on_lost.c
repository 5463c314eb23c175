#include "base/on_lost.h"

#include <stddef.h>
#include <string.h>

const char *const on_lost_words[N_ON_LOST + 1] = {
    [ON_LOST_WARN] = "warn",
    [ON_LOST_TERM] = "term",
    [ON_LOST_KILL] = "kill",
};

bool on_lost_parse(const char *word, enum on_lost *on_lostp)
{
    for (enum on_lost i = ON_LOST_WARN; i < N_ON_LOST; i++) {
        if (strcmp(word, on_lost_words[i]) == 0) {
            *on_lostp = i;
            return true;
        }
    }
    return false;
}
