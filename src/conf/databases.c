#include "conf/databases.h"
#include "config.h"

#include "base/closest_match.h"
#include "base/memory.h"
#include "base/words.h"
#include "conf/sections.h"
#include "core/timing.h"

#include <stdlib.h>
#include <string.h>

#define MILLISECOND INT64_C(1000000)
#define STEP (100 * MILLISECOND) /* for the kill-after that messages advise */
#define DEFAULT_KILL_AFTER (10 * NANOSECONDS_PER_SECOND)

/* ---- sections ---- */

static bool has_name_that_is_free(struct loading *loading, const char *name)
{
    const struct section *section = &loading->section;
    if (!database_name_is_valid(name)) {
        section_complain(loading, section->place.line, NULL,
            "not a valid name: 1 to %d bytes of A-Z a-z 0-9 . _ @ + -, beginning with a letter or "
            "digit",
            NAME_BYTES);
        return false;
    }
    const struct database *first = database_find(loading->conf, name);
    if (first) {
        section_complain_of_repetition(loading,
            loading->database_places[first - loading->conf->databases].header, "this database");
    }
    return !first;
}

void database_open(struct loading *loading, const char *name)
{
    struct section *section = &loading->section;
    struct conf *conf = loading->conf;
    name = name ? name : DEFAULT_DATABASE;
    section->state = SECTION_SKIPPED;
    if (!has_name_that_is_free(loading, name)) {
        return;
    }
    if (conf->n_databases == MAX_DATABASES) {
        section_complain(loading, section->place.line, NULL,
            "there are more than %d sections of this kind", MAX_DATABASES);
        return;
    }
    section->state = SECTION_OPEN;
    loading->database_places[conf->n_databases].header = section->place;
    conf->databases = memory_grow(conf->databases, conf->n_databases, sizeof *conf->databases);
    struct database *database = &conf->databases[conf->n_databases++];
    *database = (struct database){.name = memory_string(name)};
    section_set_defaults(section->kind, database);
    section->object = database;
}

static struct place place_of_key(const struct loading *loading, enum key_id key)
{
    return (struct place){.file = loading->section.place.file, .line = loading->section.lines[key]};
}

#ifdef HAVE_OPENSSL
static const bool knows_tls = true;
#else
static const bool knows_tls = false;
#endif

static void check_tls(struct loading *loading, const struct database *database)
{
    static const enum key_id keys[] = {
        KEY_ca_file, KEY_cert_file, KEY_key_file, KEY_server_name, KEY_tls_min_version};
    const uint32_t *lines = loading->section.lines;
    for (size_t i = 0; !database->url.is_tls && i < sizeof keys / sizeof keys[0]; i++) {
        if (lines[keys[i]] != 0) {
            KEY_COMPLAIN(loading, keys[i], "is only for a url of rediss:// or sentinels://");
        }
    }
    if (database->url.is_tls && !knows_tls) {
        KEY_COMPLAIN(loading, KEY_url, "this berthd was built without TLS");
    }
    if (!database->cert_file != !database->key_file) {
        enum key_id given = database->cert_file ? KEY_cert_file : KEY_key_file;
        KEY_COMPLAIN(loading, given, "needs %s as well",
            key_table[database->cert_file ? KEY_key_file : KEY_cert_file].word);
    }
}

/* A node's own socket would be of no use when another node owns the slot. */
static void check_cluster(struct loading *loading, const struct database *database)
{
    const struct redis_url *url = &database->url;
    if (!database->is_cluster && url->scheme == REDIS_TCP && url->n_hosts > 1) {
        KEY_COMPLAIN(loading, KEY_url,
            "has several hosts, which needs cluster = yes (or sentinel://, if they are sentinels)");
    } else if (database->is_cluster && url->scheme != REDIS_TCP) {
        KEY_COMPLAIN(loading, KEY_url,
            "with cluster = yes it is redis://HOST:PORT,HOST:PORT: some nodes of the cluster");
    } else if (database->is_cluster && url->db != 0) {
        KEY_COMPLAIN(loading, KEY_url,
            "a Redis Cluster has only database 0; give each database of Berth a prefix of its "
            "own");
    }
}

static void check_url(struct loading *loading, struct database *database)
{
    if (!database->url_text) {
        return;
    }
    const char *wrong = redis_url_parse(database->url_text, &database->url);
    if (wrong) {
        KEY_COMPLAIN(loading, KEY_url, "%s", wrong);
        return;
    }
    if (database->url.user && !database->url.password && !database->password_file) {
        KEY_COMPLAIN(loading, KEY_url, "has a user, but neither a password nor a password-file");
    }
    if (database->url.password && database->password_file) {
        KEY_COMPLAIN(loading, KEY_password_file, "the url has a password already");
    }
    if (database->sentinel_user && !database->sentinel_password_file) {
        KEY_COMPLAIN(loading, KEY_sentinel_user, "needs a sentinel-password-file");
    }
    check_cluster(loading, database);
    if (database->sentinel_password_file && database->url.scheme != REDIS_SENTINEL) {
        KEY_COMPLAIN(loading, KEY_sentinel_password_file,
            "is only for a url of sentinel:// or sentinels://");
    }
    check_tls(loading, database);
}

/* Two databases that write the same keys would mistake each other's data for their own. */
static void check_twins(struct loading *loading, const struct database *database)
{
    const struct conf *conf = loading->conf;
    for (const struct database *other = conf->databases; other < database; other++) {
        if (database->url_text && other->url_text &&
            strcmp(database->url_text, other->url_text) == 0 &&
            strcmp(database->prefix, other->prefix) == 0) {
            KEY_COMPLAIN(loading, KEY_url,
                "is the same as that of [redis%s%s], and so is the prefix: they would be one "
                "database",
                REDIS_NAME(other->name));
        }
    }
}

/* A master that is cut off must not end a session, renewed at the promoted replica, while it
 * accepts writes: doc/timing.md. */
static void check_lag(struct loading *loading, const struct database *database)
{
    enum key_id key = loading->section.lines[KEY_ttl] != 0 ? KEY_ttl : KEY_failover_lag;
    if (database->url_text && database->url.scheme == REDIS_SENTINEL &&
        database->failover_lag > database->ttl / 100 * 94) {
        KEY_COMPLAIN(loading, key,
            "failover-lag must be at most 0.94 ttl: raise the ttl, or lower failover-lag and the "
            "servers' min-replicas-max-lag");
    }
}

void database_close(struct loading *loading)
{
    struct database *database = loading->section.object;
    struct database_places *places = &loading->database_places[database - loading->conf->databases];
    places->url = place_of_key(loading, KEY_url);
    places->ttl = place_of_key(loading, KEY_ttl);
    check_url(loading, database);
    check_lag(loading, database);
    check_twins(loading, database);
}

/* ---- resources ---- */

void fleet_use_note(struct loading *loading)
{
    struct section *section = &loading->section;
    const struct definition *definition = section->object;
    enum key_id key = section->lines[KEY_redis] != 0 ? KEY_redis : KEY_scope;
    if (definition->order == ORDER_FIRST_FIT) {
        KEY_COMPLAIN(loading, KEY_order,
            "not in fleet scope yet: first-fit is for scope = host; a fleet's order is fifo or "
            "fair");
    }
    if (definition->n_items > MAX_FLEET_ITEMS) {
        KEY_COMPLAIN(loading, KEY_items,
            "has more than 5000 items, the most that a pool in fleet scope can have");
    }
    if (key == KEY_redis && !section->database) {
        return; /* its value was refused */
    }
    size_t n = loading->n_fleet_uses++;
    loading->fleet_uses = memory_grow(loading->fleet_uses, n, sizeof *loading->fleet_uses);
    loading->fleet_uses[n] = (struct fleet_use){
        .definition = loading->conf->n_definitions - 1,
        .section = memory_string(section->label),
        .database = memory_string(section->database ? section->database : DEFAULT_DATABASE),
        .key = key,
        .place = place_of_key(loading, key),
        .kill_after_line = section->lines[KEY_kill_after],
    };
}

void fleet_uses_deinit(struct loading *loading)
{
    for (size_t i = 0; i < loading->n_fleet_uses; i++) {
        free(loading->fleet_uses[i].section);
        free(loading->fleet_uses[i].database);
    }
    free(loading->fleet_uses);
}

#define complain_of_use(loading, use, ...)                                                         \
    complain(&(loading)->complaints, (use)->place, (use)->section, key_table[(use)->key].word,     \
        __VA_ARGS__)

static void complain_of_absence(struct loading *loading, const struct fleet_use *use)
{
    const struct conf *conf = loading->conf;
    struct closest_match nearest = CLOSEST_MATCH_INIT(use->database);
    for (size_t i = 0; i < conf->n_databases; i++) {
        closest_match_try(&nearest, conf->databases[i].name);
    }
    if (nearest.best) {
        complain_of_use(loading, use, "there is no section [redis%s%s]; did you mean [redis%s%s]?",
            REDIS_NAME(use->database), REDIS_NAME(nearest.best));
    } else {
        complain_of_use(loading, use, "there is no section [redis%s%s]%s",
            REDIS_NAME(use->database),
            use->key == KEY_scope && conf->n_databases > 0 ? "; redis = NAME chooses another one"
                                                           : "");
    }
}

static void complain_of_newness(struct loading *loading, const struct fleet_use *use)
{
    complain_of_use(loading, use,
        "[redis%s%s] is new: restart berthd to use it; jobs run on, and keep their leases",
        REDIS_NAME(use->database));
}

/* ---- times ----
 *
 * A lease is good until 0.84 ttl - 250ms after its last renewal was sent, and its job must be dead
 * by then. The stop begins early enough for that, but later than two renewals: a single renewal
 * that fails stops nothing. */

static nanoseconds two_renewals(nanoseconds ttl)
{
    return 2 * timing_renewal(ttl);
}

/* The longest that a job may take to stop: kill_after and the daemon's margin. 0 where the job is
 * only warned. */
static nanoseconds stop_time(const struct definition *definition)
{
    return definition->on_lost == ON_LOST_WARN
        ? 0
        : definition->kill_after + timing_stop_margin(definition->kill_after);
}

static nanoseconds longest_kill_after(nanoseconds ttl)
{
    nanoseconds room = timing_good_for(ttl) - two_renewals(ttl);
    nanoseconds longest = room / 4 * 3;
    if (longest < 3 * NANOSECONDS_PER_SECOND) {
        longest = room - NANOSECONDS_PER_SECOND;
    }
    return (longest - 1) / STEP * STEP;
}

/* The ttl, in whole seconds, at which the stop and two renewals fit. (With a long ttl, renewals
 * take less than a sixth each.) */
static nanoseconds shortest_ttl(nanoseconds stop)
{
    nanoseconds ttl = (stop + 250 * MILLISECOND) * 75 / 38; /* 1 / (0.84 - 2/6) */
    return (ttl / NANOSECONDS_PER_SECOND + 1) * NANOSECONDS_PER_SECOND;
}

static const char *in_words(char out[static 32], nanoseconds duration)
{
    duration_format(out, 32, duration);
    return out;
}

static void check_times(struct loading *loading, const struct fleet_use *use,
    const struct database *database, const char *whose)
{
    const struct definition *definition = &loading->conf->definitions[use->definition];
    nanoseconds ttl = database->ttl, stop = stop_time(definition);
    struct place place = {.file = use->place.file, .line = use->kill_after_line};
    if (stop + two_renewals(ttl) < timing_good_for(ttl)) {
        return;
    }
    nanoseconds shortest = shortest_ttl(stop);
    bool is_possible = shortest <= (nanoseconds)key_table[KEY_ttl].max;
    char times[6][32];
    complain(&loading->complaints, place, use->section, key_table[KEY_kill_after].word,
        "stopping a job may take %s (this and a third of it, at least 1s), and two renewals %s: "
        "together not less than the %s for which a lease is valid with ttl = %s of %s[redis%s%s]; "
        "it may be at most %s%s%s",
        in_words(times[0], stop), in_words(times[1], two_renewals(ttl)),
        in_words(times[2], timing_good_for(ttl)), in_words(times[3], ttl), whose,
        REDIS_NAME(database->name), in_words(times[4], longest_kill_after(ttl)),
        is_possible ? ", or the ttl must be at least " : "",
        is_possible ? in_words(times[5], shortest) : "");
}

/* Whether one of the numbers was refused, and complained of, so that it is not the file's. */
static bool databases_is_refused(
    const struct loading *loading, const struct fleet_use *use, size_t database)
{
    struct place kill_after = {.file = use->place.file, .line = use->kill_after_line};
    return complaints_has(&loading->complaints, kill_after) ||
        complaints_has(&loading->complaints, loading->database_places[database].ttl);
}

static void resolve(struct loading *loading, const struct fleet_use *use)
{
    const struct conf *serving = loading->running ? loading->running : loading->conf;
    struct definition *definition = &loading->conf->definitions[use->definition];
    const struct database *written = database_find(loading->conf, use->database);
    const struct database *served = database_find(serving, use->database);
    if (!written || !served) {
        (written ? complain_of_newness : complain_of_absence)(loading, use);
        return;
    }
    definition->database = (uint8_t)(served - serving->databases + 1);
    if (use->kill_after_line == 0) {
        nanoseconds quarter = served->ttl / 4;
        definition->kill_after = quarter < DEFAULT_KILL_AFTER ? quarter : DEFAULT_KILL_AFTER;
    } else if (!databases_is_refused(loading, use, (size_t)(written - loading->conf->databases))) {
        check_times(loading, use, written, "");
        if (served->ttl != written->ttl) {
            check_times(loading, use, served, "the running ");
        }
    }
}

void fleet_uses_resolve(struct loading *loading)
{
    for (size_t i = 0; i < loading->n_fleet_uses; i++) {
        resolve(loading, &loading->fleet_uses[i]);
    }
}
