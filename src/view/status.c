#include "view/status.h"

#include "base/memory.h"
#include "base/words.h"

#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* ---- kinds of records ---- */

/* Each reason is one key: reserve=ITEM,REASON. */
static bool resource_finish(void *record, char *const words[], size_t n)
{
    static const char key[] = "reserve=";
    struct status_resource *resource = record;
    resource->is_template = status_line_of(words[0]) == LINE_TEMPLATE;
    for (size_t i = 2; i < n; i++) {
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
    return resource->kind;
}

static bool lease_finish(void *record, char *const words[], size_t n)
{
    struct status_lease *lease = record;
    lease->is_held = status_line_of(words[0]) == LINE_HOLDER;
    return shown_take(lease->shown, words + 2, n - 2);
}

static bool database_finish(void *record, char *const words[], size_t n)
{
    (void)n;
    return percent_decode(words[1]) && ((struct status_database *)record)->state;
}

static bool host_finish(void *record, char *const words[], size_t n)
{
    const struct status_host *host = record;
    (void)n;
    return percent_decode(words[1]) && host->database && host->session;
}

static bool gone_finish(void *record, char *const words[], size_t n)
{
    const struct status_gone *gone = record;
    (void)n;
    return percent_decode(words[1]) && gone->database && gone->session;
}

static void resource_deinit(void *record)
{
    struct status_resource *resource = record;
    for (size_t i = 0; i < resource->leases.n; i++) {
        status_record_deinit(LINE_HOLDER, &resource->leases.list[i]);
    }
    free(resource->leases.list);
    free(resource->reserves);
}

#define KIND(type) sizeof(struct type), offsetof(struct type, line)
#define IN(owner, list, n) offsetof(struct owner, list), offsetof(struct owner, n)

const struct status_kind status_kinds[N_STATUS_LINES] = {
    [LINE_RESOURCE] = {KIND(status_resource), resource_finish, resource_deinit,
        IN(status, resources, n_resources), false},
    [LINE_TEMPLATE] = {KIND(status_resource), resource_finish, resource_deinit,
        IN(status, templates, n_templates), false},
    [LINE_HOLDER] = {KIND(status_lease), lease_finish, NULL,
        IN(status_resource, leases.list, leases.n), true},
    [LINE_WAITER] = {KIND(status_lease), lease_finish, NULL,
        IN(status_resource, leases.list, leases.n), true},
    [LINE_DATABASE] = {KIND(status_database), database_finish, NULL,
        IN(status, databases, n_databases), false},
    [LINE_HOST] = {KIND(status_host), host_finish, NULL, IN(status, hosts, n_hosts), false},
    [LINE_GONE] = {KIND(status_gone), gone_finish, NULL, IN(status, gone, n_gone), false},
};

static char **line_of(enum status_line kind, void *record)
{
    return (char **)((char *)record + status_kinds[kind].line);
}

bool status_record_take(enum status_line kind, void *record, const char *line)
{
    char *words[MAX_WORDS], **copy = line_of(kind, record);
    const char **name = record; /* each record's first member */
    *copy = memory_string(line);
    size_t n = words_split(*copy, words, MAX_WORDS);
    return line_take(status_fields(kind), words, n, name, record) &&
        status_kinds[kind].finish(record, words, n);
}

void status_record_deinit(enum status_line kind, void *record)
{
    kind = kind == LINE_WAITER ? LINE_HOLDER : kind; /* a lease may have been either */
    for (const struct field *field = status_fields(kind); field->key; field++) {
        if (field->type == FIELD_WORDS || field->type == FIELD_UNITS) {
            free(((struct words *)((char *)record + field->offset))->list);
        }
    }
    if (status_kinds[kind].deinit) {
        status_kinds[kind].deinit(record);
    }
    free(*line_of(kind, record));
}

/* ---- the answer ---- */

/* A lease is of the resource whose line came last. */
static void *owner_of(struct status *status, const struct status_kind *kind)
{
    void *last =
        status->n_resources > 0 ? &status->resources[status->n_resources - 1] : NULL;
    return kind->is_lease ? last : status;
}

/* A copy: the pointers are of different types. */
static void *list_of(const void *owner, const struct status_kind *kind)
{
    void *list;
    memcpy(&list, (const char *)owner + kind->list, sizeof list);
    return list;
}

static bool take_record(struct status *status, enum status_line line, const char *text)
{
    const struct status_kind *kind = &status_kinds[line];
    char *owner = owner_of(status, kind);
    if (!owner) {
        return false;
    }
    size_t *n = (size_t *)(owner + kind->n);
    char *list = memory_grow(list_of(owner, kind), *n, kind->size);
    memcpy(owner + kind->list, &list, sizeof list);
    return status_record_take(line, list + (*n)++ * kind->size, text);
}

static bool take_ok(struct status *status, const char *line)
{
    char *words[MAX_WORDS];
    free(status->line);
    status->line = memory_string(line);
    size_t n = words_split(status->line, words, MAX_WORDS);
    status->begun = n > 0 && strcmp(words[0], "ok") == 0;
    return status->begun &&
        fields_take(status_fields(LINE_FIGURES), words + 1, n - 1, status);
}

enum answer_result status_take(void *object, char *line)
{
    struct status *status = object;
    enum status_line kind = status_line_of(line);
    bool is_good = line[0] != '\0' && line[0] != ' ';
    if (!status->begun) {
        is_good = take_ok(status, line);
    } else if (strcmp(line, "end") == 0 || strncmp(line, "end ", strlen("end ")) == 0) {
        return ANSWER_END;
    } else if (kind != N_STATUS_LINES && status_kinds[kind].size > 0) {
        is_good = take_record(status, kind, line);
    }
    return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
}

void status_deinit(struct status *status)
{
    for (enum status_line line = 0; line < N_STATUS_LINES; line++) {
        const struct status_kind *kind = &status_kinds[line];
        if (kind->size > 0 && !kind->is_lease) {
            char *list = list_of(status, kind);
            size_t n = *(size_t *)((char *)status + kind->n);
            for (size_t i = 0; i < n; i++) {
                status_record_deinit(line, list + i * kind->size);
            }
            free(list);
        }
    }
    free(status->line);
    *status = (struct status){0};
}

/* ---- queries ---- */

static uint64_t span_of(int64_t from, int64_t to)
{
    return to > from ? (uint64_t)(to - from) : 0;
}

uint64_t status_since(const struct status *status, const struct instant *instant)
{
    return span_of(instant->at, status->now.at);
}

uint64_t status_until(const struct status *status, const struct instant *instant)
{
    return span_of(status->now.at, instant->at);
}

const struct status_lease *status_lease_find(
    const struct status_resource *resource, const char *id)
{
    for (size_t i = 0; i < resource->leases.n; i++) {
        if (strcmp(resource->leases.list[i].id, id) == 0) {
            return &resource->leases.list[i];
        }
    }
    return NULL;
}

static int by_id(const void *left, const void *right)
{
    const struct status_lease *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

size_t status_leases_once(const struct status_lease *list[], size_t n)
{
    size_t n_different = 0;
    if (n > 0) {
        qsort(list, n, sizeof *list, by_id);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_id(&list[i - 1], &list[i]) != 0) {
            list[n_different++] = list[i];
        }
    }
    return n_different;
}

size_t status_each_lease(const struct status *status, bool held, bool waiting,
    const struct status_lease ***listp)
{
    size_t n = 0;
    *listp = NULL;
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_leases *leases = &status->resources[i].leases;
        *listp = memory_resize(*listp, n + leases->n + 1, sizeof **listp);
        for (size_t k = 0; k < leases->n; k++) {
            (*listp)[n] = &leases->list[k];
            n += leases->list[k].is_held ? held : waiting;
        }
    }
    return status_leases_once(*listp, n);
}

const void *status_record_named(
    const struct status *status, enum status_line line, const char *name)
{
    const struct status_kind *kind = &status_kinds[line];
    const char *list = list_of(status, kind);
    size_t n = *(const size_t *)((const char *)status + kind->n);
    for (size_t i = 0; i < n; i++) {
        const void *record = list + i * kind->size;
        if (strcmp(*(const char *const *)record, name) == 0) {
            return record;
        }
    }
    return NULL;
}

const struct status_resource *status_first(
    const struct status *status, bool (*is_it)(const struct status_resource *resource))
{
    for (size_t i = 0; i < status->n_resources; i++) {
        if (is_it(&status->resources[i])) {
            return &status->resources[i];
        }
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        if (is_it(&status->templates[i])) {
            return &status->templates[i];
        }
    }
    return NULL;
}

bool status_is_in_grace(const struct status *status, const struct status_resource *resource)
{
    const struct status_database *database =
        resource->database ? status_record_named(status, LINE_DATABASE, resource->database) : NULL;
    return database && database->grace_until.is_given;
}

bool status_rate_holds(const struct status *status, const struct status_resource *resource)
{
    return resource->next.is_given && resource->next.at > status->now.at;
}

uint64_t status_grantable(const struct status *status, const struct status_resource *resource)
{
    bool host_gives_nothing = status->granting.is_given && status->granting.number == 0;
    bool gives_nothing =
        host_gives_nothing || status->draining || status_is_in_grace(status, resource);
    gives_nothing |= status_rate_holds(status, resource);
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
    for (size_t i = 0; i < resource->leases.n; i++) {
        if (words_contain(&resource->leases.list[i].units, item)) {
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
