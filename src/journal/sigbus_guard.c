#include "journal/sigbus_guard.h"

#include "base/memory.h"
#include "journal/journal_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct server_check {
    struct server_check *next;
    char *start;
    size_t size;
    volatile sig_atomic_t *was_cutp;
};

/* The thread that changes this list is the one that uses the memory: the handler never sees it
 * half-changed. */
static struct server_check *guards;

static const struct server_check *server_check_of(const char *at)
{
    const struct server_check *guard = guards;
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
    const struct server_check *guard = is_fault ? server_check_of(at) : NULL;
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
    struct server_check *guard = memory_new(sizeof *guard);
    *guard = (struct server_check){guards, start, size, was_cutp};
    guards = guard;
    sigaction(SIGBUS, &action, NULL);
}

void cut_unguard(const char *start)
{
    struct server_check **link = &guards;
    while (*link && (*link)->start != start) {
        link = &(*link)->next;
    }
    if (*link) {
        struct server_check *guard = *link;
        *link = guard->next;
        free(guard);
    }
}
