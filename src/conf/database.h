/* database.h - one [redis NAME] section: a Redis that grants the leases of fleet-scope resources. */
#ifndef BERTH_CONF_DATABASE_H
#define BERTH_CONF_DATABASE_H

#include "core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum redis_scheme { REDIS_TCP, REDIS_UNIX, REDIS_SENTINEL };

enum { MAX_SENTINELS = 16 };

struct redis_host {
    char *host; /* a name, or a numeric address (IPv6 without brackets) */
    uint16_t port;
};

/* redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]  unix://[USER[:PASSWORD]@]/PATH[?db=N]
 * sentinel://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/MASTER[/DB]]
 * Percent-encoding in user, password, path and master name. */
struct redis_url {
    enum redis_scheme scheme;
    struct redis_host hosts[MAX_SENTINELS]; /* TCP: one */
    size_t n_hosts;
    char *path; /* of the Unix socket */
    char *master; /* Sentinel */
    char *user, *password; /* or NULL */
    uint32_t db;
};

/* NULL, or what is wrong (static text). redis_url_deinit() in any case. */
const char *redis_url_parse(const char *text, struct redis_url *url);
void redis_url_deinit(struct redis_url *url);

struct database {
    char *name; /* "default" for [redis] */
    char *url_text; /* as given; it may hold a password: never print it */
    struct redis_url url;
    char *password_file; /* one line; read anew at each connect; or NULL. "credential:NAME" is
                            $CREDENTIALS_DIRECTORY/NAME */
    char *sentinel_password_file; /* or NULL */
    char *prefix; /* of all keys and channels: its hash tag */
    nanoseconds ttl;
    nanoseconds failover_lag;
    uint64_t generation; /* which file is newer */
};

#endif
