#include "setup/settings.h"

#include "admission/admission.h"
#include "admission/asker.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "conn/disk_wait.h"
#include "core/fleet.h"
#include "core/units.h"
#include "database/fleet_sessions.h"
#include "log/log.h"
#include "record/changes.h"
#include "record/history.h"
#include "setup/reload.h"
#include "status/answer_lines.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    FILES_RESERVED = 64, /* for everything but connections */
    MIN_RESERVED = 24, /* the same, where the limit of open files is very low */
};

/* Raises the soft limit to the hard one. */
static uint32_t max_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
        files.rlim_cur = 1024;
    }
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur < UINT32_MAX ? (uint32_t)files.rlim_cur : UINT32_MAX;
}

static void set_max_connections(struct admissions *admissions, uint32_t max_clients)
{
    uint32_t all = max_files();
    uint32_t reserved = all / 2 > FILES_RESERVED ? FILES_RESERVED
        : all / 2 > MIN_RESERVED              ? all / 2
                                                 : MIN_RESERVED;
    uint32_t possible = all > reserved + 2 ? all - reserved : 2;
    uint32_t quarter = (possible + 3) / 4;
    admissions->max_operators = quarter < OPERATORS_CONNS ? quarter : OPERATORS_CONNS;
    possible -= admissions->max_operators;
    admissions->max_conns = max_clients < possible ? max_clients : possible;
    admissions_share_descriptors(admissions);
}

static struct daemon_admins admins_of(const struct conf *conf)
{
    return (struct daemon_admins){
        .own_uid = geteuid(),
        .users = &conf->admin_users,
        .groups = &conf->admin_groups,
        .view_users = &conf->view_users,
        .view_groups = &conf->view_groups,
        .history_user = conf->history_user,
    };
}

void settings_use(struct server *server, struct conf *conf)
{
    server->conf = conf;
    set_max_connections(&server->admissions, conf->max_clients);
    server->admins = admins_of(conf);
    scheduler_set_rate(&server->scheduler, conf->max_requests_per_second);
}

struct judging {
    struct core *core;
    struct daemon_admins admins;
};

/* A lease whose client is away is checked when that comes back: command_acquire.c. */
static enum outcome judge_waiter(
    const struct lease *lease, const struct definition *definition, void *context)
{
    struct judging *judging = context;
    const struct acquire_request ask = {
        .attributes = lease->attributes}; /* its wants are counted by the core */
    if (answer_is_too_much(&ask, units_max_bytes_of(judging->core, lease))) {
        return OUTCOME_IMPOSSIBLE;
    }
    if (definition->refuses_programs && lease->attributes.signal == 0) {
        return OUTCOME_JOBS_ONLY;
    }
    if (lease_is_detached(lease)) {
        return OUTCOME_OK;
    }
    struct asker asker;
    struct conn *conn = conn_of(lease->client);
    asker_init(&asker, conn->fd, conn->client.uid, &judging->admins);
    bool allowed = asker_may(&asker, rights_use, &definition->rights);
    asker_deinit(&asker);
    return allowed ? OUTCOME_OK : OUTCOME_FORBIDDEN;
}

bool settings_define(struct server *server, const struct conf *conf, const char **refusedp)
{
    struct judging judging = {server->core, admins_of(conf)};
    core_set_waiter_filter(server->core, judge_waiter, &judging);
    enum outcome outcome = core_define(server->core, conf->definitions, conf->n_definitions,
        &conf->user_bounds, clock_now(), &server->effects, refusedp);
    core_set_waiter_filter(server->core, NULL, NULL);
    apply_effects(&server->turn);
    return outcome == OUTCOME_OK;
}

static void add_conflict(
    struct conf_errors *errors, const struct conf *conf, const char *section, const char *why)
{
    char message[PATH_MAX + 512];
    snprintf(message, sizeof message, "%s: [%s]: %s", conf->path, section, why);
    conf_errors_add(errors, message);
}

/* Otherwise the next start would be refused, when the operator has forgotten the edit. */
static bool lacks_databases(const struct core *core, const struct conf *now,
    const struct conf *loaded, struct conf_errors *errors)
{
    bool lacks = false;
    for (size_t i = 0; i < now->n_databases; i++) {
        const char *name = now->databases[i].name;
        if (!database_find(loaded, name) && core_fleet_has_holders(core, (uint8_t)(i + 1))) {
            char section[NAME_BYTES + sizeof "redis "];
            snprintf(section, sizeof section, "redis %s", name);
            add_conflict(
                errors, loaded, section, "has leases and cannot be removed until they end");
            lacks = true;
        }
    }
    return lacks;
}

/* Of no use to an inherited socket: logged at the start. */
static bool mentions_socket(const char *change)
{
    return strcmp(change, "socket") == 0 || strcmp(change, "socket-mode") == 0;
}

static void note_fixed_changes(const struct conf *now, const struct conf *loaded,
    bool socket_is_inherited, struct conf_errors *notes)
{
    char note[PATH_MAX + 512];
    struct conf_errors changes = CONF_ERRORS_INIT;
    conf_fixed_changes(now, loaded, &changes);
    for (size_t i = 0; i < changes.n; i++) {
        if (socket_is_inherited && mentions_socket(changes.messages[i])) {
            continue;
        }
        snprintf(note, sizeof note, "%s: %s takes effect at the next start", loaded->path,
            changes.messages[i]);
        conf_errors_add(notes, note);
    }
    conf_errors_deinit(&changes);
}

void settings_note_changes(struct server *server)
{
    changes_note(&server->state, server->core);
    disk_wait_note_changes(server->disk_wait);
}

/* ---- which resources a reload adds, changes or removes: for the log ---- */

/* A reload of a file with only new resources need not fill the log. */
enum { LINES_MAX = 8 };

/* What is new or changed in `definitions`, which are about to be defined. */
static void diff_compare(struct conf_errors *diff, struct core *core,
    const struct definition definitions[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct definition *now = core_find_definition(core, definitions[i].name);
        if (!now || !conf_same_definition(now, &definitions[i])) {
            conf_errors_add(diff, definitions[i].name);
        }
    }
}

/* After that is done: those of `before` that are gone. */
static void diff_add_gone(
    struct conf_errors *diff, struct core *core, const struct definition before[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct definition *now = core_find_definition(core, before[i].name);
        if (!now || strcmp(now->name, before[i].name) != 0) {
            conf_errors_add(diff, before[i].name);
        }
    }
}

/* Logs as many as one line may be about; returns how many. */
static size_t say_some(char *const names[], size_t n)
{
    struct log_subject subject = {.event = "reload"};
    size_t length = 0, i = 0;
    for (; i < n && i < MAX_RESOURCES_PER_LEASE; i++) {
        length += (size_t)snprintf(subject.resources + length, sizeof subject.resources - length,
            "%s%s", i > 0 ? " " : "", names[i]);
    }
    log_message_on(LOG_LEVEL_INFO, &subject, "reload: changed: %s", subject.resources);
    return i;
}

static void diff_log(const struct conf_errors *diff)
{
    size_t n_named = 0;
    for (int line = 0; line < LINES_MAX && n_named < diff->n; line++) {
        n_named += say_some(diff->messages + n_named, diff->n - n_named);
    }
    if (n_named < diff->n) {
        const struct log_subject subject = {.event = "reload"};
        log_message_on(
            LOG_LEVEL_INFO, &subject, "reload: %zu more resources have changed", diff->n - n_named);
    }
}

/* ---- what operators have changed goes on in spite of the file ---- */

struct overriding {
    const struct conf_errors *diff; /* the names that the reload adds or changes */
    struct conf_errors *notes;
};

static void note_overridden(
    const struct overriding *overriding, const struct definition *definition, const char *name)
{
    char note[2 * NAME_BYTES + 128];
    const struct conf_errors *diff = overriding->diff;
    const char *const *names = (const char *const *)diff->messages;
    if (words_index(definition->name, names, diff->n) < diff->n) {
        snprintf(note, sizeof note,
            "%s: changes made at runtime stay in force: berthctl reset %s undoes them", name, name);
        conf_errors_add(overriding->notes, note);
    }
}

static void note_resource(const struct resource *resource, void *context)
{
    note_overridden(context, resource->definition, resource->name);
}

static void note_template(const struct template *template, void *context)
{
    note_overridden(context, template->definition, template->definition->name);
}

/* ---- what goes into the history ---- */

/* So many entries say which changes by operators a reload has ended. */
enum { UNDONE_MAX = 100 };

/* By operators, before the reload. */
struct changed_at_runtime {
    char *name; /* owned; of a resource or a template */
    uint32_t limit; /* in force; of a pool, its items */
    bool has_limit; /* that is changed, or the items are */
};

struct changed_list {
    struct changed_at_runtime *list; /* owned */
    size_t n;
};

static bool has_limit(const struct resource *resource, const struct template *template)
{
    return resource ? resource->runtime_limit != UNBOUNDED || resource->items_changed
                    : template && template->runtime_limit != UNBOUNDED;
}

static void changed_list_add(
    struct changed_list *changed, const char *name, uint32_t limit, bool is_of_limit)
{
    changed->list = memory_grow(changed->list, changed->n, sizeof *changed->list);
    changed->list[changed->n++] = (struct changed_at_runtime){
        .name = memory_string(name), .limit = limit, .has_limit = is_of_limit};
}

static void keep_resource(const struct resource *resource, void *context)
{
    changed_list_add(
        context, resource->name, resource_limit(resource), has_limit(resource, NULL));
}

static void keep_template(const struct template *template, void *context)
{
    changed_list_add(context, template->definition->name, template_limit(template),
        has_limit(NULL, template));
}

static void changed_list_fill(struct changed_list *changed, const struct core *core)
{
    core_for_each_changed(core, keep_resource, changed);
    core_for_each_changed_template(core, keep_template, changed);
}

static void changed_list_deinit(struct changed_list *changed)
{
    for (size_t i = 0; i < changed->n; i++) {
        free(changed->list[i].name);
    }
    free(changed->list);
}

static bool goes_on(const struct core *core, const struct changed_at_runtime *changed)
{
    const struct resource *resource = core_find_resource(core, changed->name);
    const struct template *template = core_find_template(core, changed->name);
    bool is_changed = resource ? resource_is_changed(resource)
                               : template && template_is_changed(template);
    return is_changed && (!changed->has_limit || has_limit(resource, template));
}

/* By a signal: whoever may send one acts as berthd's own user. */
static void record_reload(struct server *server, struct did did)
{
    const struct actor *asked = &server->reload->by;
    const struct actor own = {.is_known = true, .uid = geteuid()};
    did.verb = "reload";
    did.by = asked->is_known ? *asked : own;
    did.reason = asked->is_known ? NULL : "SIGHUP";
    history_add_did(server->history, &did, clock_now());
}

static void record_changed(struct server *server, size_t n_changed)
{
    char changed[32];
    snprintf(changed, sizeof changed, "%zu definition%s", n_changed, n_changed == 1 ? "" : "s");
    if (n_changed > 0) {
        record_reload(server, (struct did){.new = changed});
    }
}

static void record_undone(struct server *server, const struct changed_at_runtime *changed)
{
    char old[16], new[16];
    uint32_t limit = core_limit(server->core, changed->name);
    bool is_gone = !core_find_definition(server->core, changed->name);
    bool is_other = changed->has_limit && (is_gone || limit != changed->limit);
    snprintf(old, sizeof old, "%" PRIu32, changed->limit);
    snprintf(new, sizeof new, "%" PRIu32, limit);
    record_reload(server, (struct did){
        .resource = changed->name,
        .old = is_other ? old : NULL,
        .new = is_other && !is_gone ? new : NULL,
    });
}

static void record_all_undone(struct server *server, const struct changed_list *changed)
{
    size_t n_undone = 0;
    for (size_t i = 0; i < changed->n && n_undone < UNDONE_MAX; i++) {
        if (!goes_on(server->core, &changed->list[i])) {
            record_undone(server, &changed->list[i]);
            n_undone++;
        }
    }
}

/* ---- a reload ---- */

bool settings_reload(struct server *server, struct conf *conf, struct conf_errors *found,
    struct conf_errors *notes)
{
    const char *refused = NULL;
    const struct log_subject subject = {.event = "reload"};
    struct conf_errors diff = CONF_ERRORS_INIT;
    struct changed_list changed = {.n = 0};
    if (conf) {
        changed_list_fill(&changed, server->core);
        diff_compare(&diff, server->core, conf->definitions, conf->n_definitions);
    }
    if (conf && lacks_databases(server->core, server->conf, conf, found)) {
        conf = conf_free(conf);
    }
    if (conf && !settings_define(server, conf, &refused)) {
        add_conflict(found, conf, refused,
            "is in use, so its kind cannot change now");
        conf = conf_free(conf);
    }
    for (size_t i = 0; i < found->n; i++) {
        log_message_on(LOG_LEVEL_ERROR, &subject, "%s", found->messages[i]);
    }
    if (!conf) {
        log_message_on(LOG_LEVEL_ERROR, &subject, "%s: not reloaded: nothing has changed",
            server->conf->path);
        conf_errors_deinit(&diff);
        changed_list_deinit(&changed);
        return false;
    }
    struct overriding overriding = {&diff, notes};
    note_fixed_changes(server->conf, conf, listener_is_inherited(&server->listener), notes);
    core_for_each_changed(server->core, note_resource, &overriding);
    core_for_each_changed_template(server->core, note_template, &overriding);
    for (size_t i = 0; i < notes->n; i++) {
        log_message_on(LOG_LEVEL_WARNING, &subject, "%s", notes->messages[i]);
    }
    struct conf *before = server->conf;
    conf_keep_fixed(before, conf);
    settings_use(server, conf);
    fleet_define(server->fleet, conf->definitions, conf->n_definitions);
    diff_add_gone(&diff, server->core, before->definitions, before->n_definitions);
    diff_log(&diff);
    record_changed(server, diff.n);
    record_all_undone(server, &changed);
    conf_errors_deinit(&diff);
    changed_list_deinit(&changed);
    conf_free(before);
    disk_wait_note_reload(server->disk_wait, changes_note(&server->state, server->core));
    log_message_on(LOG_LEVEL_INFO, &subject, "%s: reloaded, definitions: %zu", conf->path,
        conf->n_definitions);
    return true;
}
