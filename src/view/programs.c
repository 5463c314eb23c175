#include "view/programs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t program_read(const struct status_lease *lease, const char *file, char *out, size_t size)
{
    char path[64];
    struct stat found;
    bool is_elsewhere = strchr(lease->id, '/'); /* SESSION/LEASE: of another host */
    if (lease->hidden || is_elsewhere || lease->pid == 0) {
        return 0;
    }
    snprintf(path, sizeof path, "/proc/%llu/%s", (unsigned long long)lease->pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    bool is_its = fstat(fd, &found) == 0 && found.st_uid == lease->uid;
    ssize_t n = is_its ? read(fd, out, size) : 0;
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

void program_fill_in(struct status_lease *lease)
{
    if (lease->shown[SHOWN_program]) {
        return;
    }
    size_t n = program_read(lease, "comm", lease->process, sizeof lease->process - 1);
    lease->process[n] = '\0';
    lease->process[strcspn(lease->process, "\n")] = '\0';
}

void programs_fill_in(struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_leases *leases = &status->resources[i].leases;
        for (size_t k = 0; k < leases->n; k++) {
            program_fill_in(&leases->list[k]);
        }
    }
}
