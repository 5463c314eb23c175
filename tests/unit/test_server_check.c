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
static void judge_info(const char *info)
{
    memset(&facts, 0, sizeof facts);
    facts_read_info(&facts, info);
    server_check_identity(&guard, &question);
    if (!guard.refusal[0]) {
        server_check_settings(&guard, &question);
    }
}

/* With these lines put in place of those of the same keys. */
static void judge(const char *lines)
{
    char info[1024], given[512], key[64], *out = info;
    snprintf(given, sizeof given, "\n%s", lines);
    for (const char *old = plain; *old; old += strcspn(old, "\n") + 1) {
        snprintf(key, sizeof key, "\n%.*s", (int)strcspn(old, ":\r") + 1, old);
        if (!strstr(given, key)) {
            out += sprintf(out, "%.*s", (int)strcspn(old, "\n") + 1, old);
        }
    }
    sprintf(out, "%s\r\n", lines);
    judge_info(info);
}

static void require_refusal(const char *of, const char *part)
{
    cr_assert(strstr(guard.refusal, part), "%s: \"%s\"", of, guard.refusal);
}

static void expect_refused(const char *lines, const char *part)
{
    judge(lines);
    require_refusal(lines, part);
}

static void expect_info_refused(const char *info, const char *part)
{
    judge_info(info);
    require_refusal(info, part);
}

/* Usable, with this in its warning; "": with none. */
static void require_good(const char *of, const char *warning)
{
    cr_assert_str_empty(guard.refusal, "%s: %s", of, guard.refusal);
    cr_assert(warning[0] ? strstr(guard.warning, warning) != NULL : guard.warning[0] == '\0',
        "%s: \"%s\"", of, guard.warning);
}

static void expect_good(const char *lines, const char *warning)
{
    judge(lines);
    require_good(lines, warning);
}

static void expect_info_good(const char *info, const char *warning)
{
    judge_info(info);
    require_good(info, warning);
}

Test(guard, a_plain_server)
{
    expect_info_good(plain, "");
    cr_assert_str_eq(guard.run_id, "5d2c5a1e3a5f0f6f0f6f0f6f0f6f0f6f0f6f0f6f");
    cr_assert_str_eq(guard.version, "7.0.15");
}

Test(guard, something_else)
{
    expect_info_refused("", "run_id");
    expect_info_refused("run_id", "run_id");
    expect_info_refused("xrun_id:1\r\n\n\n:\n", "run_id");
}

Test(guard, versions)
{
    expect_refused("redis_version:6.2.14", "its version is 6.2.14; Redis 7 or later is needed");
    expect_refused("redis_version:", "unknown");
    expect_refused("redis_version:x", "x");
    expect_good("redis_version:7.0.0", "");
    expect_good("redis_version:10.0.1", "");
    judge("valkey_version:8.0.1");
    cr_assert_str_eq(guard.version, "Valkey 8.0.1");
}

Test(guard, several_masters)
{
    expect_refused("redis_mode:cluster", "Cluster");
    expect_refused("cluster_enabled:1", "Cluster");
    expect_good("cluster_enabled:0", "");
    expect_refused("role:slave", "a replica");
    expect_refused("role:active-replica", "active-replica");
    expect_refused("role:", "\"\"");
}

Test(guard, clusters)
{
    question.is_cluster = question.may_fail_over = true;
    expect_good("redis_mode:cluster\r\nconnected_slaves:1", "");
    question.may_fail_over = false;
    expect_info_refused(plain, "not a node of a Redis Cluster");
}

Test(guard, eviction)
{
    static const char *const policies[] = {
        "allkeys-lru", "allkeys-lfu", "allkeys-random", "eviction"};
    static const char *const fine[] = {
        "noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"};
    char lines[256];
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        sprintf(lines, "maxmemory_policy:%s", policies[i]);
        expect_good(lines, ""); /* without a bound nothing is evicted */
        strcat(lines, "\r\nmaxmemory:1000000");
        expect_refused(lines, policies[i]);
    }
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        sprintf(lines, "maxmemory:1000000\r\nmaxmemory_policy:%s", fine[i]);
        expect_good(lines, "");
    }
}

Test(guard, replicas)
{
    expect_good("connected_slaves:1", "min-replicas-to-write");
    expect_good("connected_slaves:1\r\nmin_slaves_good_slaves:1", "");
    question.may_fail_over = true;
    expect_good("connected_slaves:0", "min-replicas-to-write");
    expect_good("min_slaves_good_slaves:0", "");
}

Test(guard, words_of_others)
{
    expect_refused("role:\x1b[31m", "\"?[31m\"");
    char line[400] = "run_id:";
    memset(line + 7, 'x', 300);
    judge(line);
    cr_assert_eq(strlen(guard.run_id), sizeof guard.run_id - 1);
}

/* ---- where not all is known ---- */

static void lack(enum ability ability)
{
    abilities.states[ability] = ABILITY_LACKING;
}

Test(guard, scripts_without_info)
{
    lack(ABILITY_script_info);
    expect_info_refused(plain, "INFO in scripts");
    require_refusal(plain, "acknowledge = no-info");
    question.acknowledged = 1U << FAULT_eviction; /* another word does not count */
    expect_info_refused(plain, "INFO in scripts");
    question.acknowledged = 1U << FAULT_no_info;
    expect_info_good(plain, "INFO in scripts");
    require_good(plain, "(acknowledged: no-info)");
}

Test(guard, without_info_at_all)
{
    lack(ABILITY_info);
    expect_info_refused("", "acknowledge = no-info");
    require_refusal("", "acknowledge = eviction");
    question.acknowledged = 1U << FAULT_no_info;
    judge_info("maxmemory_policy:noeviction\r\n");
    cr_assert_str_empty(guard.refusal, "%s", guard.refusal);
    cr_assert_str_empty(guard.run_id);
    expect_info_refused("maxmemory_policy:noeviction\r\nrole:slave\r\n", "a replica");
    expect_info_refused("maxmemory_policy:noeviction\r\nredis_version:6.0.0\r\n", "6.0.0");
    expect_info_refused("maxmemory_policy:noeviction\r\nredis_mode:cluster\r\n", "Cluster");
}

Test(guard, eviction_acknowledged)
{
    question.acknowledged = 1U << FAULT_eviction;
    expect_good("maxmemory:1\r\nmaxmemory_policy:allkeys-lru", "allkeys-lru");
    expect_info_good("run_id:a\r\nredis_version:7.0.0\r\nrole:master\r\n", "unknown");
}

static void set_fact(enum fact fact, const char *value)
{
    facts.is_known[fact] = true;
    snprintf(facts.values[fact], FACT_BYTES, "%s", value);
}

static void expect_saving(const char *save, const char *stop, const char *warning)
{
    memset(&facts, 0, sizeof facts);
    set_fact(FACT_save, save);
    set_fact(FACT_stop_writes, stop);
    facts_read_info(&facts, plain);
    server_check_identity(&guard, &question);
    server_check_settings(&guard, &question);
    require_good(save, warning);
}

Test(guard, persistence)
{
    expect_saving("", "yes", "");
    expect_saving("3600 1", "no", "");
    expect_saving("3600 1", "yes", "stop-writes-on-bgsave-error");
    question.acknowledged = 1U << FAULT_persistence;
    expect_saving("3600 1", "yes", "(acknowledged: persistence)");
    expect_good("rdb_last_bgsave_status:err", "last RDB");
    expect_good("rdb_last_bgsave_status:ok", "");
}
