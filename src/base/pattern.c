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

/* Each star takes as little as it can, which leaves the most to those behind it; the last one takes
 * all but the end. What follows a star is looked for as a whole: byte by byte takes long. */
bool pattern_matches(const char *pattern, const char *name)
{
    size_t n = strcspn(pattern, "*");
    if (strncmp(pattern, name, n) != 0) {
        return false;
    }
    while (pattern[n] == '*') {
        name += n;
        pattern += n + 1;
        n = strcspn(pattern, "*");
        size_t reach = strcspn(name, "/"), length = strlen(name);
        if (pattern[n] == '\0') {
            return n <= length && length - n <= reach && strcmp(name + length - n, pattern) == 0;
        }
        name = memmem(name, reach + n < length ? reach + n : length, pattern, n);
        if (!name) {
            return false;
        }
    }
    return name[n] == '\0';
}

bool patterns_match(char *const patterns[], size_t n, const char *name)
{
    bool match = n == 0;
    for (size_t i = 0; i < n && !match; i++) {
        match = pattern_matches(patterns[i], name);
    }
    return match;
}
