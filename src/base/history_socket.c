#include "base/history_socket.h"

#include <stdio.h>
#include <string.h>

bool path_of_history_socket(const char *berthd, char *out, size_t size)
{
    static const char suffix[] = ".sock";
    size_t n = strlen(berthd), n_suffix = sizeof suffix - 1;
    bool has_suffix = n > n_suffix && strcmp(berthd + n - n_suffix, suffix) == 0;
    int stem = (int)(has_suffix ? n - n_suffix : n);
    int length = snprintf(out, size, "%.*s-history%s", stem, berthd, suffix);
    return length >= 0 && (size_t)length < size;
}
