#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* glibc keeps small blocks that were freed for malloc() alone: calloc() takes the long way. What
 * calloc() gets from the kernel is zeroed already, and its pages are not touched. */
void *memory_new(size_t size)
{
    enum { SMALL = 1024 };
    void *memory = size <= SMALL ? malloc(size) : calloc(1, size);
    if (!memory) {
        abort();
    }
    if (size <= SMALL) {
        explicit_bzero(memory, size); /* of memset() gcc would make calloc() again */
    }
    return memory;
}

void *memory_resize(void *memory, size_t n, size_t size)
{
    if (n > SIZE_MAX / size) {
        abort();
    }
    memory = realloc(memory, n * size);
    if (!memory) {
        abort();
    }
    return memory;
}

void *memory_grow(void *array, size_t n, size_t size)
{
    if ((n & (n - 1)) == 0) { /* it is full */
        array = memory_resize(array, n == 0 ? 1 : n * 2, size);
    }
    memset((char *)array + n * size, 0, size);
    return array;
}

char *memory_string(const char *string)
{
    if (!string) {
        return NULL;
    }
    size_t size = strlen(string) + 1;
    return memcpy(memory_new(size), string, size);
}
