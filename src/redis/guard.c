#include "redis/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_MAJOR = 6, MIN_MINOR = 2 };

/* The value of "key:value" at the beginning of a line. False, and "", if there is none. */
static bool info_value(const char *info, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    value[0] = '\0';
    for (const char *line = info; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            line += length + 1;
            say(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
            return true;
        }
    }
    return false;
}

static unsigned long info_number(const char *info, const char *key)
{
    char value[32];
    return info_value(info, key, value, sizeof value) ? strtoul(value, NULL, 10) : 0;
}

/* ---- reasons to refuse; each writes the sentence, or leaves it empty ---- */

static void refuse_unknown(struct guard *guard, const char *info)
{
    if (!info_value(info, "run_id", guard->run_id, sizeof guard->run_id)) {
        say(guard->refusal, sizeof guard->refusal, "its INFO has no run_id: is this a Redis?");
    }
}

static void refuse_old(struct guard *guard, const char *info)
{
    char value[32], *end;
    info_value(info, "redis_version", value, sizeof value);
    unsigned long major = strtoul(value, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    if (major < MIN_MAJOR || (major == MIN_MAJOR && minor < MIN_MINOR)) {
        say(guard->refusal, sizeof guard->refusal, "its version is %s; %d.%d or later is needed",
            value[0] ? value : "unknown", MIN_MAJOR, MIN_MINOR);
    }
}

static void refuse_cluster(struct guard *guard, const char *info)
{
    char mode[32];
    info_value(info, "redis_mode", mode, sizeof mode);
    if (info_number(info, "cluster_enabled") || strcmp(mode, "cluster") == 0) {
        say(guard->refusal, sizeof guard->refusal, "it is a node of a Redis Cluster");
    }
}

/* Refuses KeyDB's "active-replica" too: with several masters no limit holds. */
static void refuse_role(struct guard *guard, const char *info)
{
    char role[32];
    info_value(info, "role", role, sizeof role);
    if (strcmp(role, "slave") == 0) {
        say(guard->refusal, sizeof guard->refusal, "it is a replica, not the master");
    } else if (strcmp(role, "master") != 0) {
        say(guard->refusal, sizeof guard->refusal, "its role is \"%s\", not master", role);
    }
}

/* No key has a time to live, so volatile-* leaves them alone. */
static void refuse_eviction(struct guard *guard, const char *info)
{
    char policy[32];
    bool is_known = info_value(info, "maxmemory_policy", policy, sizeof policy);
    bool evicts =
        is_known && strcmp(policy, "noeviction") != 0 && strncmp(policy, "volatile-", 9) != 0;
    if (evicts && info_number(info, "maxmemory") > 0) {
        say(guard->refusal, sizeof guard->refusal,
            "its maxmemory-policy is %s: it would forget leases; noeviction is needed", policy);
    }
}

static void (*const refusals[])(struct guard *guard, const char *info) = {
    refuse_unknown,
    refuse_old,
    refuse_cluster,
    refuse_role,
    refuse_eviction,
};

/* ---- reasons to warn ---- */

/* INFO has min_slaves_good_slaves only if both settings are set. */
static void warn_of_replicas(struct guard *guard, const char *info, bool may_fail_over)
{
    char value[32];
    bool has_replicas = info_number(info, "connected_slaves") > 0;
    if ((has_replicas || may_fail_over) &&
        !info_value(info, "min_slaves_good_slaves", value, sizeof value)) {
        say(guard->warning, sizeof guard->warning,
            "it may fail over, but has no min-replicas-to-write: a master that is cut off would "
            "keep "
            "granting");
    }
}

static void note_version(struct guard *guard, const char *info)
{
    char value[24];
    if (info_value(info, "valkey_version", value, sizeof value)) {
        say(guard->version, sizeof guard->version, "Valkey %s", value);
    } else if (info_value(info, "redis_version", value, sizeof value)) {
        say(guard->version, sizeof guard->version, "%s", value);
    }
}

void guard_judge(struct guard *guard, const char *info, bool may_fail_over)
{
    memset(guard, 0, sizeof *guard);
    note_version(guard, info);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0] && !guard->refusal[0]; i++) {
        refusals[i](guard, info);
    }
    warn_of_replicas(guard, info, may_fail_over);
}
