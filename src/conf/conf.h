/* conf.h - the configuration file(s) -> one immutable object, or all errors of one run.
 *
 * To reload, conf_load() a second object and swap: nothing is ever half applied. */
#pragma once

#include "conf/configuration.h"

/* Reads `path` and what it includes. Returns NULL if there was any error; `errors` then has at
 * least one message. Resolves user and group names, so it may block in the name service; tests give
 * a `lookup` in its place, else NULL.
 *
 * `running`: the configuration in force; NULL at the start. Only a restart changes the databases:
 * those of `running` are the ones that definition.database numbers, and no others can be used. Then
 * the result is complete after conf_keep_fixed(). */
struct conf *conf_load(const char *path, const struct conf *running,
    conf_lookup *lookup, struct conf_errors *errors);

/* The differences that take effect only at the next start, one message each, such as "socket" or
 * "ttl of [redis x]". */
void conf_fixed_changes(
    const struct conf *running, const struct conf *loaded, struct conf_errors *changes);
/* `loaded` takes these settings over from `running`, which is about to be freed. They stay in
 * force, and the databases stay where they are in memory. */
void conf_keep_fixed(struct conf *running, struct conf *loaded);

/* Whether two resources have the same name and kind, and the same value of every key. */
bool conf_same_definition(const struct definition *a, const struct definition *b);
