#include "view/stats.h"

#include "base/memory.h"
#include "base/pattern.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

/* ---- units ---- */

/* What status says of a name. */
struct definition {
    bool is_known, is_pool;
    struct optional limit; /* not given: it may have been another one in the span */
};

/* The template of an instance that nobody uses now: it is not listed. */
static const struct status_resource *find_template(const struct status *status, const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) + 1 : 0;
    for (size_t i = 0; n > 0 && i < status->n_templates; i++) {
        const char *template = status->templates[i].name;
        if (strncmp(template, name, n) == 0 && strcmp(template + n, "*") == 0) {
            return &status->templates[i];
        }
    }
    return NULL;
}

static struct definition find_definition(const struct status *status, const char *name)
{
    const struct status_resource *resource = status_record_named(status, LINE_RESOURCE, name);
    const struct status_resource *shown = resource ? resource : find_template(status, name);
    if (!shown) {
        return (struct definition){.is_known = false};
    }
    bool is_as_ever = !shown->database && !shown->removed && shown->changed.n == 0;
    return (struct definition){
        .is_known = true,
        .is_pool = status_is_pool(shown),
        .limit = {is_as_ever && shown->limit > 0, shown->limit},
    };
}

/* How many units of that resource; not given: that is not known. An item of a pool may look like a
 * range. */
static struct optional count_units(
    const struct words *units, const struct status *status, const char *name)
{
    struct optional n = {!units->is_cut, 0};
    for (size_t i = 0; i < units->n && n.is_given; i++) {
        uint64_t first = 0, last = 0;
        if (strchr(units->list[i], '-')) {
            const struct definition definition = find_definition(status, name);
            n.is_given = definition.is_known &&
                (definition.is_pool || slots_parse(units->list[i], &first, &last));
        }
        n.number += last - first + 1;
    }
    return n;
}

/* ---- what is over ---- */

/* The answers have all claims of a lease that has one of the names. */
static void count_ended(struct sums *sums, const struct past_lease *lease,
    const struct status *status, const struct past_choice *choice)
{
    struct sums_claim *claims = memory_resize(NULL, lease->n_claims + 1, sizeof *claims);
    size_t n = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct past_claim *claim = &lease->claims[i];
        bool is_share = claim->units.n > 0 && claim->units.list[0][0] == '@';
        if (!is_share && patterns_match(choice->names, choice->n_names, claim->name)) {
            claims[n] = (struct sums_claim){
                claim->name, count_units(&claim->units, status, claim->name)};
            claims[n++].units.is_given &= !lease->has_more_claims;
        }
    }
    sums_add(sums,
        &(struct sums_entry){
            .kind = lease->held.is_given ? SUMS_LEASE : SUMS_REFUSED,
            .uid = lease->user.uid.number,
            .ended = lease->ended,
            .waited = lease->waited,
            .held = lease->held.is_given ? lease->held.number : 0,
            .database = lease->database,
        },
        claims, n);
    free(claims);
}

/* ---- what goes on ---- */

struct running {
    const struct status_lease *lease;
    const struct status_resource *resource;
};

static int by_id(const void *left, const void *right)
{
    return strcmp(((const struct running *)left)->lease->id,
        ((const struct running *)right)->lease->id);
}

/* SESSION/LEASE is one of another host, which the history has only if it is the database's, too. */
static bool is_of_this_past(const struct past *past, const struct running *running)
{
    const char *database = running->resource->database;
    return !strchr(running->lease->id, '/') || (database && past_has(past, database));
}

/* Those of one lease, of so many resources. What was asked for after the span does not count. */
static void count_running(struct sums *sums, const struct running running[], size_t n,
    const struct status *status, uint64_t now)
{
    struct sums_claim *claims = memory_resize(NULL, n, sizeof *claims);
    const struct status_lease *lease = running->lease;
    uint64_t age = status_since(status, &lease->since);
    for (size_t i = 0; i < n; i++) {
        const char *name = running[i].resource->name;
        claims[i] = (struct sums_claim){
            name, count_units(&running[i].lease->units, status, name)};
    }
    if (age + sums->to > now) {
        sums_add(sums,
            &(struct sums_entry){
                .kind = lease->is_held ? SUMS_HELD : SUMS_WAITING,
                .uid = lease->uid,
                .ended = now,
                .waited = lease->is_held ? 0 : age,
                .held = lease->is_held ? age : 0,
                .database = running->resource->database,
            },
            claims, n);
    }
    free(claims);
}

static void count_all_running(
    struct sums *sums, const struct past *past, const struct status *status)
{
    struct running *list = NULL;
    size_t n = 0;
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        for (size_t j = 0; j < resource->leases.n; j++) {
            const struct running running = {&resource->leases.list[j], resource};
            if (!running.lease->shares && is_of_this_past(past, &running)) {
                list = memory_grow(list, n, sizeof *list);
                list[n++] = running;
            }
        }
    }
    if (n > 0) {
        qsort(list, n, sizeof *list, by_id);
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by_id(&list[i], &list[end]) == 0; end++) {
        }
        count_running(sums, &list[i], end - i, status, past->now);
    }
    free(list);
}

/* ---- rows ---- */

static struct optional permille_of(
    const struct optional *unit_time, const struct optional *whole)
{
    if (!unit_time->is_given || !whole->is_given || whole->number == 0 ||
        unit_time->number > whole->number) { /* more than all: the limit was another one */
        return (struct optional){0};
    }
    double part = (double)unit_time->number / (double)whole->number;
    return (struct optional){true, (uint64_t)(part * 1000 + 0.5)};
}

/* Of rows of one name, or of one name and user, one that is all of them. */
static struct stats_row sum_of(const struct sums_row *const rows[], size_t n)
{
    struct stats_row sum = {.name = rows[0]->name, .user.uid = {true, rows[0]->uid}};
    sum.figures.unit_time.is_given = true;
    for (size_t i = 0; i < n; i++) {
        figures_merge(&sum.figures, &rows[i]->figures);
    }
    return sum;
}

static int by_waits(const void *left, const void *right)
{
    const struct stats_row *a = left, *b = right;
    uint64_t x = a->figures.waits.sum, y = b->figures.waits.sum;
    return x != y
        ? (x < y) - (x > y)
        : (a->user.uid.number > b->user.uid.number) - (a->user.uid.number < b->user.uid.number);
}

/* One for each user of these rows of one name, sorted by user: one has several if the name was of
 * several databases. `whole`: of which the unit time is a part. */
static struct stats_row *users_of(const struct sums_row *const rows[], size_t n,
    const struct optional *whole, size_t *n_usersp)
{
    struct stats_row *users = memory_resize(NULL, n + 1, sizeof users[0]);
    size_t n_users = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && rows[end]->uid == rows[i]->uid; end++) {
        }
        users[n_users] = sum_of(&rows[i], end - i);
        users[n_users].permille = permille_of(&users[n_users].figures.unit_time, whole);
        n_users++;
    }
    qsort(users, n_users, sizeof users[0], by_waits);
    *n_usersp = n_users;
    return users;
}

static void stats_add_resource(struct stats *stats, const struct sums_row *const rows[],
    size_t n, const struct status *status)
{
    uint64_t span = stats->to - stats->from;
    const struct definition definition = find_definition(status, rows[0]->name);
    const struct optional capacity = {
        definition.limit.is_given && span > 0, definition.limit.number * span};
    stats->resources =
        memory_grow(stats->resources, stats->n_resources, sizeof stats->resources[0]);
    struct stats_resource *resource = &stats->resources[stats->n_resources++];
    resource->all = sum_of(rows, n);
    resource->all.permille = permille_of(&resource->all.figures.unit_time, &capacity);
    resource->users = users_of(rows, n, &capacity, &resource->n_users);
}

/* The rows of all resources of each user. */
static void stats_add_users(struct stats *stats, const struct sums_row *const rows[], size_t n,
    const struct optional *whole)
{
    stats->users = users_of(rows, n, whole, &stats->n_users);
    for (size_t i = 0; i < stats->n_users; i++) {
        const struct figures *figures = &stats->users[i].figures;
        stats->n_ended += figures->n_leases + figures->n_refused;
    }
}

static size_t keep_user(
    const struct sums_row *rows[], size_t n, const struct optional *uid)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!uid->is_given || rows[i]->uid == uid->number) {
            rows[n_kept++] = rows[i];
        }
    }
    return n_kept;
}

static struct optional whole_of(const struct sums_row *const rows[], size_t n)
{
    struct stats_row sum = sum_of(rows, n);
    struct optional unit_time = sum.figures.unit_time;
    figures_deinit(&sum.figures);
    return unit_time;
}

static void compute(
    struct stats *stats, const struct sums *sums, const struct status *status,
    const struct optional *uid)
{
    const struct sums_row **rows;
    size_t n = sums_list(sums, &rows);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(rows[end]->name, rows[i]->name) == 0; end++) {
        }
        const struct optional whole = whole_of(&rows[i], end - i);
        size_t n_kept = keep_user(&rows[i], end - i, uid);
        if (n_kept > 0 && strcmp(rows[i]->name, SUMS_ALL) == 0) {
            stats_add_users(stats, &rows[i], n_kept, &whole);
        } else if (n_kept > 0) {
            stats_add_resource(stats, &rows[i], n_kept, status);
        }
    }
    free(rows);
}

/* ---- the span ---- */

/* When the oldest lease was asked for, if the answer has it; else when it ended. */
static uint64_t begin_of_memory(const struct past *past)
{
    const struct optional *known = &past->sources[0].since;
    uint64_t since = known->is_given ? known->number : past->now;
    bool has_oldest = past->n > 0 && past->leases[0].ended == since;
    return has_oldest ? past_asked(&past->leases[0]) : since;
}

static uint64_t begin_of_span(const struct past *past, const struct optional *since)
{
    uint64_t known = begin_of_memory(past);
    uint64_t from = since->is_given && since->number > known ? since->number : known;
    return from < past->now ? from : past->now;
}

struct stats stats_of(
    struct past *past, const struct status *status, const struct past_choice *choice)
{
    bool ends_early = choice->until.is_given && choice->until.number < past->now;
    struct stats stats = {.from = begin_of_span(past, &choice->since),
        .to = ends_early ? choice->until.number : past->now};
    stats.from = stats.from < stats.to ? stats.from : stats.to;
    past->sums.from = stats.from;
    past->sums.to = stats.to;
    for (size_t i = 0; i < past->n; i++) {
        count_ended(&past->sums, &past->leases[i], status, choice);
    }
    count_all_running(&past->sums, past, status);
    compute(&stats, &past->sums, status, &choice->uid);
    return stats;
}

static void free_rows(struct stats_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        figures_deinit(&rows[i].figures);
    }
}

void stats_deinit(struct stats *stats)
{
    for (size_t i = 0; i < stats->n_resources; i++) {
        struct stats_resource *resource = &stats->resources[i];
        free_rows(&resource->all, 1);
        free_rows(resource->users, resource->n_users);
        free(resource->users);
    }
    free_rows(stats->users, stats->n_users);
    free(stats->resources);
    free(stats->users);
    *stats = (struct stats){0};
}
