/* Which servers may keep leases, by their INFO. */
#include "redis/guard.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* As Redis 7.0 writes it, in part. */
static const char plain[] = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
                            "run_id:5d2c5a1e3a5f0f6f0f6f0f6f0f6f0f6f0f6f0f6f\r\n\r\n"
                            "# Memory\r\nused_memory:1000\r\nmaxmemory:0\r\n"
                            "maxmemory_human:0B\r\nmaxmemory_policy:noeviction\r\n\r\n"
                            "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";

static struct guard guard;

/* With the line of that key put in place of its own, or at the end. */
static void judge(const char *line, bool may_fail_over)
{
    char info[1024] = "", *out = info;
    size_t key = strcspn(line, ":") + 1;
    for (const char *old = plain; *old; old += strcspn(old, "\n") + 1) {
        if (strncmp(old, line, key) != 0) {
            out += sprintf(out, "%.*s", (int)strcspn(old, "\n") + 1, old);
        }
    }
    sprintf(out, "%s\r\n", line);
    guard_judge(&guard, info, may_fail_over);
}

static void expect_refused(const char *line, const char *part)
{
    judge(line, false);
    cr_assert(strstr(guard.refusal, part), "%s: \"%s\"", line, guard.refusal);
}

static void expect_good(const char *line)
{
    judge(line, false);
    cr_assert_str_empty(guard.refusal, "%s: %s", line, guard.refusal);
}

Test(guard, a_plain_server)
{
    guard_judge(&guard, plain, false);
    cr_assert_str_empty(guard.refusal);
    cr_assert_str_empty(guard.warning);
    cr_assert_str_eq(guard.run_id, "5d2c5a1e3a5f0f6f0f6f0f6f0f6f0f6f0f6f0f6f");
    cr_assert_str_eq(guard.version, "7.0.15");
}

Test(guard, something_else)
{
    guard_judge(&guard, "", false);
    cr_assert(strstr(guard.refusal, "run_id"));
    guard_judge(&guard, "run_id", false);
    cr_assert(strstr(guard.refusal, "run_id"));
    guard_judge(&guard, "xrun_id:1\r\n\n\n:\n", false);
    cr_assert(strstr(guard.refusal, "run_id"));
}

Test(guard, versions)
{
    expect_refused("redis_version:6.0.16", "6.0.16");
    expect_refused("redis_version:5.9.9", "5.9.9");
    expect_refused("redis_version:", "unknown");
    expect_refused("redis_version:x", "x");
    expect_good("redis_version:6.2.0");
    expect_good("redis_version:10.0.1");
    judge("valkey_version:8.0.1", false);
    cr_assert_str_eq(guard.version, "Valkey 8.0.1");
}

Test(guard, several_masters)
{
    expect_refused("redis_mode:cluster", "Cluster");
    expect_refused("cluster_enabled:1", "Cluster");
    expect_good("cluster_enabled:0");
    expect_refused("role:slave", "a replica");
    expect_refused("role:active-replica", "active-replica");
    expect_refused("role:", "\"\"");
}

Test(guard, eviction)
{
    static const char *const policies[] = {
        "allkeys-lru", "allkeys-lfu", "allkeys-random", "eviction"};
    static const char *const fine[] = {
        "noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"};
    char info[256];
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        sprintf(info, "maxmemory_policy:%s", policies[i]);
        expect_good(info); /* without a bound nothing is evicted */
        sprintf(info,
            "maxmemory:1000000\r\nredis_version:7.0.0\r\nrun_id:a\r\nrole:master\r\n"
            "maxmemory_policy:%s\r\n",
            policies[i]);
        guard_judge(&guard, info, false);
        cr_assert(strstr(guard.refusal, policies[i]), "%s", guard.refusal);
    }
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        sprintf(info,
            "maxmemory:1000000\r\nredis_version:7.0.0\r\nrun_id:a\r\nrole:master\r\n"
            "maxmemory_policy:%s\r\n",
            fine[i]);
        guard_judge(&guard, info, false);
        cr_assert_str_empty(guard.refusal, "%s", guard.refusal);
    }
}

Test(guard, replicas)
{
    judge("connected_slaves:1", false);
    cr_assert(strstr(guard.warning, "min-replicas-to-write"));
    cr_assert_str_empty(guard.refusal);
    judge("connected_slaves:1\r\nmin_slaves_good_slaves:1", false);
    cr_assert_str_empty(guard.warning);
    judge("connected_slaves:0", true);
    cr_assert(strstr(guard.warning, "min-replicas-to-write"));
    judge("min_slaves_good_slaves:0", true);
    cr_assert_str_empty(guard.warning);
}

Test(guard, words_of_others)
{
    expect_refused("role:\x1b[31m", "\"?[31m\"");
    char line[400] = "run_id:";
    memset(line + 7, 'x', 300);
    judge(line, false);
    cr_assert_eq(strlen(guard.run_id), sizeof guard.run_id - 1);
}
