#include "conf/conf.h"

#include "base/memory.h"
#include "conf/conf_internal.h"
#include "conf/files.h"

#include <stdlib.h>
#include <string.h>

static struct conf *load(const char *path, const struct conf *running,
    const struct conf_lookup *lookup, struct conf_errors *errors)
{
    struct loading loading;
    struct conf *conf = NULL;
    loading_init(&loading, running, lookup);
    loading.conf->path = memory_string(path);
    files_read(&loading);
    fleet_uses_resolve(&loading);
    if (loading.complaints.n == 0) {
        conf = loading.conf;
        loading.conf = NULL;
    }
    complaints_report(&loading.complaints, errors);
    loading_deinit(&loading);
    return conf;
}

struct conf *conf_load_with(
    const char *path, const struct conf_lookup *lookup, struct conf_errors *errors)
{
    return load(path, NULL, lookup, errors);
}

struct conf *conf_reload_with(
    const struct conf *running, const struct conf_lookup *lookup, struct conf_errors *errors)
{
    return load(running->path, running, lookup, errors);
}

struct conf *conf_load(const char *path, struct conf_errors *errors)
{
    return conf_load_with(path, &conf_system_lookup, errors);
}

struct conf *conf_reload(const struct conf *running, struct conf_errors *errors)
{
    return conf_reload_with(running, &conf_system_lookup, errors);
}

/* ---- reload ---- */

static void swap_texts(char **a, char **b)
{
    char *text = *a;
    *a = *b;
    *b = text;
}

/* What a reload changes of a database: `written` is what the file says now. */
static void take_over(struct database *kept, struct database *written)
{
    kept->generation = written->generation;
    if (kept->url.is_tls && written->url.is_tls) {
        swap_texts(&kept->ca_file, &written->ca_file);
        swap_texts(&kept->cert_file, &written->cert_file);
        swap_texts(&kept->key_file, &written->key_file);
        swap_texts(&kept->server_name, &written->server_name);
        kept->tls_min_version = written->tls_min_version;
    }
}

static void keep_databases(struct conf *running, struct conf *loaded)
{
    struct database *databases = loaded->databases;
    size_t n = loaded->n_databases;
    for (size_t i = 0; i < running->n_databases; i++) {
        struct database *kept = &running->databases[i];
        struct database *written = database_find(loaded, kept->name);
        if (written) {
            take_over(kept, written);
        }
    }
    loaded->databases = running->databases;
    loaded->n_databases = running->n_databases;
    running->databases = databases;
    running->n_databases = n;
}

void conf_keep_fixed(struct conf *running, struct conf *loaded)
{
    char *socket = loaded->socket;
    loaded->socket = running->socket;
    running->socket = socket;
    loaded->socket_mode = running->socket_mode;
    loaded->grace = running->grace;
    keep_databases(running, loaded);
}

/* Takes over `message`. */
static void add_message(struct conf_errors *messages, char *message)
{
    messages->messages =
        memory_resize(messages->messages, messages->n + 1, sizeof *messages->messages);
    messages->messages[messages->n++] = message;
}

static char *of_database(const char *what, const char *name)
{
    char *text;
    bool is_default = strcmp(name, DEFAULT_DATABASE) == 0;
    if (asprintf(&text, "%s [redis%s%s]", what, is_default ? "" : " ", is_default ? "" : name) <
        0) {
        abort();
    }
    return text;
}

static bool key_is_same(const struct key_row *key, const void *a, const void *b)
{
    return key->type->same((const char *)a + key->offset, (const char *)b + key->offset);
}

/* `name` is the database's; NULL: the keys of [daemon]. */
static void compare_keys(enum section_kind kind, const void *running, const void *loaded,
    const char *name, struct conf_errors *changes)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key_row *key = &key_table[i];
        if (key_is_in(key, kind) && !key->reloadable &&
            !key_is_same(key, running, loaded)) {
            char what[64];
            snprintf(what, sizeof what, "%s of", key->word);
            add_message(changes, name ? of_database(what, name) : memory_string(key->word));
        }
    }
}

void conf_fixed_changes(
    const struct conf *running, const struct conf *loaded, struct conf_errors *changes)
{
    compare_keys(SECTION_DAEMON, running, loaded, NULL, changes);
    for (size_t i = 0; i < running->n_databases; i++) {
        const struct database *old = &running->databases[i];
        const struct database *new = database_find(loaded, old->name);
        if (new) {
            compare_keys(SECTION_REDIS, old, new, old->name, changes);
        } else {
            add_message(changes, of_database("the removal of", old->name));
        }
    }
    for (size_t i = 0; i < loaded->n_databases; i++) {
        const char *name = loaded->databases[i].name;
        if (!database_find(running, name)) {
            add_message(changes, of_database("the new section", name));
        }
    }
}

static bool key_is_of_resources(const struct key_row *key)
{
    return key_is_in(key, SECTION_SEMAPHORE) || key_is_in(key, SECTION_LOCK) ||
        key_is_in(key, SECTION_POOL);
}

bool conf_same_definition(const struct definition *a, const struct definition *b)
{
    bool is_same = strcmp(a->name, b->name) == 0 && a->kind == b->kind;
    for (size_t i = 0; is_same && i < N_KEYS; i++) {
        const struct key_row *key = &key_table[i];
        is_same = !key_is_of_resources(key) || !key->type->same || key_is_same(key, a, b);
    }
    return is_same;
}
