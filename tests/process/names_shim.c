/* names_shim.c - LD_PRELOAD: a name service that gives no answer for as long as a test likes. While
 * there is a FIFO at $BERTH_NAMES_GATE, looking up a user or a host first opens the FIFO and reads
 * it to its end. The host two.example.org has the addresses 127.0.0.2 and 127.0.0.1, in that
 * order. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_at_gate(void)
{
    char byte;
    const char *path = getenv("BERTH_NAMES_GATE");
    int gate = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (gate >= 0) {
        while (read(gate, &byte, 1) > 0) {
        }
        close(gate);
    }
}

int getpwnam_r(
    const char *name, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
    int (*real)(const char *, struct passwd *, char *, size_t, struct passwd **);
    *(void **)&real = dlsym(RTLD_NEXT, "getpwnam_r");
    wait_at_gate();
    return real(name, entry, buffer, size, found);
}

int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
    int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **);
    *(void **)&real = dlsym(RTLD_NEXT, "getpwuid_r");
    wait_at_gate();
    return real(uid, entry, buffer, size, found);
}

int getaddrinfo(
    const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    wait_at_gate();
    if (!host || strcmp(host, "two.example.org") != 0) {
        return real(host, service, hints, found);
    }
    int error = real("127.0.0.2", service, hints, found);
    return error ? error : real("127.0.0.1", service, hints, &(*found)->ai_next);
}
