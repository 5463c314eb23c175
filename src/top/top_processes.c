/* top_processes.c - what /proc says of the jobs on the screen of `berthctl top`; looked up seldom.
 */
#include "top/top_internal.h"

#include "base/memory.h"
#include "base/table.h"
#include "view/programs.h"

#include <stdlib.h>
#include <string.h>

enum {
    N_ENTRIES = 512, /* more than a screen has lines */
    GOOD_SECONDS = 3, /* exec(2) changes it */
    ARGUMENT_BYTES = 1000,
    MAX_ID = 256,
};

/* One process; another one with the same place takes it over. */
struct entry {
    char id[MAX_ID]; /* of the lease; "": none */
    uint64_t pid;
    bool arguments;
    nanoseconds until;
    char command[ARGUMENT_BYTES + 1];
};

struct top_processes {
    nanoseconds now;
    struct entry entries[N_ENTRIES];
};

struct top_processes *top_processes_new(void)
{
    return memory_new(sizeof(struct top_processes));
}

void top_processes_free(struct top_processes *processes)
{
    free(processes);
}

void top_processes_set_time(struct top_processes *processes, nanoseconds now)
{
    processes->now = now;
}

/* A blank in place of each NUL between arguments, and of what ends a name. */
static void make_line(char *command, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        command[i] = command[i] == '\0' ? ' ' : command[i];
    }
    while (n > 0 && (command[n - 1] == ' ' || command[n - 1] == '\n')) {
        n--;
    }
    command[n] = '\0';
}

const char *top_process_of(void *context, const struct status_lease *lease, bool arguments)
{
    struct top_processes *processes = context;
    uint64_t hash = hash_name(lease->id) + lease->pid * 2 + arguments;
    struct entry *entry = &processes->entries[hash % N_ENTRIES];
    size_t length = strlen(lease->id);
    if (length >= MAX_ID) {
        return NULL;
    }
    bool is_same = entry->pid == lease->pid && entry->arguments == arguments &&
        strcmp(entry->id, lease->id) == 0;
    if (!is_same || entry->until <= processes->now) {
        memcpy(entry->id, lease->id, length + 1);
        entry->pid = lease->pid;
        entry->arguments = arguments;
        entry->until = processes->now + GOOD_SECONDS * NANOSECONDS_PER_SECOND;
        make_line(entry->command,
            program_read(lease, arguments ? "cmdline" : "comm", entry->command, ARGUMENT_BYTES));
    }
    return entry->command[0] != '\0' ? entry->command : NULL;
}
