#include "conf/conf.h"

#include "base/memory.h"
#include "conf/level_rules.h"
#include "conf/sections.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which files are read, and in which order ---- */

enum { MAX_FILE_BYTES = 64 << 20 };

static void file_complain(struct loading *loading, const char *what)
{
    complain(&loading->complaints, (struct place){.file = loading->file}, NULL, NULL, "%s", what);
}

/* O_NONBLOCK: opening a FIFO must not hang. */
static int open_regular(struct loading *loading, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        file_complain(loading, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        file_complain(loading, "is a directory");
    } else if (!S_ISREG(status.st_mode)) {
        file_complain(loading, "is not a regular file");
    } else if (status.st_size > MAX_FILE_BYTES) {
        file_complain(loading, "is larger than 64 MiB");
    } else {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static void file_read(struct loading *loading, const char *path)
{
    loading->file = complaints_add_file(&loading->complaints, path);
    int fd = open_regular(loading, path);
    if (fd < 0) {
        return;
    }
    FILE *stream = fdopen(fd, "r");
    if (!stream) {
        abort();
    }
    lines_read(loading, stream);
    if (ferror(stream)) {
        file_complain(loading, "cannot be read completely");
    }
    fclose(stream);
}

/* ---- include ---- */

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), n_suffix = strlen(suffix);
    return n > n_suffix && strcmp(text + n - n_suffix, suffix) == 0;
}

static int is_conf_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && has_suffix(entry->d_name, ".conf");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static char *join(const char *directory, int n, const char *name)
{
    struct text path = TEXT_INIT;
    text_add_format(&path, "%.*s%s", n, directory, name);
    return text_take(&path);
}

static void include_complain(struct loading *loading, const char *path, int error)
{
    complain(&loading->complaints, loading->include_place, section_words[SECTION_DAEMON],
        key_table[KEY_include].word, "%s: %s", path, strerror(error));
}

static void include_directory(struct loading *loading, const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_conf_file, by_bytes);
    if (n < 0) {
        include_complain(loading, path, errno);
        return;
    }
    size_t length = strlen(path);
    char *directory = join(path, (int)length, path[length - 1] == '/' ? "" : "/");
    for (int i = 0; i < n; i++) {
        char *file = join(directory, (int)strlen(directory), entries[i]->d_name);
        file_read(loading, file);
        free(file);
        free(entries[i]);
    }
    free(directory);
    free(entries);
}

/* A directory that does not exist counts as empty: whoever drops the first file into it makes it. A
 * missing path must look like a directory's. */
static bool may_be_absent(const char *path)
{
    return has_suffix(path, "/") || has_suffix(path, ".d");
}

static void include_read(struct loading *loading)
{
    const char *main_path = loading->conf->path, *include = loading->conf->include;
    const char *slash = strrchr(main_path, '/');
    int n_directory = include[0] == '/' || !slash ? 0 : (int)(slash + 1 - main_path);
    char *path = join(main_path, n_directory, include);
    struct stat status;
    if (stat(path, &status) < 0) {
        if (errno != ENOENT || !may_be_absent(path)) {
            include_complain(loading, path, errno);
        }
    } else if (S_ISDIR(status.st_mode)) {
        include_directory(loading, path);
    } else {
        file_read(loading, path);
    }
    free(path);
}

/* conf->path, then what it includes. */
static void files_read(struct loading *loading)
{
    file_read(loading, loading->conf->path);
    if (loading->conf->include) {
        include_read(loading);
    }
}

/* ---- a configuration ---- */

struct conf *conf_load(const char *path, const struct conf *running,
    conf_lookup *lookup, struct conf_errors *errors)
{
    struct loading loading;
    struct conf *conf = NULL;
    loading_init(&loading, running, lookup ? lookup : conf_system_lookup);
    loading.conf->path = memory_string(path);
    files_read(&loading);
    fleet_uses_resolve(&loading);
    levels_check(&loading);
    if (loading.complaints.n == 0) {
        conf = loading.conf;
        loading.conf = NULL;
    }
    complaints_report(&loading.complaints, errors);
    loading_deinit(&loading);
    return conf;
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
    swap_texts(&loaded->socket, &running->socket);
    loaded->socket_mode = running->socket_mode;
    loaded->grace = running->grace;
    keep_databases(running, loaded);
}

static void add_of_database(struct conf_errors *changes, const char *what, const char *name)
{
    char text[256];
    snprintf(text, sizeof text, "%s [redis%s%s]", what, REDIS_NAME(name));
    conf_errors_add(changes, text);
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
            if (name) {
                add_of_database(changes, what, name);
            } else {
                conf_errors_add(changes, key->word);
            }
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
            add_of_database(changes, "the removal of", old->name);
        }
    }
    for (size_t i = 0; i < loaded->n_databases; i++) {
        const char *name = loaded->databases[i].name;
        if (!database_find(running, name)) {
            add_of_database(changes, "the new section", name);
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
