#include "base/closest_match.h"

#include <stdint.h>

enum {
    LONGEST = 40, /* words */
    FARTHEST = 6, /* distances */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* LONGEST + 1 for anything longer. */
static size_t length_of(const char *word)
{
    size_t n = 0;
    while (n <= LONGEST && word[n] != '\0') {
        n++;
    }
    return n;
}

/* How many letters of the candidate may be wrong. */
static size_t max_wrong(const char *candidate)
{
    size_t n = length_of(candidate);
    return n < 6 ? 1 : smaller(n / 3, FARTHEST);
}

/* Optimal string alignment. Only cells within `max` of the diagonal matter: all others of `d`
 * count as farther. */
size_t closest_match_distance(const char *a, const char *b, size_t max)
{
    size_t n_a = length_of(a), n_b = length_of(b);
    size_t longer = n_a > n_b ? n_a - n_b : n_b - n_a;
    if (n_a > LONGEST || n_b > LONGEST || longer > max) {
        return SIZE_MAX;
    }
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n_a; i++) {
        size_t from = i > max ? i - max : 0, to = smaller(i + max, n_b);
        for (size_t j = from; j <= to; j++) {
            size_t best = i == 0 ? j : j == 0 ? i : SIZE_MAX / 2;
            if (i > 0 && j > 0) {
                best = d[i - 1][j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
            }
            if (i > 0 && j < i + max) {
                best = smaller(best, d[i - 1][j] + 1);
            }
            if (j > from) {
                best = smaller(best, d[i][j - 1] + 1);
            }
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1])) {
                best = smaller(best, d[i - 2][j - 2] + 1);
            }
            d[i][j] = best;
        }
    }
    return d[n_a][n_b] <= max ? d[n_a][n_b] : SIZE_MAX;
}

static size_t distance_of(const struct closest_match *match, const char *candidate)
{
    return closest_match_distance(match->word, candidate, max_wrong(candidate));
}

/* How many letters both begin with. */
static size_t common_beginning(const char *a, const char *b)
{
    size_t n = 0;
    while (n < LONGEST && a[n] != '\0' && fold(a[n]) == fold(b[n])) {
        n++;
    }
    return n;
}

bool closest_match_is_better(const struct closest_match *match, const char *candidate)
{
    size_t distance = distance_of(match, candidate);
    if (distance == SIZE_MAX || !match->best || distance != match->distance) {
        return distance != SIZE_MAX && (!match->best || distance < match->distance);
    }
    return common_beginning(match->word, candidate) > common_beginning(match->word, match->best);
}

void closest_match_try(struct closest_match *match, const char *candidate)
{
    if (closest_match_is_better(match, candidate)) {
        match->best = candidate;
        match->distance = distance_of(match, candidate);
    }
}
