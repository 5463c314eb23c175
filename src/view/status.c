#include "view/status.h"

#include "base/words.h"
#include "view/printable.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

#define RESOURCE(key, type, member)                                                                \
    {                                                                                              \
        key, type, offsetof(struct status_resource, member)                                        \
    }
#define LEASE(key, type, member)                                                                   \
    {                                                                                              \
        key, type, offsetof(struct status_lease, member)                                           \
    }
#define TEMPLATE(key, type, member)                                                                \
    {                                                                                              \
        key, type, offsetof(struct status_template, member)                                        \
    }
#define DATABASE(key, type, member)                                                                \
    {                                                                                              \
        key, type, offsetof(struct status_database, member)                                        \
    }
#define HOST(key, type, member)                                                                    \
    {                                                                                              \
        key, type, offsetof(struct status_host, member)                                            \
    }
#define STATUS(key, type, member)                                                                  \
    {                                                                                              \
        key, type, offsetof(struct status, member)                                                 \
    }

static const struct field status_fields[] = {
    STATUS("draining", FIELD_FLAG, draining),
    STATUS("granting", FIELD_OPTIONAL, granting),
    STATUS("held", FIELD_NUMBER, held),
    STATUS("waiting", FIELD_NUMBER, waiting),
    STATUS("grace", FIELD_OPTIONAL, grace),
    STATUS("closed", FIELD_TEXT, closed),
    {0},
};

static const struct field resource_fields[] = {
    RESOURCE("kind", FIELD_TEXT, kind),
    RESOURCE("scope", FIELD_TEXT, scope),
    RESOURCE("database", FIELD_TEXT, database),
    RESOURCE("database_state", FIELD_TEXT, database_state),
    RESOURCE("limit", FIELD_NUMBER, limit),
    RESOURCE("in_use", FIELD_NUMBER, in_use),
    RESOURCE("free", FIELD_NUMBER, free),
    RESOURCE("waiting", FIELD_NUMBER, waiting),
    RESOURCE("cooling", FIELD_NUMBER, cooling),
    RESOURCE("kept", FIELD_NUMBER, kept),
    RESOURCE("keeper", FIELD_OPTIONAL, keeper),
    RESOURCE("paused", FIELD_FLAG, paused),
    RESOURCE("reason", FIELD_TEXT, reason),
    RESOURCE("paused_by", FIELD_OPTIONAL, paused_by.uid),
    RESOURCE("paused_by_login", FIELD_OPTIONAL, paused_by_login.uid),
    RESOURCE("changed", FIELD_WORDS, changed),
    RESOURCE("template", FIELD_TEXT, template),
    RESOURCE("removed", FIELD_FLAG, removed),
    RESOURCE("items", FIELD_WORDS, items),
    RESOURCE("reserved", FIELD_WORDS, reserved),
    RESOURCE("draining", FIELD_WORDS, draining),
    {0},
};

static const struct field lease_fields[] = {
    LEASE("units", FIELD_WORDS, units),
    LEASE("token", FIELD_NUMBER, token),
    LEASE("position", FIELD_NUMBER, position),
    LEASE("resource", FIELD_TEXT, resource),
    LEASE("ticket", FIELD_OPTIONAL, ticket),
    LEASE("wants", FIELD_NUMBER, wants),
    LEASE("priority", FIELD_SIGNED, priority),
    LEASE("blocked", FIELD_TEXT, blocked),
    LEASE("blocker", FIELD_TEXT, blocker),
    LEASE("kept", FIELD_NUMBER, kept),
    LEASE("pid", FIELD_NUMBER, pid),
    LEASE("uid", FIELD_NUMBER, uid),
    LEASE("age", FIELD_NUMBER, age),
    LEASE("bound", FIELD_TEXT, bound),
    LEASE("away", FIELD_FLAG, away),
    LEASE("unread", FIELD_FLAG, unread),
    LEASE("hidden", FIELD_FLAG, hidden),
    LEASE("left", FIELD_OPTIONAL, left),
    LEASE("stopping", FIELD_TEXT, stopping),
    LEASE("host", FIELD_TEXT, host),
    LEASE("holder", FIELD_TEXT, holder),
    {0},
};

static const struct field template_fields[] = {
    TEMPLATE("kind", FIELD_TEXT, kind),
    TEMPLATE("scope", FIELD_TEXT, scope),
    TEMPLATE("database", FIELD_TEXT, database),
    TEMPLATE("database_state", FIELD_TEXT, database_state),
    TEMPLATE("limit", FIELD_NUMBER, limit),
    TEMPLATE("instances", FIELD_NUMBER, instances),
    TEMPLATE("paused", FIELD_FLAG, paused),
    TEMPLATE("reason", FIELD_TEXT, reason),
    TEMPLATE("paused_by", FIELD_OPTIONAL, paused_by.uid),
    TEMPLATE("paused_by_login", FIELD_OPTIONAL, paused_by_login.uid),
    TEMPLATE("changed", FIELD_WORDS, changed),
    {0},
};

static const struct field database_fields[] = {
    DATABASE("state", FIELD_TEXT, state),
    DATABASE("why", FIELD_TEXT, why),
    DATABASE("server", FIELD_TEXT, server),
    DATABASE("version", FIELD_TEXT, version),
    DATABASE("warning", FIELD_TEXT, warning),
    DATABASE("lacks", FIELD_TEXT, lacks),
    DATABASE("ttl", FIELD_NUMBER, ttl),
    DATABASE("grace", FIELD_OPTIONAL, grace),
    DATABASE("new", FIELD_FLAG, is_new),
    DATABASE("good", FIELD_OPTIONAL, good),
    DATABASE("incarnation", FIELD_NUMBER, incarnation),
    DATABASE("differing", FIELD_NUMBER, differing),
    DATABASE("calls", FIELD_NUMBER, calls),
    DATABASE("sessions", FIELD_OPTIONAL, sessions),
    DATABASE("rate", FIELD_OPTIONAL, rate),
    DATABASE("busy", FIELD_OPTIONAL, busy),
    DATABASE("cpu", FIELD_OPTIONAL, cpu),
    DATABASE("layout", FIELD_OPTIONAL, layout),
    {0},
};

static const struct field host_fields[] = {
    HOST("session", FIELD_TEXT, session),
    HOST("database", FIELD_TEXT, database),
    HOST("heard", FIELD_NUMBER, heard),
    HOST("since", FIELD_OPTIONAL, since),
    HOST("held", FIELD_NUMBER, held),
    HOST("waiting", FIELD_NUMBER, waiting),
    HOST("version", FIELD_TEXT, version),
    HOST("layout_from", FIELD_OPTIONAL, layout_from),
    HOST("layout_to", FIELD_OPTIONAL, layout_to),
    HOST("ttl", FIELD_OPTIONAL, ttl),
    HOST("failover_lag", FIELD_OPTIONAL, failover_lag),
    {0},
};

/* ---- lines ---- */

/* Each reason is one key: reserve=ITEM,REASON. */
static bool resource_take_reserves(struct status_resource *resource, char *const words[], size_t n)
{
    static const char key[] = "reserve=";
    for (size_t i = 0; i < n; i++) {
        if (strncmp(words[i], key, strlen(key)) != 0) {
            continue;
        }
        char *reason = words[i] + strlen(key);
        char *item = strsep(&reason, ",");
        if (!reason || !percent_decode(reason)) {
            return false;
        }
        resource->reserves = memory_resized(
            resource->reserves, resource->n_reserves + 1, sizeof resource->reserves[0]);
        resource->reserves[resource->n_reserves++] =
            (struct status_reserve){.item = item, .reason = reason};
    }
    return true;
}

/* Sets *linep to a copy of the line, which the record owns. Returns the number of its words. */
static size_t line_split(const char *line, char **linep, char *words[MAX_WORDS])
{
    size_t size = strlen(line) + 1;
    *linep = memcpy(memory_resized(NULL, size, 1), line, size);
    return words_split(*linep, words, MAX_WORDS);
}

bool status_resource_take(struct status_resource *resource, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &resource->line, words);
    return line_take(resource_fields, words, n, &resource->name, resource) &&
        resource_take_reserves(resource, words + 2, n - 2) && resource->kind;
}

bool status_lease_take(struct status_lease *lease, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &lease->line, words);
    return line_take(lease_fields, words, n, &lease->id, lease) &&
        shown_take(lease->shown, words + 2, n - 2);
}

bool status_template_take(struct status_template *template, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &template->line, words);
    return line_take(template_fields, words, n, &template->name, template) && template->kind;
}

bool status_database_take(struct status_database *database, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &database->line, words);
    return line_take(database_fields, words, n, &database->name, database) &&
        percent_decode(words[1]) && database->state;
}

static bool host_take(struct status_host *host, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &host->line, words);
    return line_take(host_fields, words, n, &host->name, host) && percent_decode(words[1]) &&
        host->database && host->session;
}

bool status_figures_take(struct status *status, char *const words[], size_t n)
{
    return fields_take(status_fields, words, n, status);
}

/* ---- the answer ---- */

static bool take_resource(struct status *status, const char *line)
{
    status->resources = array_grown(
        status->resources, status->n_resources, &status->size, sizeof *status->resources);
    return status_resource_take(&status->resources[status->n_resources++], line);
}

static bool take_lease(struct status_leases *leases, const char *line)
{
    leases->list = array_grown(leases->list, leases->n, &leases->size, sizeof *leases->list);
    return status_lease_take(&leases->list[leases->n++], line);
}

/* Of the resource whose line came last. */
static struct status_resource *last_resource(struct status *status)
{
    return status->n_resources > 0 ? &status->resources[status->n_resources - 1] : NULL;
}

static bool take_holder(struct status *status, const char *line)
{
    struct status_resource *resource = last_resource(status);
    return resource && take_lease(&resource->holders, line);
}

static bool take_waiter(struct status *status, const char *line)
{
    struct status_resource *resource = last_resource(status);
    return resource && take_lease(&resource->waiters, line);
}

static bool take_template(struct status *status, const char *line)
{
    status->templates = array_grown(
        status->templates, status->n_templates, &status->templates_size, sizeof *status->templates);
    return status_template_take(&status->templates[status->n_templates++], line);
}

static bool take_database(struct status *status, const char *line)
{
    status->databases = array_grown(
        status->databases, status->n_databases, &status->databases_size, sizeof *status->databases);
    return status_database_take(&status->databases[status->n_databases++], line);
}

static bool take_host(struct status *status, const char *line)
{
    status->hosts =
        array_grown(status->hosts, status->n_hosts, &status->hosts_size, sizeof *status->hosts);
    return host_take(&status->hosts[status->n_hosts++], line);
}

static const struct {
    const char *word;
    bool (*take)(struct status *status, const char *line);
} lines[] = {
    {"holder", take_holder},
    {"waiter", take_waiter},
    {"resource", take_resource},
    {"template", take_template},
    {"database", take_database},
    {"host", take_host},
};

enum answer_result status_take(struct status *status, const char *line)
{
    size_t length = strcspn(line, " ");
    if (!status->begun) {
        char *copy, *words[MAX_WORDS];
        size_t n = line_split(line, &copy, words);
        status->begun = n > 0 && strcmp(words[0], "ok") == 0;
        bool is_good = status->begun && status_figures_take(status, words + 1, n - 1);
        free(copy);
        return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
    }
    if (strcmp(line, "end") == 0 || strncmp(line, "end ", strlen("end ")) == 0) {
        return ANSWER_END;
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strlen(lines[i].word) == length && strncmp(line, lines[i].word, length) == 0) {
            return lines[i].take(status, line) ? ANSWER_MORE : ANSWER_MALFORMED;
        }
    }
    return length > 0 ? ANSWER_MORE : ANSWER_MALFORMED;
}

void status_lease_deinit(struct status_lease *lease)
{
    free(lease->units.list);
    free(lease->line);
}

static void leases_deinit(struct status_leases *leases)
{
    for (size_t i = 0; i < leases->n; i++) {
        status_lease_deinit(&leases->list[i]);
    }
    free(leases->list);
}

void status_resource_deinit(struct status_resource *resource)
{
    leases_deinit(&resource->holders);
    leases_deinit(&resource->waiters);
    free(resource->changed.list);
    free(resource->items.list);
    free(resource->reserved.list);
    free(resource->draining.list);
    free(resource->reserves);
    free(resource->line);
}

void status_template_deinit(struct status_template *template)
{
    free(template->changed.list);
    free(template->line);
}

void status_deinit(struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        status_resource_deinit(&status->resources[i]);
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        status_template_deinit(&status->templates[i]);
    }
    for (size_t i = 0; i < status->n_databases; i++) {
        free(status->databases[i].line);
    }
    for (size_t i = 0; i < status->n_hosts; i++) {
        free(status->hosts[i].line);
    }
    free(status->hosts);
    free(status->templates);
    free(status->databases);
    free(status->resources);
    *status = (struct status)STATUS_INIT;
}

/* ---- queries ---- */

const struct status_database *status_database_of(
    const struct status *status, const struct status_resource *resource)
{
    for (size_t i = 0; i < status->n_databases && resource->database; i++) {
        if (strcmp(status->databases[i].name, resource->database) == 0) {
            return &status->databases[i];
        }
    }
    return NULL;
}

bool status_is_in_grace(const struct status *status, const struct status_resource *resource)
{
    const struct status_database *database = status_database_of(status, resource);
    return database && database->grace.is_given;
}

uint64_t status_grantable(const struct status *status, const struct status_resource *resource)
{
    bool host_gives_nothing = status->granting.is_given && status->granting.number == 0;
    bool gives_nothing =
        host_gives_nothing || status->draining || status_is_in_grace(status, resource);
    return gives_nothing || resource->kept > resource->free ? 0 : resource->free - resource->kept;
}

bool status_is_pool(const struct status_resource *resource)
{
    return strcmp(resource->kind, "pool") == 0;
}

bool words_contain(const struct words *words, const char *word)
{
    for (size_t i = 0; i < words->n; i++) {
        if (strcmp(words->list[i], word) == 0) {
            return true;
        }
    }
    return false;
}

const char *status_reserve_reason(const struct status_resource *resource, const char *item)
{
    for (size_t i = 0; i < resource->n_reserves; i++) {
        if (strcmp(resource->reserves[i].item, item) == 0) {
            return resource->reserves[i].reason;
        }
    }
    return NULL;
}

bool slots_parse(const char *word, uint64_t *firstp, uint64_t *lastp)
{
    enum { MAX = 1000000 };
    return range_parse(word, strlen(word), MAX, firstp, lastp);
}
