/* history_conf.h - the file of berth-history. */
#pragma once

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct history_conf {
    nanoseconds keep; /* what ended longer ago goes */
    uint64_t size; /* of all days together, in bytes */
};

/* `path` NULL: the default one, which may be missing. False (each error is logged in a line): it
 * cannot be used. */
bool history_conf_read(struct history_conf *conf, const char *path);
