#include "view/stats.h"

#include "base/memory.h"
#include "base/pattern.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

/* ---- durations ---- */

void durations_add(struct durations *durations, uint64_t milliseconds)
{
    durations->list = memory_grow(durations->list, durations->n, sizeof durations->list[0]);
    durations->list[durations->n++] = milliseconds;
}

void durations_deinit(struct durations *durations)
{
    free(durations->list);
    *durations = (struct durations){0};
}

uint64_t nearest_rank(const uint64_t sorted[], size_t n, unsigned percent)
{
    size_t rank = n / 100 * percent + (n % 100 * percent + 99) / 100; /* n * percent may overflow */
    return sorted[rank > 0 ? rank - 1 : 0];
}

struct percentiles percentiles_of(struct durations *durations)
{
    struct percentiles percentiles = {.n = durations->n};
    if (durations->n == 0) {
        return percentiles;
    }
    qsort(durations->list, durations->n, sizeof durations->list[0], numbers_compare);
    for (size_t i = 0; i < durations->n; i++) {
        bool fits = durations->list[i] <= UINT64_MAX - percentiles.sum;
        percentiles.sum = fits ? percentiles.sum + durations->list[i] : UINT64_MAX;
    }
    percentiles.median = nearest_rank(durations->list, durations->n, 50);
    percentiles.percentile_95 = nearest_rank(durations->list, durations->n, 95);
    percentiles.longest = durations->list[durations->n - 1];
    return percentiles;
}

/* ---- samples ---- */

/* What one lease had or wanted of one resource. */
struct sample {
    const char *name, *lease;
    struct shown_user user;
    bool is_first; /* of the lease's: a user's lease on several resources counts once */
    bool has_ended, waits; /* .waits: now; if neither, it is held */
    uint64_t waited; /* if it has ended, or waits */
    struct optional hold; /* of one that has ended */
    struct words units;
    bool are_some; /* there are more than these */
    uint64_t held; /* in the span */
    struct optional unit_time;
};

struct samples {
    struct sample *list;
    size_t n;
};

static void add_sample(struct samples *samples, const struct sample *sample)
{
    samples->list = memory_grow(samples->list, samples->n, sizeof *samples->list);
    samples->list[samples->n++] = *sample;
}

static uint64_t held_in_span(const struct past_lease *lease, uint64_t from)
{
    uint64_t granted = past_granted(lease);
    uint64_t begin = granted > from ? granted : from;
    return lease->held.is_given && lease->ended > begin ? lease->ended - begin : 0;
}

/* berthd answers with all claims of a lease that has one of the names. */
static void add_past(struct samples *samples, const struct past *past,
    const struct past_choice *choice, uint64_t from)
{
    for (size_t i = 0; i < past->n; i++) {
        const struct past_lease *lease = &past->leases[i];
        for (size_t j = 0; j < lease->n_claims; j++) {
            const struct past_claim *claim = &lease->claims[j];
            if (patterns_match(choice->names, choice->n_names, claim->name)) {
                add_sample(samples,
                    &(struct sample){
                        .name = claim->name,
                        .lease = lease->id,
                        .user = lease->user,
                        .has_ended = true,
                        .waited = lease->waited,
                        .hold = lease->held,
                        .units = claim->units,
                        .are_some = lease->has_more_claims,
                        .held = held_in_span(lease, from),
                    });
            }
        }
    }
}

static int compare_ids(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The ids of those that have ended, sorted. */
static const char **ended_ids(const struct past *past)
{
    const char **ids = memory_resize(NULL, past->n + 1, sizeof ids[0]);
    for (size_t i = 0; i < past->n; i++) {
        ids[i] = past->leases[i].id;
    }
    qsort(ids, past->n, sizeof ids[0], compare_ids);
    return ids;
}

/* What is running now, and whose of it counts. */
struct running {
    const struct status *status;
    const char **ended; /* ids, sorted */
    size_t n_ended;
    uint64_t span;
};

static bool counts(const struct running *running, const struct status_lease *lease)
{
    bool has_ended =
        bsearch(&lease->id, running->ended, running->n_ended, sizeof lease->id, compare_ids);
    /* SESSION/LEASE is one of another host, whose history is not this one's. */
    return !has_ended && !strchr(lease->id, '/');
}

static void add_leases_running(struct samples *samples, const struct status_resource *resource,
    const struct running *running)
{
    for (size_t i = 0; i < resource->leases.n; i++) {
        const struct status_lease *lease = &resource->leases.list[i];
        uint64_t since = status_since(running->status, &lease->since);
        bool wait = !lease->is_held;
        if (counts(running, lease)) {
            add_sample(samples,
                &(struct sample){
                    .name = resource->name,
                    .lease = lease->id,
                    .user.uid = {true, lease->uid},
                    .waits = wait,
                    .waited = wait ? since : 0,
                    .units = lease->units, /* none of one that waits */
                    .held = wait ? 0 : since < running->span ? since : running->span,
                });
        }
    }
}

static void add_running(
    struct samples *samples, const struct status *status, const struct past *past, uint64_t span)
{
    const struct running running = {
        .status = status, .ended = ended_ids(past), .n_ended = past->n, .span = span};
    for (size_t i = 0; i < status->n_resources; i++) {
        add_leases_running(samples, &status->resources[i], &running);
    }
    free(running.ended);
}

static int by_lease(const void *left, const void *right)
{
    return strcmp(((const struct sample *)left)->lease, ((const struct sample *)right)->lease);
}

/* Of each lease, one of its samples. */
static void mark_first(struct samples *samples)
{
    qsort(samples->list, samples->n, sizeof samples->list[0], by_lease);
    for (size_t i = 0; i < samples->n; i++) {
        struct sample *sample = &samples->list[i];
        sample->is_first = i == 0 || by_lease(sample - 1, sample) != 0;
    }
}

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

/* False: that is not known. An item of a pool may look like a range. */
static bool count_units(
    const struct words *units, const struct definition *definition, uint64_t *np)
{
    *np = 0;
    for (size_t i = 0; i < units->n; i++) {
        uint64_t first, last;
        bool is_range =
            strchr(units->list[i], '-') && !(definition->is_known && definition->is_pool);
        if (is_range && (!definition->is_known || !slots_parse(units->list[i], &first, &last))) {
            return false;
        }
        *np += is_range ? last - first + 1 : 1;
    }
    return !units->is_cut;
}

static void measure(struct sample *sample, const struct definition *definition)
{
    uint64_t n;
    bool is_known = count_units(&sample->units, definition, &n) && !sample->are_some;
    sample->unit_time = (struct optional){is_known, is_known ? n * sample->held : 0};
}

/* ---- groups ---- */

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct sample *)left)->name, ((const struct sample *)right)->name);
}

static int by_user(const void *left, const void *right)
{
    uint64_t a = ((const struct sample *)left)->user.uid.number,
             b = ((const struct sample *)right)->user.uid.number;
    return (a > b) - (a < b);
}

static int by_name_and_user(const void *left, const void *right)
{
    int order = by_name(left, right);
    return order ? order : by_user(left, right);
}

/* How many samples at the start are of one group. */
static size_t group(const struct sample samples[], size_t n,
    int (*compare)(const void *left, const void *right))
{
    size_t end = 1;
    while (end < n && compare(&samples[0], &samples[end]) == 0) {
        end++;
    }
    return end;
}

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

/* `is_of_users`: each lease counts once. `whole`: of which the unit time is a part. */
static struct figures figures_of(const struct sample samples[], size_t n, bool is_of_users,
    const struct optional *whole)
{
    struct figures figures = {.unit_time = {true, 0}};
    struct durations waits = {0}, holds = {0};
    for (size_t i = 0; i < n; i++) {
        const struct sample *sample = &samples[i];
        bool is_counted = sample->is_first || !is_of_users;
        if (is_counted && (sample->has_ended || sample->waits)) {
            durations_add(&waits, sample->waited);
            figures.n_waiting += sample->waits;
            figures.n_leases += sample->hold.is_given;
            figures.n_refused += sample->has_ended && !sample->hold.is_given;
        }
        if (is_counted && sample->hold.is_given) {
            durations_add(&holds, sample->hold.number);
        }
        figures.unit_time.is_given &= sample->unit_time.is_given;
        figures.unit_time.number += sample->unit_time.number;
    }
    figures.permille = permille_of(&figures.unit_time, whole);
    figures.waits = percentiles_of(&waits);
    figures.holds = percentiles_of(&holds);
    durations_deinit(&waits);
    durations_deinit(&holds);
    return figures;
}

static int by_waits(const void *left, const void *right)
{
    const struct stats_user *a = left, *b = right;
    uint64_t x = a->figures.waits.sum, y = b->figures.waits.sum;
    return x != y
        ? (x < y) - (x > y)
        : (a->user.uid.number > b->user.uid.number) - (a->user.uid.number < b->user.uid.number);
}

/* Of samples sorted by user. */
static struct stats_user *users_of(const struct sample samples[], size_t n, bool is_of_users,
    const struct optional *whole, size_t *n_usersp)
{
    struct stats_user *users = NULL;
    *n_usersp = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + group(&samples[i], n - i, by_user);
        users = memory_resize(users, *n_usersp + 1, sizeof users[0]);
        users[(*n_usersp)++] = (struct stats_user){
            .user = samples[i].user,
            .figures = figures_of(&samples[i], end - i, is_of_users, whole)};
    }
    if (users) {
        qsort(users, *n_usersp, sizeof users[0], by_waits);
    }
    return users;
}

static void stats_add_resource(
    struct stats *stats, const struct sample samples[], size_t n, const struct status *status)
{
    uint64_t span = stats->to - stats->from;
    const struct definition definition = find_definition(status, samples[0].name);
    const struct optional capacity = {
        definition.limit.is_given && span > 0, definition.limit.number * span};
    stats->resources =
        memory_resize(stats->resources, stats->n_resources + 1, sizeof stats->resources[0]);
    struct stats_resource *resource = &stats->resources[stats->n_resources++];
    *resource = (struct stats_resource){
        .name = samples[0].name,
        .figures = figures_of(samples, n, false, &capacity),
    };
    resource->users = users_of(samples, n, false, &capacity, &resource->n_users);
}

/* When the oldest lease was asked for, if the answer has it; else when it ended. */
static uint64_t begin_of_memory(const struct past *past)
{
    uint64_t since = past->since.is_given ? past->since.number : past->now;
    bool has_oldest = past->n > 0 && past->leases[0].ended == since;
    return has_oldest ? past_asked(&past->leases[0]) : since;
}

static uint64_t begin_of_span(const struct past *past, const struct optional *since)
{
    uint64_t known = begin_of_memory(past);
    uint64_t from = since->is_given && since->number > known ? since->number : known;
    return from < past->now ? from : past->now;
}

/* Sorts the samples, and computes the unit time of each. */
static void measure_all(struct samples *samples, const struct status *status)
{
    qsort(samples->list, samples->n, sizeof samples->list[0], by_name_and_user);
    for (size_t i = 0, end; i < samples->n; i = end) {
        end = i + group(&samples->list[i], samples->n - i, by_name);
        const struct definition definition = find_definition(status, samples->list[i].name);
        for (size_t j = i; j < end; j++) {
            measure(&samples->list[j], &definition);
        }
    }
}

static void keep_user(struct samples *samples, const struct optional *uid)
{
    size_t n = 0;
    for (size_t i = 0; i < samples->n; i++) {
        if (!uid->is_given || samples->list[i].user.uid.number == uid->number) {
            samples->list[n++] = samples->list[i];
        }
    }
    samples->n = n;
}

/* Of measured samples in order, at least one. */
static void compute(struct stats *stats, struct samples *samples, const struct status *status)
{
    for (size_t i = 0, end; i < samples->n; i = end) {
        end = i + group(&samples->list[i], samples->n - i, by_name);
        stats_add_resource(stats, &samples->list[i], end - i, status);
    }
    for (size_t i = 0; i < samples->n; i++) {
        stats->n_ended += samples->list[i].has_ended && samples->list[i].is_first;
    }
    qsort(samples->list, samples->n, sizeof samples->list[0], by_user);
    stats->users =
        users_of(samples->list, samples->n, true, &stats->unit_time, &stats->n_users);
}

struct stats stats_of(
    const struct past *past, const struct status *status, const struct past_choice *choice)
{
    struct stats stats = {
        .from = begin_of_span(past, &choice->since), .to = past->now, .unit_time = {true, 0}};
    struct samples samples = {0};
    add_past(&samples, past, choice, stats.from);
    add_running(&samples, status, past, stats.to - stats.from);
    if (samples.n > 0) {
        mark_first(&samples);
        measure_all(&samples, status);
        stats.unit_time = figures_of(samples.list, samples.n, true, &stats.unit_time).unit_time;
        keep_user(&samples, &choice->uid);
    }
    if (samples.n > 0) {
        compute(&stats, &samples, status);
    }
    free(samples.list);
    return stats;
}

void stats_deinit(struct stats *stats)
{
    for (size_t i = 0; i < stats->n_resources; i++) {
        free(stats->resources[i].users);
    }
    free(stats->resources);
    free(stats->users);
    *stats = (struct stats){0};
}
