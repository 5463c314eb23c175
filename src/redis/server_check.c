#include "redis/server_check.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_VERSION = 7 };

static const char *fact(const struct server_check_question *question, enum fact which)
{
    return fact_of(question->facts, which);
}

static unsigned long fact_number(const struct server_check_question *question, enum fact which)
{
    const char *value = fact(question, which);
    return value ? strtoul(value, NULL, 10) : 0;
}

static bool fact_is(const struct server_check_question *question, enum fact which, const char *text)
{
    const char *value = fact(question, which);
    return value && strcmp(value, text) == 0;
}

/* INFO is not allowed: what it would have said may be unknown. */
static bool is_blind(const struct server_check_question *question)
{
    return abilities_lack(question->abilities, ABILITY_info);
}

/* ---- reasons to refuse; each writes the sentence, or leaves it empty ---- */

static void refuse_unknown(struct server_check *check, const struct server_check_question *question)
{
    const char *run_id = fact(question, FACT_run_id);
    if (run_id) {
        format_one_line(check->run_id, sizeof check->run_id, "%s", run_id);
    } else if (!is_blind(question)) {
        format_one_line(
            check->refusal, sizeof check->refusal, "its INFO has no run_id: is this a Redis?");
    }
}

static void refuse_old(struct server_check *check, const struct server_check_question *question)
{
    const char *version = fact(question, FACT_redis_version);
    if (!version && is_blind(question)) {
        return;
    }
    version = version ? version : "";
    if (strtoul(version, NULL, 10) < MIN_VERSION) {
        format_one_line(check->refusal, sizeof check->refusal,
            "its version is %s; Redis %d or later is needed", version[0] ? version : "unknown",
            MIN_VERSION);
    }
}

static void refuse_cluster(struct server_check *check, const struct server_check_question *question)
{
    bool is_node =
        fact_number(question, FACT_cluster_enabled) || fact_is(question, FACT_mode, "cluster");
    bool is_known = fact(question, FACT_cluster_enabled) || fact(question, FACT_mode);
    if (is_node && !question->is_cluster) {
        format_one_line(check->refusal, sizeof check->refusal,
            "it is a node of a Redis Cluster: set cluster = yes");
    } else if (is_known && !is_node && question->is_cluster) {
        format_one_line(check->refusal, sizeof check->refusal,
            "it is not a node of a Redis Cluster, but cluster = yes says so");
    }
}

/* Refuses KeyDB's "active-replica" too: with several masters no limit holds. */
static void refuse_role(struct server_check *check, const struct server_check_question *question)
{
    const char *role = fact(question, FACT_role);
    if (!role && is_blind(question)) {
        return;
    }
    role = role ? role : "";
    if (strcmp(role, "slave") == 0) {
        format_one_line(check->refusal, sizeof check->refusal, "it is a replica, not the master");
    } else if (strcmp(role, "master") != 0) {
        format_one_line(
            check->refusal, sizeof check->refusal, "its role is \"%s\", not master", role);
    }
}

static void (*const refusals[])(
    struct server_check *check, const struct server_check_question *question) = {
    refuse_unknown,
    refuse_old,
    refuse_cluster,
    refuse_role,
};

static void note_version(struct server_check *check, const struct server_check_question *question)
{
    const char *valkey = fact(question, FACT_valkey_version);
    const char *redis = fact(question, FACT_redis_version);
    if (valkey) {
        format_one_line(check->version, sizeof check->version, "Valkey %.23s", valkey);
    } else if (redis) {
        format_one_line(check->version, sizeof check->version, "%.23s", redis);
    }
}

void server_check_identity(struct server_check *check, const struct server_check_question *question)
{
    memset(check, 0, sizeof *check);
    note_version(check, question);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0] && !check->refusal[0]; i++) {
        refusals[i](check, question);
    }
}

/* ---- faults; each writes what is wrong, or leaves it empty ---- */

static void find_no_info(char *out, size_t size, const struct server_check_question *question)
{
    const char *what = abilities_lack(question->abilities, ABILITY_eval) ? "EVAL"
        : abilities_lack(question->abilities, ABILITY_script_info)       ? "INFO in scripts"
        : is_blind(question)                                             ? "INFO"
                                                                         : NULL;
    if (what) {
        format_one_line(
            out, size, "%s is not allowed: a failover to old data may go unnoticed", what);
    }
}

/* No key has a time to live, so volatile-* leaves them alone. */
static void find_eviction(char *out, size_t size, const struct server_check_question *question)
{
    const char *policy = fact(question, FACT_maxmemory_policy);
    if (!policy) {
        format_one_line(out, size, "its maxmemory-policy is unknown: it may forget leases");
    } else if (strcmp(policy, "noeviction") != 0 && strncmp(policy, "volatile-", 9) != 0 &&
        !fact_is(question, FACT_maxmemory, "0")) {
        format_one_line(out, size,
            "its maxmemory-policy is %s: it would forget leases; noeviction is needed", policy);
    }
}

static void find_persistence(char *out, size_t size, const struct server_check_question *question)
{
    bool is_known = fact(question, FACT_stop_writes) && fact(question, FACT_save);
    bool may_stop = is_known && !fact_is(question, FACT_stop_writes, "no") &&
        !fact_is(question, FACT_save, "");
    if (may_stop) {
        format_one_line(out, size,
            "it refuses all writes if it cannot save its RDB: set stop-writes-on-bgsave-error no");
    } else if (!is_known && fact_is(question, FACT_last_save, "err")) {
        format_one_line(out, size, "its last RDB could not be saved: it may refuse all writes");
    }
}

static void (*const findings[N_FAULTS])(
    char *out, size_t size, const struct server_check_question *question) = {
    [FAULT_no_info] = find_no_info,
    [FAULT_eviction] = find_eviction,
    [FAULT_persistence] = find_persistence,
};

/* Adds a sentence to others, with "(NOTE WORD)" after it unless the note is "". */
static void server_check_add(
    char out[ONE_LINE_BYTES], const char *what, const char *note, const char *word)
{
    size_t n = strlen(out);
    const char *between = n > 0 ? "; " : "";
    if (note[0]) {
        format_one_line(out + n, ONE_LINE_BYTES - n, "%s%s (%s %s)", between, what, note, word);
    } else {
        format_one_line(out + n, ONE_LINE_BYTES - n, "%s%s", between, what);
    }
}

static void take_fault(
    struct server_check *check, enum fault fault, const char *what, fault_set known)
{
    if (fault_is_in(known, fault)) {
        server_check_add(check->warning, what, "acknowledged:", fault_words[fault]);
    } else if (fault_table[fault].is_refused) {
        server_check_add(check->refusal, what, "or acknowledge =", fault_words[fault]);
    } else {
        server_check_add(check->warning, what, "", "");
    }
}

/* INFO has min_slaves_good_slaves only if both settings are set. (In a cluster, a master that has
 * not heard from most of the others for the node timeout stops by itself.) */
static void warn_of_replicas(
    struct server_check *check, const struct server_check_question *question)
{
    bool has_replicas = fact_number(question, FACT_connected_slaves) > 0;
    if ((has_replicas || question->may_fail_over) && !is_blind(question) && !question->is_cluster &&
        !fact(question, FACT_good_slaves)) {
        server_check_add(check->warning,
            "it may fail over, but has no min-replicas-to-write: a master that is cut off would "
            "keep granting",
            "", "");
    }
}

void server_check_settings(struct server_check *check, const struct server_check_question *question)
{
    for (enum fault i = 0; i < N_FAULTS; i++) {
        char what[ONE_LINE_BYTES] = "";
        findings[i](what, sizeof what, question);
        if (what[0]) {
            take_fault(check, i, what, question->acknowledged);
        }
    }
    warn_of_replicas(check, question);
}

/* ---- an error of a write ---- */

static const struct {
    const char *error, *meaning;
} refusals_to_write[] = {
    {"OOM ", "it is at its maxmemory, and new requests would fail"},
    {"MISCONF ", "it cannot save its data, and refuses all writes"},
    {"NOREPLICAS ", "it has too few replicas, and refuses all writes"},
};

const char *server_check_unwritable(const char *error)
{
    for (size_t i = 0; i < sizeof refusals_to_write / sizeof refusals_to_write[0]; i++) {
        const char *begin = refusals_to_write[i].error;
        if (strncmp(error, begin, strlen(begin)) == 0) {
            return refusals_to_write[i].meaning;
        }
    }
    return NULL;
}
