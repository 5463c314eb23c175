#include "daemon/identity.h"

#include "core/table.h"
#include "daemon/paths.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void identity_clean_host(char *host)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (host[0] == '\0') {
        strcpy(host, "_");
    }
    for (char *next = host + strspn(host, good); *next; next += strspn(next, good)) {
        *next = '_';
    }
}

void identity_host(char out[static IDENTITY_HOST_SIZE])
{
    out[0] = '\0';
    gethostname(out, IDENTITY_HOST_SIZE); /* a longer one than the kernel has is cut */
    out[IDENTITY_HOST_SIZE - 1] = '\0';
    identity_clean_host(out);
}

/* Each part's hash seeds the next, so that nothing can move from one to another. */
void identity_format(char out[static IDENTITY_SESSION_SIZE], const struct identity *identity)
{
    uint64_t hash = hash_string(identity->boot_id, 0);
    hash = hash_string(identity->host, hash);
    hash = hash_string(identity->socket_path, hash);
    hash = hash_string(identity->database_name, hash);
    hash = hash_number(hash ^ identity->device);
    hash = hash_number(hash ^ identity->inode);
    snprintf(out, IDENTITY_SESSION_SIZE, "%016" PRIx64, hash);
}

/* Containers may share the kernel's boot, a name, and the path of the socket; the directory that is
 * there is one's own. */
static void find_directory(const char *socket_path, struct identity *identity)
{
    char path[PATH_MAX];
    struct stat status;
    if (!path_at_runtime(socket_path, "", path, sizeof path)) {
        return;
    }
    char *slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = '\0';
    if (stat(path, &status) == 0) {
        identity->device = status.st_dev;
        identity->inode = status.st_ino;
    }
}

void identity_session(char out[static IDENTITY_SESSION_SIZE], const char *boot_id,
    const char *socket_path, const char *database_name)
{
    char host[IDENTITY_HOST_SIZE];
    identity_host(host);
    struct identity identity = {
        .boot_id = boot_id,
        .host = host,
        .socket_path = socket_path,
        .database_name = database_name,
    };
    find_directory(socket_path, &identity);
    identity_format(out, &identity);
}
