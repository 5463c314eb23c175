#include "client/endpoint.h"

#include "base/history_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool endpoint_set(struct endpoint *endpoint, const char *path)
{
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof endpoint->path) {
        return false;
    }
    memcpy(endpoint->path, path, n + 1);
    endpoint->is_default = false;
    return true;
}

bool endpoint_of_user(struct endpoint *endpoint)
{
    const char *directory = getenv("XDG_RUNTIME_DIR");
    int n;
    endpoint->is_default = false;
    if (directory && directory[0] == '/') {
        n = snprintf(endpoint->path, sizeof endpoint->path, "%s/berth/berth.sock", directory);
    } else {
        n = snprintf(endpoint->path, sizeof endpoint->path, "/run/user/%lu/berth/berth.sock",
            (unsigned long)getuid());
    }
    return n > 0 && (size_t)n < sizeof endpoint->path;
}

bool endpoint_choose(struct endpoint *endpoint, const char *choice)
{
    if (choice && strcmp(choice, "user") == 0) {
        return endpoint_of_user(endpoint);
    }
    if (!choice) {
        choice = getenv("BERTH_SOCKET");
        if (choice && choice[0] == '\0') {
            choice = NULL;
        }
    }
    if (choice) {
        return endpoint_set(endpoint, choice);
    }
    endpoint_set(endpoint, ENDPOINT_DEFAULT);
    endpoint->is_default = true;
    return true;
}

bool endpoint_of_history(const struct endpoint *berthd, struct endpoint *history)
{
    history->is_default = false;
    return path_of_history_socket(berthd->path, history->path, sizeof history->path);
}

void endpoint_absolute(const struct endpoint *endpoint, char out[static PATH_MAX])
{
    size_t n = 0;
    if (endpoint->path[0] != '/' && getcwd(out, PATH_MAX - sizeof endpoint->path - 1)) {
        n = strcmp(out, "/") == 0 ? 0 : strlen(out);
        out[n++] = '/';
    }
    strcpy(out + n, endpoint->path);
}
