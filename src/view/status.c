#include "view/status.h"

#include "base/memory.h"
#include "base/words.h"

#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

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
        resource->reserves = memory_resize(
            resource->reserves, resource->n_reserves + 1, sizeof resource->reserves[0]);
        resource->reserves[resource->n_reserves++] =
            (struct status_reserve){.item = item, .reason = reason};
    }
    return true;
}

/* Sets *linep to a copy of the line, which the record owns. Returns the number of its words. */
static size_t line_split(const char *line, char **linep, char *words[MAX_WORDS])
{
    *linep = memory_string(line);
    return words_split(*linep, words, MAX_WORDS);
}

bool status_resource_take(struct status_resource *resource, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &resource->line, words);
    return line_take(status_fields(status_line_of(line)), words, n, &resource->name, resource) &&
        resource_take_reserves(resource, words + 2, n - 2) && resource->kind;
}

bool status_lease_take(struct status_lease *lease, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &lease->line, words);
    return line_take(status_fields(status_line_of(line)), words, n, &lease->id, lease) &&
        shown_take(lease->shown, words + 2, n - 2);
}

bool status_database_take(struct status_database *database, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &database->line, words);
    return line_take(status_fields(LINE_DATABASE), words, n, &database->name, database) &&
        percent_decode(words[1]) && database->state;
}

static bool host_take(struct status_host *host, const char *line)
{
    char *words[MAX_WORDS];
    size_t n = line_split(line, &host->line, words);
    return line_take(status_fields(LINE_HOST), words, n, &host->name, host) &&
        percent_decode(words[1]) && host->database && host->session;
}

bool status_figures_take(struct status *status, char *const words[], size_t n)
{
    return fields_take(status_fields(LINE_FIGURES), words, n, status);
}

/* ---- the answer ---- */

static bool take_resource(struct status *status, const char *line)
{
    status->resources =
        memory_grow(status->resources, status->n_resources, sizeof *status->resources);
    return status_resource_take(&status->resources[status->n_resources++], line);
}

static bool status_take_lease(struct status_leases *leases, const char *line)
{
    leases->list = memory_grow(leases->list, leases->n, sizeof *leases->list);
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
    return resource && status_take_lease(&resource->holders, line);
}

static bool take_waiter(struct status *status, const char *line)
{
    struct status_resource *resource = last_resource(status);
    return resource && status_take_lease(&resource->waiters, line);
}

static bool take_template(struct status *status, const char *line)
{
    status->templates =
        memory_grow(status->templates, status->n_templates, sizeof *status->templates);
    return status_resource_take(&status->templates[status->n_templates++], line);
}

static bool take_database(struct status *status, const char *line)
{
    status->databases =
        memory_grow(status->databases, status->n_databases, sizeof *status->databases);
    return status_database_take(&status->databases[status->n_databases++], line);
}

static bool status_take_host(struct status *status, const char *line)
{
    status->hosts =
        memory_grow(status->hosts, status->n_hosts, sizeof *status->hosts);
    return host_take(&status->hosts[status->n_hosts++], line);
}

static bool (*const take_line[N_STATUS_LINES])(struct status *status, const char *line) = {
    [LINE_HOLDER] = take_holder,
    [LINE_WAITER] = take_waiter,
    [LINE_RESOURCE] = take_resource,
    [LINE_TEMPLATE] = take_template,
    [LINE_DATABASE] = take_database,
    [LINE_HOST] = status_take_host,
};

enum answer_result status_take(struct status *status, const char *line)
{
    enum status_line kind = status_line_of(line);
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
    if (kind != N_STATUS_LINES && take_line[kind]) {
        return take_line[kind](status, line) ? ANSWER_MORE : ANSWER_MALFORMED;
    }
    return line[0] != '\0' && line[0] != ' ' ? ANSWER_MORE : ANSWER_MALFORMED;
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

void status_database_deinit(struct status_database *database)
{
    free(database->lacks.list);
    free(database->line);
}

void status_deinit(struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        status_resource_deinit(&status->resources[i]);
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        status_resource_deinit(&status->templates[i]);
    }
    for (size_t i = 0; i < status->n_databases; i++) {
        status_database_deinit(&status->databases[i]);
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

uint64_t status_since(const struct status *status, const struct instant *instant)
{
    int64_t span = status->now.at - instant->at;
    return span > 0 ? (uint64_t)span : 0;
}

uint64_t status_until(const struct status *status, const struct instant *instant)
{
    int64_t span = instant->at - status->now.at;
    return span > 0 ? (uint64_t)span : 0;
}

const struct status_lease *status_lease_find(const struct status_leases *leases, const char *id)
{
    for (size_t i = 0; i < leases->n; i++) {
        if (strcmp(leases->list[i].id, id) == 0) {
            return &leases->list[i];
        }
    }
    return NULL;
}

static int by_id(const void *left, const void *right)
{
    const struct status_lease *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

static size_t list_leases(
    const struct status_lease ***listp, size_t n, const struct status_leases *leases)
{
    *listp = memory_resize(*listp, n + leases->n + 1, sizeof **listp);
    for (size_t i = 0; i < leases->n; i++) {
        (*listp)[n++] = &leases->list[i];
    }
    return n;
}

size_t status_each_lease(const struct status *status, bool held, bool waiting,
    const struct status_lease ***listp)
{
    static const struct status_leases none;
    size_t n = 0, n_different = 0;
    *listp = NULL;
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        n = list_leases(listp, n, held ? &resource->holders : &none);
        n = list_leases(listp, n, waiting ? &resource->waiters : &none);
    }
    if (n > 0) {
        qsort(*listp, n, sizeof **listp, by_id);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_id(&(*listp)[i - 1], &(*listp)[i]) != 0) {
            (*listp)[n_different++] = (*listp)[i];
        }
    }
    return n_different;
}

const struct status_resource *status_resource_named(const struct status *status, const char *name)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        if (strcmp(status->resources[i].name, name) == 0) {
            return &status->resources[i];
        }
    }
    return NULL;
}

const struct status_database *status_database_named(const struct status *status, const char *name)
{
    for (size_t i = 0; i < status->n_databases; i++) {
        if (strcmp(status->databases[i].name, name) == 0) {
            return &status->databases[i];
        }
    }
    return NULL;
}

bool status_is_in_grace(const struct status *status, const struct status_resource *resource)
{
    const struct status_database *database =
        resource->database ? status_database_named(status, resource->database) : NULL;
    return database && database->grace_until.is_given;
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

bool status_item_is_held(const struct status_resource *resource, const char *item)
{
    for (size_t i = 0; i < resource->holders.n; i++) {
        if (words_contain(&resource->holders.list[i].units, item)) {
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
