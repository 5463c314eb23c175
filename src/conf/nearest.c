#include "conf/nearest.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int fold(char c)
{
    return tolower((unsigned char)c);
}

/* Optimal string alignment: letters left out, added, changed or swapped with their neighbour. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n_a; i++) {
        d[i][0] = i;
    }
    for (size_t j = 0; j <= n_b; j++) {
        d[0][j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        for (size_t j = 1; j <= n_b; j++) {
            int x = fold(a[i - 1]), y = fold(b[j - 1]);
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (x != y));
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y) {
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[n_a][n_b];
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
    size_t n_word = strlen(nearest->word), n_candidate = strlen(candidate);
    if (n_word > LONGEST || n_candidate > LONGEST) {
        return;
    }
    size_t far = n_candidate < 6 ? 1 : n_candidate / 3;
    size_t d = distance(nearest->word, n_word, candidate, n_candidate);
    if (d <= far && (!nearest->best || d < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = d;
    }
}
