/* database.h - one [redis NAME] section: a Redis that grants the leases of fleet-scope resources.
 * Made by conf/; read-only for all others. */
#pragma once

#include "base/faults.h"
#include "core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum redis_scheme { REDIS_TCP, REDIS_UNIX, REDIS_SENTINEL };

enum { MAX_HOSTS = 16 };

struct redis_host {
    char *host; /* a name, or a numeric address (IPv6 without brackets) */
    uint16_t port;
};

/* The parts of a url (conf/redis_url.h). */
struct redis_url {
    enum redis_scheme scheme;
    struct redis_host hosts[MAX_HOSTS]; /* TCP: one, or nodes of a cluster */
    size_t n_hosts;
    char *path; /* of the Unix socket */
    char *master; /* Sentinel */
    char *user, *password; /* or NULL */
    uint32_t db;
    bool is_tls; /* of all connections, those to Sentinels too */
};

enum tls_min_version { TLS_MIN_1_2, TLS_MIN_1_3 };

struct database {
    char *name; /* "default" for [redis] */
    char *url_text; /* as given; it may hold a password: never print it */
    struct redis_url url;
    /* With a url that asks for TLS; the files are PEM, and read again at each reload. */
    char *ca_file; /* or NULL: whom the system trusts; these three may be "credential:NAME" */
    char *cert_file, *key_file; /* who we are; or NULL, both of them */
    char *server_name; /* that servers' and Sentinels' certificates are for; NULL: their hosts' */
    enum tls_min_version tls_min_version;
    char *password_file; /* one line; read again at each connect; or NULL. "credential:NAME" is
                            $CREDENTIALS_DIRECTORY/NAME */
    char *sentinel_user, *sentinel_password_file; /* or NULL */
    fault_set acknowledged; /* the server is used in spite of these */
    char *prefix; /* of all keys and channels: the hash tag */
    bool is_cluster; /* url.hosts are nodes of a Redis Cluster */
    nanoseconds ttl;
    nanoseconds failover_lag;
    uint32_t history; /* leases and waits that are over, about; 0: none */
    uint64_t generation; /* the file with the larger one is newer */
};
