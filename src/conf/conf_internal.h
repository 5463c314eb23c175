/* conf_internal.h - conf_load() and conf_reload() with the name service given by the caller: for
 * tests. */
#ifndef BERTH_CONF_INTERNAL_H
#define BERTH_CONF_INTERNAL_H

#include "conf/conf.h"
#include "conf/names.h"

struct conf *conf_load_with(
    const char *path, const struct conf_lookup *lookup, struct conf_errors *errors);
struct conf *conf_reload_with(
    const struct conf *running, const struct conf_lookup *lookup, struct conf_errors *errors);

#endif
