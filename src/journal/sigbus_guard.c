#include "journal/sigbus_guard.h"

#include "base/memory.h"
#include "journal/journal_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct guard {
    struct guard *next;
    char *start;
    size_t size;
    volatile sig_atomic_t *was_cutp;
};

/* The thread that changes this list is the one that uses the memory: the handler never sees it
 * half-changed. */
static struct guard *guards;

static const struct guard *guard_of(const char *at)
{
    const struct guard *guard = guards;
    while (guard && (at < guard->start || at >= guard->start + guard->size)) {
        guard = guard->next;
    }
    return guard;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int error = errno;
    char *at = info->si_addr;
    bool is_fault = info->si_code > 0; /* and no kill() */
    const struct guard *guard = is_fault ? guard_of(at) : NULL;
    char *page = guard ? guard->start + (size_t)(at - guard->start) / JOURNAL_PAGE * JOURNAL_PAGE
                       : NULL;
    (void)context;
    if (page && mmap(page, JOURNAL_PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
        *guard->was_cutp = 1;
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = error;
}

void sigbus_guard_add(char *start, size_t size, volatile sig_atomic_t *was_cutp)
{
    const struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    struct guard *guard = memory_new(sizeof *guard);
    *guard = (struct guard){guards, start, size, was_cutp};
    guards = guard;
    sigaction(SIGBUS, &action, NULL);
}

void cut_unguard(const char *start)
{
    struct guard **link = &guards;
    while (*link && (*link)->start != start) {
        link = &(*link)->next;
    }
    if (*link) {
        struct guard *guard = *link;
        *link = guard->next;
        free(guard);
    }
}
