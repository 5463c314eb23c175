#include "base/pattern.h"

#include "base/words.h"

#include <string.h>

enum { MAX_STARS = 3 };

bool pattern_is_valid(const char *pattern)
{
    size_t n = 0, n_stars = 0;
    for (; pattern[n] != '\0'; n++) {
        char probe[] = {'a', pattern[n], 'a', '\0'}; /* also contains "/" */
        n_stars += pattern[n] == '*';
        if (n == NAME_BYTES || (pattern[n] != '*' && !name_is_valid(probe))) {
            return false;
        }
    }
    return n_stars >= 1 && n_stars <= MAX_STARS;
}

/* If what follows a star does not match, the star takes one byte more. Only the last star need do
 * so, as those before it have left as much as they could. */
bool pattern_matches(const char *pattern, const char *name)
{
    const char *behind_star = NULL, *taken = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            behind_star = ++pattern;
            taken = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (behind_star && *taken != '/') {
            pattern = behind_star;
            name = ++taken;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool patterns_match(char *const patterns[], size_t n, const char *name)
{
    bool match = n == 0;
    for (size_t i = 0; i < n && !match; i++) {
        match = pattern_matches(patterns[i], name);
    }
    return match;
}
