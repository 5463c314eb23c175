/* memory.h - allocation that cannot fail. The daemon ends when there is no memory: a restart costs
 * no job anything, and everything that peers can make it allocate is bounded. */
#pragma once

#include <stddef.h>

/* Zeroed. */
void *memory_new(size_t size);
void *memory_resize(void *memory, size_t n, size_t size);
/* Room for one more element of `size` bytes behind the first `n`, zeroed. The array doubles its
 * room: call this for each element that is added, and change the room in no other way. */
void *memory_grow(void *array, size_t n, size_t size);
char *memory_string(const char *string); /* NULL stays NULL */

#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))
