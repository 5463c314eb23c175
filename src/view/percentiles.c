#include "view/percentiles.h"

#include "base/memory.h"
#include "base/words.h"

#include <stdbool.h>
#include <stdlib.h>

void durations_add(struct durations *durations, uint64_t milliseconds)
{
    durations->list = memory_grow(durations->list, durations->n, sizeof durations->list[0]);
    durations->list[durations->n++] = milliseconds;
}

void durations_deinit(struct durations *durations)
{
    free(durations->list);
    *durations = (struct durations){0};
}

uint64_t nearest_rank(const uint64_t sorted[], size_t n, unsigned percent)
{
    size_t rank = n / 100 * percent + (n % 100 * percent + 99) / 100; /* n * percent may overflow */
    return sorted[rank > 0 ? rank - 1 : 0];
}

struct percentiles percentiles_of(struct durations *durations)
{
    struct percentiles percentiles = {.n = durations->n};
    if (durations->n == 0) {
        return percentiles;
    }
    qsort(durations->list, durations->n, sizeof durations->list[0], numbers_compare);
    for (size_t i = 0; i < durations->n; i++) {
        bool fits = durations->list[i] <= UINT64_MAX - percentiles.sum;
        percentiles.sum = fits ? percentiles.sum + durations->list[i] : UINT64_MAX;
    }
    percentiles.median = nearest_rank(durations->list, durations->n, 50);
    percentiles.percentile_95 = nearest_rank(durations->list, durations->n, 95);
    percentiles.longest = durations->list[durations->n - 1];
    return percentiles;
}
