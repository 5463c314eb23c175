/* program_conf.h - reads the small file of a program: KEY = VALUE below its one section. */
#pragma once

#include "base/option_table.h"

struct conf_row {
    const char *key; /* NULL behind the last one */
    set_option *set; /* the value's bytes last only as long as the call */
    size_t offset; /* of the member of the object */
};

/* `path` NULL: `default_path`, which may be missing. False (each error is logged in a line): it
 * cannot be used. */
bool program_conf_read(const char *path, const char *default_path, const char *section,
    const struct conf_row rows[], void *object);
