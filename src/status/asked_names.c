#include "status/asked_names.h"

#include "base/memory.h"
#include "base/pattern.h"

#include <stdlib.h>
#include <string.h>

void asked_names_init(struct asked_names *asked, const char *const words[], size_t n)
{
    *asked = (struct asked_names){0};
    for (size_t i = 0; i < n; i++) {
        if (strchr(words[i], '*')) {
            asked->patterns[asked->n_patterns++] = memory_string(words[i]);
        } else {
            asked->names[asked->n_names++] = memory_string(words[i]);
        }
    }
}

void asked_names_deinit(struct asked_names *asked)
{
    for (size_t i = 0; i < asked->n_names; i++) {
        free(asked->names[i]);
    }
    for (size_t i = 0; i < asked->n_patterns; i++) {
        free(asked->patterns[i]);
    }
    *asked = (struct asked_names){0};
}

bool asked_names_search(const struct asked_names *asked)
{
    return asked->n_patterns > 0 || asked->n_names == 0;
}

static bool is_named(const struct asked_names *asked, const char *name)
{
    for (size_t i = 0; i < asked->n_names; i++) {
        if (strcmp(asked->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool asked_names_match(const struct asked_names *asked, const char *name)
{
    bool matches = asked->n_patterns == 0;
    for (size_t i = 0; i < asked->n_patterns && !matches; i++) {
        matches = pattern_matches(asked->patterns[i], name);
    }
    return matches && !is_named(asked, name);
}

bool asked_names_has(const struct asked_names *asked, const char *name)
{
    return is_named(asked, name) ||
        (asked_names_search(asked) && asked_names_match(asked, name));
}
