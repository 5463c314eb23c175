/* link_info.h - describes the server at the other end of a link, for people. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* What the server has said and shown. */
struct link_info {
    char run_id[64], version[32], address[160];
    char warning[256]; /* its set-up is not safe: to be logged and shown; or "" */
    char lacks[160]; /* words of what it does not allow, with commas between; or "" */
    bool lacks_history; /* scripts may not keep there what has ended */
    const char *unwritable; /* why it refused writes when it was first asked; or NULL */
};

/* What stands before the version where it does not name the server. */
static inline const char *link_info_kind(const struct link_info *info)
{
    return strncmp(info->version, "Valkey ", 7) == 0 ? "" : "Redis ";
}

/* The version, or words in its place. */
static inline const char *link_info_version(const struct link_info *info)
{
    return info->version[0] != '\0' ? info->version : "of an unknown version";
}
