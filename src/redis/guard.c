#include "redis/guard.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_VERSION = 7 };

static const char *fact(const struct guard_question *question, enum fact which)
{
    return fact_of(question->facts, which);
}

static unsigned long fact_number(const struct guard_question *question, enum fact which)
{
    const char *value = fact(question, which);
    return value ? strtoul(value, NULL, 10) : 0;
}

static bool fact_is(const struct guard_question *question, enum fact which, const char *text)
{
    const char *value = fact(question, which);
    return value && strcmp(value, text) == 0;
}

/* INFO is not allowed: what it would have said may be unknown. */
static bool is_blind(const struct guard_question *question)
{
    return abilities_lack(question->abilities, ABILITY_info);
}

/* ---- reasons to refuse; each writes the sentence, or leaves it empty ---- */

static void refuse_unknown(struct guard *guard, const struct guard_question *question)
{
    const char *run_id = fact(question, FACT_run_id);
    if (run_id) {
        say(guard->run_id, sizeof guard->run_id, "%s", run_id);
    } else if (!is_blind(question)) {
        say(guard->refusal, sizeof guard->refusal, "its INFO has no run_id: is this a Redis?");
    }
}

static void refuse_old(struct guard *guard, const struct guard_question *question)
{
    const char *version = fact(question, FACT_redis_version);
    if (!version && is_blind(question)) {
        return;
    }
    version = version ? version : "";
    if (strtoul(version, NULL, 10) < MIN_VERSION) {
        say(guard->refusal, sizeof guard->refusal, "its version is %s; Redis %d or later is needed",
            version[0] ? version : "unknown", MIN_VERSION);
    }
}

static void refuse_cluster(struct guard *guard, const struct guard_question *question)
{
    bool is_node =
        fact_number(question, FACT_cluster_enabled) || fact_is(question, FACT_mode, "cluster");
    bool is_known = fact(question, FACT_cluster_enabled) || fact(question, FACT_mode);
    if (is_node && !question->is_cluster) {
        say(guard->refusal, sizeof guard->refusal,
            "it is a node of a Redis Cluster: set cluster = yes");
    } else if (is_known && !is_node && question->is_cluster) {
        say(guard->refusal, sizeof guard->refusal,
            "it is not a node of a Redis Cluster, but cluster = yes says so");
    }
}

/* Refuses KeyDB's "active-replica" too: with several masters no limit holds. */
static void refuse_role(struct guard *guard, const struct guard_question *question)
{
    const char *role = fact(question, FACT_role);
    if (!role && is_blind(question)) {
        return;
    }
    role = role ? role : "";
    if (strcmp(role, "slave") == 0) {
        say(guard->refusal, sizeof guard->refusal, "it is a replica, not the master");
    } else if (strcmp(role, "master") != 0) {
        say(guard->refusal, sizeof guard->refusal, "its role is \"%s\", not master", role);
    }
}

static void (*const refusals[])(struct guard *guard, const struct guard_question *question) = {
    refuse_unknown,
    refuse_old,
    refuse_cluster,
    refuse_role,
};

static void note_version(struct guard *guard, const struct guard_question *question)
{
    const char *valkey = fact(question, FACT_valkey_version);
    const char *redis = fact(question, FACT_redis_version);
    if (valkey) {
        say(guard->version, sizeof guard->version, "Valkey %.23s", valkey);
    } else if (redis) {
        say(guard->version, sizeof guard->version, "%.23s", redis);
    }
}

void guard_judge(struct guard *guard, const struct guard_question *question)
{
    memset(guard, 0, sizeof *guard);
    note_version(guard, question);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0] && !guard->refusal[0]; i++) {
        refusals[i](guard, question);
    }
}

/* ---- faults; each writes what is wrong, or leaves it empty ---- */

static void find_no_info(char *out, size_t size, const struct guard_question *question)
{
    const char *what = abilities_lack(question->abilities, ABILITY_eval) ? "EVAL"
        : abilities_lack(question->abilities, ABILITY_script_info)       ? "INFO in scripts"
        : is_blind(question)                                             ? "INFO"
                                                                         : NULL;
    if (what) {
        say(out, size, "%s is not allowed: a failover to old data may go unnoticed", what);
    }
}

/* No key has a time to live, so volatile-* leaves them alone. */
static void find_eviction(char *out, size_t size, const struct guard_question *question)
{
    const char *policy = fact(question, FACT_maxmemory_policy);
    if (!policy) {
        say(out, size, "its maxmemory-policy is unknown: it may forget leases");
    } else if (strcmp(policy, "noeviction") != 0 && strncmp(policy, "volatile-", 9) != 0 &&
        !fact_is(question, FACT_maxmemory, "0")) {
        say(out, size, "its maxmemory-policy is %s: it would forget leases; noeviction is needed",
            policy);
    }
}

static void find_persistence(char *out, size_t size, const struct guard_question *question)
{
    bool is_known = fact(question, FACT_stop_writes) && fact(question, FACT_save);
    bool may_stop = is_known && !fact_is(question, FACT_stop_writes, "no") &&
        !fact_is(question, FACT_save, "");
    if (may_stop) {
        say(out, size,
            "it refuses all writes if it cannot save its RDB: set stop-writes-on-bgsave-error no");
    } else if (!is_known && fact_is(question, FACT_last_save, "err")) {
        say(out, size, "its last RDB could not be saved: it may refuse all writes");
    }
}

static void (*const findings[N_FAULTS])(
    char *out, size_t size, const struct guard_question *question) = {
    [FAULT_no_info] = find_no_info,
    [FAULT_eviction] = find_eviction,
    [FAULT_persistence] = find_persistence,
};

/* Adds a sentence to others, with "(NOTE WORD)" after it unless the note is "". */
static void add(char out[SAY_BYTES], const char *what, const char *note, const char *word)
{
    size_t n = strlen(out);
    const char *between = n > 0 ? "; " : "";
    if (note[0]) {
        say(out + n, SAY_BYTES - n, "%s%s (%s %s)", between, what, note, word);
    } else {
        say(out + n, SAY_BYTES - n, "%s%s", between, what);
    }
}

static void take_fault(struct guard *guard, enum fault fault, const char *what, fault_set known)
{
    guard->faults |= (fault_set)1 << fault;
    if (fault_is_in(known, fault)) {
        add(guard->warning, what, "acknowledged:", fault_words[fault]);
    } else if (fault_table[fault].is_refused) {
        add(guard->refusal, what, "or acknowledge =", fault_words[fault]);
    } else {
        add(guard->warning, what, "", "");
    }
}

/* INFO has min_slaves_good_slaves only if both settings are set. (In a cluster, a master that has
 * not heard from most of the others for the node timeout stops by itself.) */
static void warn_of_replicas(struct guard *guard, const struct guard_question *question)
{
    bool has_replicas = fact_number(question, FACT_connected_slaves) > 0;
    if ((has_replicas || question->may_fail_over) && !is_blind(question) && !question->is_cluster &&
        !fact(question, FACT_good_slaves)) {
        add(guard->warning,
            "it may fail over, but has no min-replicas-to-write: a master that is cut off would "
            "keep granting",
            "", "");
    }
}

void guard_weigh(struct guard *guard, const struct guard_question *question)
{
    for (enum fault i = 0; i < N_FAULTS; i++) {
        char what[SAY_BYTES] = "";
        findings[i](what, sizeof what, question);
        if (what[0]) {
            take_fault(guard, i, what, question->acknowledged);
        }
    }
    warn_of_replicas(guard, question);
}
