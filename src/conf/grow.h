/* grow.h - arrays that grow by one at a time and double their room. */
#ifndef BERTH_CONF_GROW_H
#define BERTH_CONF_GROW_H

#include "base/memory.h"

/* Room for one more than `n` elements, if so far it was only ever asked for with 0 ... n-1. */
static inline void *array_grow(void *array, size_t n, size_t size)
{
    return (n & (n - 1)) == 0 ? memory_resize(array, n == 0 ? 1 : n * 2, size) : array;
}

#endif
