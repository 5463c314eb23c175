#include "client/unknown_option.h"

#include "base/closest_match.h"
#include "client/message.h"

#include <stdio.h>
#include <string.h>

void unknown_option_refuse(const char *word, const struct option known[], const char *see)
{
    char name[32] = "";
    if (strncmp(word, "--", 2) == 0) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    }
    struct closest_match nearest = CLOSEST_MATCH_INIT(name);
    for (size_t i = 0; known[i].name; i++) {
        closest_match_try(&nearest, known[i].name);
    }
    message("no such option: %s%s%s%s (see %s --help)", word,
        nearest.best ? "; did you mean --" : "", nearest.best ? nearest.best : "",
        nearest.best ? "?" : "", see);
}
