/* Which servers may keep leases, by their INFO. */
#include "redis/server_check.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* As Redis 7.0 writes it, in part. */
static const char plain[] = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
                            "run_id:5d2c5a1e3a5f0f6f0f6f0f6f0f6f0f6f0f6f0f6f\r\n\r\n"
                            "# Memory\r\nused_memory:1000\r\nmaxmemory:0\r\n"
                            "maxmemory_human:0B\r\nmaxmemory_policy:noeviction\r\n\r\n"
                            "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";

static struct server_check guard;
static struct facts facts;
static struct abilities abilities;
static struct server_check_question question = {.facts = &facts, .abilities = &abilities};

/* By all that the server says. */
static void judge_info(const char *info, bool may_fail_over)
{
    memset(&facts, 0, sizeof facts);
    facts_read_info(&facts, info);
    question.may_fail_over = may_fail_over;
    server_check_identity(&guard, &question);
    if (!guard.refusal[0]) {
        server_check_settings(&guard, &question);
    }
}

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
    judge_info(info, may_fail_over);
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
    judge_info(plain, false);
    cr_assert_str_empty(guard.refusal);
    cr_assert_str_empty(guard.warning);
    cr_assert_str_eq(guard.run_id, "5d2c5a1e3a5f0f6f0f6f0f6f0f6f0f6f0f6f0f6f");
    cr_assert_str_eq(guard.version, "7.0.15");
}

Test(guard, something_else)
{
    judge_info("", false);
    cr_assert(strstr(guard.refusal, "run_id"));
    judge_info("run_id", false);
    cr_assert(strstr(guard.refusal, "run_id"));
    judge_info("xrun_id:1\r\n\n\n:\n", false);
    cr_assert(strstr(guard.refusal, "run_id"));
}

Test(guard, versions)
{
    expect_refused("redis_version:6.2.14", "its version is 6.2.14; Redis 7 or later is needed");
    expect_refused("redis_version:", "unknown");
    expect_refused("redis_version:x", "x");
    expect_good("redis_version:7.0.0");
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

Test(guard, clusters)
{
    static const char node[] = "redis_version:7.0.15\r\nrun_id:a\r\nrole:master\r\n"
                               "redis_mode:cluster\r\nconnected_slaves:1\r\n"
                               "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
    question.is_cluster = true;
    judge_info(node, true);
    cr_assert_str_empty(guard.refusal);
    cr_assert_str_empty(guard.warning);
    judge_info(plain, false);
    cr_assert(strstr(guard.refusal, "not a node of a Redis Cluster"), "%s", guard.refusal);
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
        judge_info(info, false);
        cr_assert(strstr(guard.refusal, policies[i]), "%s", guard.refusal);
    }
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        sprintf(info,
            "maxmemory:1000000\r\nredis_version:7.0.0\r\nrun_id:a\r\nrole:master\r\n"
            "maxmemory_policy:%s\r\n",
            fine[i]);
        judge_info(info, false);
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

/* ---- where not all is known ---- */

static void acknowledge(fault_set set)
{
    question.acknowledged = set;
    judge_info(plain, false);
}

static void lack(enum ability ability)
{
    abilities.states[ability] = ABILITY_LACKING;
}

Test(guard, scripts_without_info)
{
    lack(ABILITY_script_info);
    acknowledge(0);
    cr_assert(strstr(guard.refusal, "INFO in scripts"), "%s", guard.refusal);
    cr_assert(strstr(guard.refusal, "acknowledge = no-info"), "%s", guard.refusal);
    cr_assert_eq(guard.faults, 1U << FAULT_no_info);
    acknowledge(1U << FAULT_eviction);
    cr_assert(strstr(guard.refusal, "INFO in scripts"), "another word does not count");
    acknowledge(1U << FAULT_no_info);
    cr_assert_str_empty(guard.refusal);
    cr_assert(strstr(guard.warning, "INFO in scripts"), "%s", guard.warning);
    cr_assert(strstr(guard.warning, "(acknowledged: no-info)"), "%s", guard.warning);
}

Test(guard, without_info_at_all)
{
    lack(ABILITY_info);
    judge_info("", false);
    cr_assert(strstr(guard.refusal, "acknowledge = no-info"), "%s", guard.refusal);
    cr_assert(strstr(guard.refusal, "acknowledge = eviction"), "%s", guard.refusal);
    question.acknowledged = 1U << FAULT_no_info;
    judge_info("maxmemory_policy:noeviction\r\n", false);
    cr_assert_str_empty(guard.refusal, "%s", guard.refusal);
    cr_assert_str_empty(guard.run_id);
    judge_info("maxmemory_policy:noeviction\r\nrole:slave\r\n", false);
    cr_assert(strstr(guard.refusal, "a replica"), "%s", guard.refusal);
    judge_info("maxmemory_policy:noeviction\r\nredis_version:6.0.0\r\n", false);
    cr_assert(strstr(guard.refusal, "6.0.0"), "%s", guard.refusal);
    judge_info("maxmemory_policy:noeviction\r\nredis_mode:cluster\r\n", false);
    cr_assert(strstr(guard.refusal, "Cluster"), "%s", guard.refusal);
}

Test(guard, eviction_acknowledged)
{
    question.acknowledged = 1U << FAULT_eviction;
    judge_info("run_id:a\r\nredis_version:7.0.0\r\nrole:master\r\nmaxmemory:1\r\n"
               "maxmemory_policy:allkeys-lru\r\n",
        false);
    cr_assert_str_empty(guard.refusal, "%s", guard.refusal);
    cr_assert(strstr(guard.warning, "allkeys-lru"), "%s", guard.warning);
    judge_info("run_id:a\r\nredis_version:7.0.0\r\nrole:master\r\n", false);
    cr_assert(strstr(guard.warning, "unknown"), "%s", guard.warning);
}

static void set_saving(const char *save, const char *stop)
{
    memset(&facts, 0, sizeof facts);
    facts_set(&facts, FACT_save, save);
    facts_set(&facts, FACT_stop_writes, stop);
    facts_read_info(&facts, plain);
    server_check_identity(&guard, &question);
    server_check_settings(&guard, &question);
}

Test(guard, persistence)
{
    set_saving("", "yes");
    cr_assert_str_empty(guard.warning);
    set_saving("3600 1", "no");
    cr_assert_str_empty(guard.warning);
    set_saving("3600 1", "yes");
    cr_assert(strstr(guard.warning, "stop-writes-on-bgsave-error"), "%s", guard.warning);
    cr_assert_str_empty(guard.refusal);
    question.acknowledged = 1U << FAULT_persistence;
    set_saving("3600 1", "yes");
    cr_assert(strstr(guard.warning, "(acknowledged: persistence)"), "%s", guard.warning);
    judge("rdb_last_bgsave_status:err", false);
    cr_assert(strstr(guard.warning, "last RDB"), "%s", guard.warning);
    judge("rdb_last_bgsave_status:ok", false);
    cr_assert_str_empty(guard.warning);
}
