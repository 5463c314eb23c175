#include "view/past.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The same lease, under its own id, or (of an earlier session of this host) as SESSION/LEASE. */
static const char *own_id(const struct past_lease *lease, const char *this_host)
{
    const char *slash = strchr(lease->id, '/');
    bool is_own = slash && lease->host && this_host && strcmp(lease->host, this_host) == 0;
    return is_own ? slash + 1 : lease->id;
}

static int by_id(const void *left, const void *right)
{
    const struct past_lease *a = *(const struct past_lease *const *)left,
                            *b = *(const struct past_lease *const *)right;
    return strcmp(a->id, b->id);
}

/* The leases of the past in that order; the caller frees the list. */
static const struct past_lease **sorted_leases(
    const struct past *past, int (*compare)(const void *left, const void *right))
{
    const struct past_lease **list = memory_resize(NULL, past->n + 1, sizeof *list);
    for (size_t i = 0; i < past->n; i++) {
        list[i] = &past->leases[i];
    }
    qsort(list, past->n, sizeof *list, compare);
    return list;
}

static bool is_listed(const struct past_lease *const list[], size_t n,
    const struct past_lease *lease, const char *this_host)
{
    const struct past_lease wanted = {.id = own_id(lease, this_host)}, *key = &wanted;
    return bsearch(&key, list, n, sizeof *list, by_id);
}

/* What ended at one time stays in its order. */
static int by_end(const void *left, const void *right)
{
    const struct past_lease *a = *(const struct past_lease *const *)left,
                            *b = *(const struct past_lease *const *)right;
    return a->ended != b->ended ? (a->ended > b->ended) - (a->ended < b->ended)
                                : (a > b) - (a < b);
}

/* Those of both that are left. Who answers may have learnt late how a dead host's have ended. */
static void merge_leases(struct past *into, struct past *from)
{
    size_t n = into->n + from->n;
    struct past_lease *leases = memory_resize(NULL, n + 1, sizeof *leases);
    into->leases = memory_resize(into->leases, n + 1, sizeof *leases);
    for (size_t i = 0; i < from->n; i++) {
        into->leases[into->n++] = from->leases[i];
    }
    from->n = 0;
    const struct past_lease **list = sorted_leases(into, by_end);
    for (size_t i = 0; i < n; i++) {
        leases[i] = *list[i];
    }
    free(list);
    free(into->leases);
    into->leases = leases;
}

static void drop_repeats(const struct past *into, struct past *from, const char *this_host)
{
    const struct past_lease **list = sorted_leases(into, by_id);
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        if (is_listed(list, into->n, &from->leases[i], this_host)) {
            past_lease_deinit(&from->leases[i]);
        } else {
            from->leases[n++] = from->leases[i];
        }
    }
    from->n = n;
    free(list);
}

static int by_from(const void *left, const void *right)
{
    const struct past_gap *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

static int by_at(const void *left, const void *right)
{
    const struct past_action *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

/* Both lists are short. */
static void merge_others(struct past *into, struct past *from)
{
    for (size_t i = 0; i < from->n_gaps; i++) {
        into->gaps = memory_grow(into->gaps, into->n_gaps, sizeof into->gaps[0]);
        into->gaps[into->n_gaps++] = from->gaps[i];
    }
    for (size_t i = 0; i < from->n_actions; i++) {
        into->actions = memory_grow(into->actions, into->n_actions, sizeof into->actions[0]);
        into->actions[into->n_actions++] = from->actions[i];
    }
    if (from->n_gaps > 0) {
        qsort(into->gaps, into->n_gaps, sizeof into->gaps[0], by_from);
    }
    if (from->n_actions > 0) {
        qsort(into->actions, into->n_actions, sizeof into->actions[0], by_at);
    }
    from->n_gaps = from->n_actions = 0;
}

bool past_knows_as_long(const struct past *into, const struct past_source *source)
{
    const struct optional *asked = into->only ? &into->only->since : NULL;
    uint64_t since = into->sources[0].since.number;
    uint64_t begin = asked && asked->is_given && asked->number > since ? asked->number : since;
    return source->since.is_given && source->since.number <= begin;
}

static void drop_own(struct past *from, const char *this_host)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        struct past_lease *lease = &from->leases[i];
        if (!lease->host || (this_host && strcmp(lease->host, this_host) == 0)) {
            past_lease_deinit(lease);
        } else {
            from->leases[n++] = *lease;
        }
    }
    from->n = n;
}

void past_merge(struct past *into, struct past *from, const char *this_host)
{
    bool has_figures = into->sums.rows.n > 0;
    for (size_t i = 0; i < from->n_sources; i++) {
        const struct past_source *source = &from->sources[i];
        if (source->database && has_figures && past_knows_as_long(into, source)) {
            sums_forget(&into->sums, source->database);
        } else if (source->database && has_figures) {
            drop_own(from, this_host); /* they are in the figures, which know more of them */
        }
        past_add_source(into, source);
    }
    from->n_sources = 0;
    sums_merge(&into->sums, &from->sums);
    drop_repeats(into, from, this_host);
    merge_leases(into, from);
    merge_others(into, from);
}

static void cut_leases(struct past *past, size_t n_cut)
{
    for (size_t i = 0; i < n_cut; i++) {
        past_lease_deinit(&past->leases[i]);
    }
    past->n -= n_cut;
    memmove(past->leases, past->leases + n_cut, past->n * sizeof past->leases[0]);
}

static void cut_actions(struct past *past, size_t n_cut)
{
    for (size_t i = 0; i < n_cut; i++) {
        free(past->actions[i].line);
    }
    past->n_actions -= n_cut;
    memmove(past->actions, past->actions + n_cut, past->n_actions * sizeof past->actions[0]);
}

/* Those that are over before that. */
static void cut_gaps(struct past *past, uint64_t before)
{
    size_t n = 0;
    for (size_t i = 0; i < past->n_gaps; i++) {
        if (past->gaps[i].until < before) {
            free(past->gaps[i].line);
        } else {
            past->gaps[n++] = past->gaps[i];
        }
    }
    past->n_gaps = n;
}

void past_cut(struct past *past, uint64_t limit)
{
    size_t n_leases = past->n, n_actions = past->n_actions; /* that are older */
    for (uint64_t n = 0; n < limit && n_leases + n_actions > 0; n++) {
        bool is_lease = n_leases > 0 &&
            (n_actions == 0 ||
                past->leases[n_leases - 1].ended >= past->actions[n_actions - 1].at);
        n_leases -= is_lease;
        n_actions -= !is_lease;
    }
    if (n_leases > 0) {
        cut_leases(past, n_leases);
    }
    if (n_actions > 0) {
        cut_actions(past, n_actions);
    }
    if (n_leases + n_actions > 0) {
        cut_gaps(past, past_begin(past));
        past->sources[0].has_more = true;
    }
}
