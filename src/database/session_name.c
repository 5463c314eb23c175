#include "database/session_name.h"

#include "base/clock.h"
#include "base/table.h"
#include "journal/paths.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t random_number(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        number = (uint64_t)clock_now();
    }
    return number;
}

void session_name_random(char out[static SESSION_NAME_SIZE])
{
    snprintf(out, SESSION_NAME_SIZE, "%016" PRIx64, random_number());
}

void session_host_clean(char *host)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (host[0] == '\0') {
        strcpy(host, "_");
    }
    for (char *next = host + strspn(host, good); *next; next += strspn(next, good)) {
        *next = '_';
    }
}

void session_host_read(char out[static SESSION_HOST_SIZE])
{
    out[0] = '\0';
    gethostname(out, SESSION_HOST_SIZE); /* a name longer than the kernel's is cut */
    out[SESSION_HOST_SIZE - 1] = '\0';
    session_host_clean(out);
}

/* Each part's hash seeds the next, so that nothing can move from one to another. */
void session_name_format(char out[static SESSION_NAME_SIZE], const struct session_origin *origin)
{
    uint64_t hash = hash_string(origin->boot_id, 0);
    hash = hash_string(origin->host, hash);
    hash = hash_string(origin->socket_path, hash);
    hash = hash_string(origin->database_name, hash);
    hash = hash_number(hash ^ origin->device);
    hash = hash_number(hash ^ origin->inode);
    snprintf(out, SESSION_NAME_SIZE, "%016" PRIx64, hash);
}

/* Containers may share the kernel's boot, a name, and the path of the socket, but not the
 * directory. */
static void find_directory(const char *socket_path, struct session_origin *origin)
{
    char path[PATH_MAX];
    struct stat status;
    if (!path_at_runtime(socket_path, "", path, sizeof path)) {
        return;
    }
    char *slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = '\0';
    if (stat(path, &status) == 0) {
        origin->device = status.st_dev;
        origin->inode = status.st_ino;
    }
}

void session_name_make(char out[static SESSION_NAME_SIZE], const char *boot_id,
    const char *socket_path, const char *database_name)
{
    char host[SESSION_HOST_SIZE];
    session_host_read(host);
    struct session_origin origin = {
        .boot_id = boot_id,
        .host = host,
        .socket_path = socket_path,
        .database_name = database_name,
    };
    find_directory(socket_path, &origin);
    session_name_format(out, &origin);
}
