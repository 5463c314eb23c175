#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *memory_new(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        abort();
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

char *memory_string(const char *string)
{
    if (!string) {
        return NULL;
    }
    size_t size = strlen(string) + 1;
    return memcpy(memory_new(size), string, size);
}
