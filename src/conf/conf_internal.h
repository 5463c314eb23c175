/* conf_internal.h - conf_load() and conf_reload() with the name service given by the caller: for
 * tests. */
#ifndef BERTH_CONF_INTERNAL_H
#define BERTH_CONF_INTERNAL_H

#include "conf/conf.h"

enum lookup_result {
    LOOKUP_FOUND,
    LOOKUP_UNKNOWN,
    LOOKUP_FAILED, /* errno says why */
};

struct conf_lookup {
    enum lookup_result (*user)(const char *name, uint32_t *idp);
    enum lookup_result (*group)(const char *name, uint32_t *idp);
};

extern const struct conf_lookup conf_system_lookup;

struct conf *conf_load_with(
    const char *path, const struct conf_lookup *lookup, struct conf_errors *errors);
struct conf *conf_reload_with(
    const struct conf *running, const struct conf_lookup *lookup, struct conf_errors *errors);

#endif
