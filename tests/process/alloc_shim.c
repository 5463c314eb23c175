/* alloc_shim.c - LD_PRELOAD: one of a process's allocations fails.
 *
 * $BERTH_ALLOC_FILE holds two uint64 in the machine's byte order: how many allocations there have
 * been, including those of earlier processes with this file; and which one fails, counted from 1.
 * glibc's own allocations count where its other functions make them. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct plan {
    uint64_t count, fails;
};

static struct plan none;
static struct plan *plan = &none;

__attribute__((constructor)) static void map_plan(void)
{
    const char *path = getenv("BERTH_ALLOC_FILE");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *map = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) {
        plan = map;
    }
    close(file);
}

static int fails_now(void)
{
    if (__atomic_add_fetch(&plan->count, 1, __ATOMIC_RELAXED) != plan->fails) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return fails_now() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails_now() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memoryp, size_t alignment, size_t size)
{
    *memoryp = aligned_alloc(alignment, size);
    return *memoryp ? 0 : ENOMEM;
}
