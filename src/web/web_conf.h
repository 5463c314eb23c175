/* web_conf.h - the command line of berth-web and its file. */
#pragma once

#include "web/host_allowlist.h"

#include <stdbool.h>

struct web_conf {
    char *socket; /* of berthd; NULL: not given */
    char *listen; /* ADDRESS:PORT or the path of a Unix socket; NULL: not given */
    struct name_list hosts; /* for the header Host */
};

void web_conf_deinit(struct web_conf *conf);

/* Reads the file into an empty one; `path` NULL: the default one, which may be missing. False (each
 * error is logged in a line): it cannot be used. */
bool web_conf_read(struct web_conf *conf, const char *path);
