#include "conf/configuration.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void database_deinit(struct database *database)
{
    redis_url_deinit(&database->url);
    free(database->name);
    free(database->url_text);
    free(database->password_file);
    free(database->sentinel_user);
    free(database->sentinel_password_file);
    free(database->ca_file);
    free(database->cert_file);
    free(database->key_file);
    free(database->server_name);
    free(database->prefix);
}

static void id_set_deinit(struct id_set *set)
{
    free(set->ids);
    *set = (struct id_set){.ids = NULL};
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
    for (size_t i = 0; i < conf->n_databases; i++) {
        database_deinit(&conf->databases[i]);
    }
    free(conf->databases);
    id_set_deinit(&conf->admin_users);
    id_set_deinit(&conf->admin_groups);
    id_set_deinit(&conf->view_users);
    id_set_deinit(&conf->view_groups);
    free(conf->history_user);
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

void conf_errors_add(struct conf_errors *errors, const char *message)
{
    errors->messages = memory_resize(errors->messages, errors->n + 1, sizeof *errors->messages);
    errors->messages[errors->n++] = memory_string(message);
}

struct database *database_find(const struct conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->n_databases; i++) {
        if (strcmp(conf->databases[i].name, name) == 0) {
            return &conf->databases[i];
        }
    }
    return NULL;
}
