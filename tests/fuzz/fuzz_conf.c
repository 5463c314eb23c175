/* fuzz_conf.c - any bytes as a configuration: either a good object, or messages that a terminal
 * can show. With clang: -fsanitize=fuzzer,address,undefined instead of replay.c. */
#include "base/words.h"
#include "conf/conf.h"
#include "conf/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static enum lookup_result look_up(const char *name, uint32_t *idp)
{
    *idp = (uint32_t)strlen(name);
    return name[0] == 'u' ? LOOKUP_FOUND : LOOKUP_UNKNOWN;
}

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_databases(const struct conf *conf)
{
    require(conf->n_databases <= MAX_DATABASES);
    for (size_t i = 0; i < conf->n_databases; i++) {
        const struct database *database = &conf->databases[i];
        require(name_is_valid(database->name) && !strchr(database->name, '/'));
        require(database->url_text && (database->url.path || database->url.n_hosts > 0));
        require(database->prefix[0] != '\0' && !strpbrk(database->prefix, "{}"));
        require(database->ttl >= 6 * NANOSECONDS_PER_SECOND && database->failover_lag >= 0);
    }
}

static void check_conf(const struct conf *conf)
{
    check_databases(conf);
    require(conf->socket[0] == '/' && conf->user_bounds.clients >= 1);
    for (size_t i = 0; i < conf->n_definitions; i++) {
        const struct definition *definition = &conf->definitions[i];
        require(name_is_valid(definition->name) || template_name_is_valid(definition->name));
        require(definition->limit <= MAX_LIMIT && definition->n_items <= 10000);
        require(definition->kind != KIND_LOCK || definition->limit <= 1);
        require(definition->database <= conf->n_databases);
        require(definition->cooldown >= 0 && definition->max_units_per_user >= 1);
        for (size_t j = 0; j < definition->n_items; j++) {
            require(item_is_valid(definition->items[j]));
        }
    }
}

static void check_errors(const struct conf_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        require(strlen(errors->messages[i]) < 1024);
        for (const char *c = errors->messages[i]; *c; c++) {
            require((unsigned char)*c >= ' ' && *c != 0x7f);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct conf_lookup lookup = {.user = look_up, .group = look_up};
    struct conf_errors errors = CONF_ERRORS_INIT;
    char path[64];
    int fd = memfd_create("conf", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct conf *conf = conf_load(path, NULL, &lookup, &errors);
    require((conf == NULL) == (errors.n > 0));
    if (conf) {
        check_conf(conf);
    }
    check_errors(&errors);
    conf_errors_deinit(&errors);
    conf_free(conf);
    close(fd);
    return 0;
}
