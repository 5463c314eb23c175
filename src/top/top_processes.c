/* top_processes.c - what /proc says of the jobs on the screen of `berthctl top`; looked up seldom.
 */
#include "top/top_internal.h"

#include "base/table.h"
#include "view/programs.h"

#include <string.h>

enum { GOOD_SECONDS = 3 }; /* exec(2) changes it */

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
    struct top_process *entry = &processes->list[hash % TOP_PROCESSES];
    size_t length = strlen(lease->id);
    if (length >= sizeof entry->id) {
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
            program_read(lease, arguments ? "cmdline" : "comm", entry->command,
                sizeof entry->command - 1));
    }
    return entry->command[0] != '\0' ? entry->command : NULL;
}
