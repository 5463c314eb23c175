/* grow.h - arrays that grow by one at a time and double their room. */
#ifndef BERTH_CONF_GROW_H
#define BERTH_CONF_GROW_H

#include "base/memory.h"

/* Makes room for one more than `n` elements. Call it for each of n = 0, 1, 2, ... */
static inline void *array_grow(void *array, size_t n, size_t size)
{
    return (n & (n - 1)) == 0 ? memory_resize(array, n == 0 ? 1 : n * 2, size) : array;
}

#endif
