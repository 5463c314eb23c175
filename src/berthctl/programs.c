#include "berthctl/programs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void program_fill_in(struct status_lease *lease)
{
    char path[40];
    struct stat found;
    bool is_elsewhere = strchr(lease->id, '/'); /* SESSION/LEASE: of another host */
    if (lease->shown[SHOWN_program] || lease->hidden || is_elsewhere || lease->pid == 0) {
        return;
    }
    snprintf(path, sizeof path, "/proc/%llu/comm", (unsigned long long)lease->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    bool is_its = fstat(fd, &found) == 0 && found.st_uid == lease->uid;
    ssize_t n = is_its ? read(fd, lease->process, sizeof lease->process - 1) : 0;
    lease->process[n > 0 ? n : 0] = '\0';
    lease->process[strcspn(lease->process, "\n")] = '\0';
    close(fd);
}

static void fill_in_all(struct status_leases *leases)
{
    for (size_t i = 0; i < leases->n; i++) {
        program_fill_in(&leases->list[i]);
    }
}

void programs_fill_in(struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        fill_in_all(&status->resources[i].holders);
        fill_in_all(&status->resources[i].waiters);
    }
}
