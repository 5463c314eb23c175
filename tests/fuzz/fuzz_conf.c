/* fuzz_conf.c - any bytes as a configuration: either a good object, or messages that a terminal
 * can show. */
#include "fuzz.h"

#include "base/words.h"
#include "conf/conf.h"
#include "conf/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static enum lookup_result look_up(bool is_group, const char *name, uint32_t *idp)
{
    (void)is_group;
    *idp = (uint32_t)strlen(name);
    return name[0] == 'u' ? LOOKUP_FOUND : LOOKUP_UNKNOWN;
}

static void check_databases(const struct conf *conf)
{
    REQUIRE(conf->n_databases <= MAX_DATABASES);
    for (size_t i = 0; i < conf->n_databases; i++) {
        const struct database *database = &conf->databases[i];
        REQUIRE(name_is_valid(database->name) && !strchr(database->name, '/'));
        REQUIRE(database->url_text && (database->url.path || database->url.n_hosts > 0));
        REQUIRE(database->prefix[0] != '\0' && !strpbrk(database->prefix, "{}"));
        REQUIRE(database->ttl >= 6 * NANOSECONDS_PER_SECOND && database->failover_lag >= 0);
    }
}

static void check_conf(const struct conf *conf)
{
    check_databases(conf);
    REQUIRE(conf->socket[0] == '/' && conf->user_bounds.clients >= 1);
    for (size_t i = 0; i < conf->n_definitions; i++) {
        const struct definition *definition = &conf->definitions[i];
        REQUIRE(name_is_valid(definition->name) || template_name_is_valid(definition->name));
        REQUIRE(definition->limit <= MAX_LIMIT && definition->n_items <= 10000);
        REQUIRE(definition->kind != KIND_LOCK || definition->limit <= 1);
        REQUIRE(definition->database <= conf->n_databases);
        REQUIRE(definition->cooldown >= 0 && definition->max_units_per_user >= 1);
        for (size_t j = 0; j < definition->n_items; j++) {
            REQUIRE(item_is_valid(definition->items[j]));
        }
    }
}

static void check_errors(const struct conf_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        REQUIRE(strlen(errors->messages[i]) < 1024);
        for (const char *c = errors->messages[i]; *c; c++) {
            REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct conf_errors errors = CONF_ERRORS_INIT;
    char path[64];
    int fd = memfd_create("conf", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct conf *conf = conf_load(path, NULL, look_up, &errors);
    REQUIRE((conf == NULL) == (errors.n > 0));
    if (conf) {
        check_conf(conf);
    }
    check_errors(&errors);
    conf_errors_deinit(&errors);
    conf_free(conf);
    close(fd);
    return 0;
}
