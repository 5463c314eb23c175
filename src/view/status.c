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
    DATABASE("ttl", FIELD_NUMBER, ttl),
    DATABASE("grace", FIELD_OPTIONAL, grace),
    DATABASE("good", FIELD_OPTIONAL, good),
    DATABASE("incarnation", FIELD_NUMBER, incarnation),
    DATABASE("differing", FIELD_NUMBER, differing),
    DATABASE("calls", FIELD_NUMBER, calls),
    {0},
};

static const struct field host_fields[] = {
    HOST("session", FIELD_TEXT, session),
    HOST("database", FIELD_TEXT, database),
    HOST("heard", FIELD_NUMBER, heard),
    HOST("held", FIELD_NUMBER, held),
    HOST("waiting", FIELD_NUMBER, waiting),
    HOST("version", FIELD_TEXT, version),
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

/* `line` is a copy; the record owns it. */
static bool resource_take(struct status *status, char *line, char *const words[], size_t n)
{
    status->resources = array_grown(
        status->resources, status->n_resources, &status->size, sizeof *status->resources);
    struct status_resource *resource = &status->resources[status->n_resources++];
    resource->line = line;
    return line_take(resource_fields, words, n, &resource->name, resource) &&
        resource_take_reserves(resource, words + 2, n - 2) && resource->kind;
}

static bool lease_take(struct status_leases *leases, char *line, char *const words[], size_t n)
{
    leases->list = array_grown(leases->list, leases->n, &leases->size, sizeof *leases->list);
    struct status_lease *lease = &leases->list[leases->n++];
    lease->line = line;
    return line_take(lease_fields, words, n, &lease->id, lease) &&
        shown_take(lease->shown, words + 2, n - 2);
}

static bool template_take(struct status *status, char *line, char *const words[], size_t n)
{
    status->templates = array_grown(
        status->templates, status->n_templates, &status->templates_size, sizeof *status->templates);
    struct status_template *template = &status->templates[status->n_templates++];
    template->line = line;
    return line_take(template_fields, words, n, &template->name, template) && template->kind;
}

static bool database_take(struct status *status, char *line, char *const words[], size_t n)
{
    status->databases = array_grown(
        status->databases, status->n_databases, &status->databases_size, sizeof *status->databases);
    struct status_database *database = &status->databases[status->n_databases++];
    database->line = line;
    return line_take(database_fields, words, n, &database->name, database) &&
        percent_decode(words[1]) && database->state;
}

static bool host_take(struct status *status, char *line, char *const words[], size_t n)
{
    status->hosts =
        array_grown(status->hosts, status->n_hosts, &status->hosts_size, sizeof *status->hosts);
    struct status_host *host = &status->hosts[status->n_hosts++];
    host->line = line;
    return line_take(host_fields, words, n, &host->name, host) && percent_decode(words[1]) &&
        host->database && host->session;
}

static bool status_take_words(struct status *status, char *line, char *const words[], size_t n)
{
    bool is_holder = strcmp(words[0], "holder") == 0;
    if (strcmp(words[0], "resource") == 0) {
        return resource_take(status, line, words, n);
    }
    if (strcmp(words[0], "template") == 0) {
        return template_take(status, line, words, n);
    }
    if (strcmp(words[0], "database") == 0) {
        return database_take(status, line, words, n);
    }
    if (strcmp(words[0], "host") == 0) {
        return host_take(status, line, words, n);
    }
    if (is_holder || strcmp(words[0], "waiter") == 0) {
        if (status->n_resources == 0) {
            free(line);
            return false;
        }
        struct status_resource *resource = &status->resources[status->n_resources - 1];
        return lease_take(is_holder ? &resource->holders : &resource->waiters, line, words, n);
    }
    free(line);
    return true;
}

enum answer_result status_take(struct status *status, const char *line)
{
    char *words[MAX_WORDS];
    size_t size = strlen(line) + 1;
    char *copy = memcpy(memory_resized(NULL, size, 1), line, size);
    size_t n = words_split(copy, words, MAX_WORDS);
    if (n > 0 && status->begun && strcmp(words[0], "end") != 0) {
        return status_take_words(status, copy, words, n) ? ANSWER_MORE : ANSWER_MALFORMED;
    }
    enum answer_result result = ANSWER_MALFORMED;
    if (n > 0 && status->begun) {
        result = ANSWER_END;
    } else if (n > 0 && strcmp(words[0], "ok") == 0) {
        status->begun = true;
        result = fields_take(status_fields, words + 1, n - 1, status) ? ANSWER_MORE : result;
    }
    free(copy);
    return result;
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
