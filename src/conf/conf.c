#include "conf/conf.h"

#include "conf/conf_internal.h"
#include "conf/files.h"
#include "core/memory.h"

#include <assert.h>
#include <stdlib.h>

struct conf *conf_load_with(
    const char *path, const struct conf_lookup *lookup, struct conf_errors *errors)
{
    struct loading loading;
    struct conf *conf = NULL;
    loading_init(&loading, lookup);
    loading.conf->path = memory_string(path);
    files_read(&loading);
    if (loading.complaints.n == 0) {
        conf = loading.conf;
        loading.conf = NULL;
    }
    complaints_tell(&loading.complaints, errors);
    loading_deinit(&loading);
    return conf;
}

struct conf *conf_load(const char *path, struct conf_errors *errors)
{
    return conf_load_with(path, &conf_system_lookup, errors);
}

struct conf *conf_free(struct conf *conf)
{
    if (!conf) {
        return NULL;
    }
    for (size_t i = 0; i < conf->n_definitions; i++) {
        definition_deinit(&conf->definitions[i]);
    }
    free(conf->definitions);
    id_set_deinit(&conf->admin_users);
    id_set_deinit(&conf->admin_groups);
    free(conf->socket);
    free(conf->include);
    free(conf->path);
    free(conf);
    return NULL;
}

void conf_errors_deinit(struct conf_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        free(errors->messages[i]);
    }
    free(errors->messages);
    *errors = (struct conf_errors)CONF_ERRORS_INIT;
}

void conf_keep_fixed(struct conf *running, struct conf *loaded)
{
    char *socket = loaded->socket;
    loaded->socket = running->socket;
    running->socket = socket;
    loaded->socket_mode = running->socket_mode;
    loaded->grace = running->grace;
}

size_t conf_fixed_changes(const struct conf *running, const struct conf *loaded,
    const char *words[static CONF_FIXED_KEYS])
{
    size_t n = 0;
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key_row *key = &key_table[i];
        if (!key->reloadable &&
            !key->type->same(
                (const char *)running + key->offset, (const char *)loaded + key->offset)) {
            assert(n < CONF_FIXED_KEYS);
            words[n++] = key->word;
        }
    }
    return n;
}
