#include "status/snapshot.h"

#include "base/memory.h"
#include "status/status_walk.h"

#include <stdlib.h>

/* What a database has said; or else what this host knows. */
struct fleet_part {
    struct view *view; /* or NULL */
    const char *why; /* why there is none; NULL: not asked */
};

struct snapshot {
    struct long_answer answer;
    struct snapshot_database databases[MAX_DATABASES]; /* database 1 first */
    struct fleet_part fleet[MAX_DATABASES + 1];
    struct walk_source source;
    struct status_walk walk;
};

static const struct long_answer_kind snapshot_kind;

static void set_database(void *context, uint8_t database, struct scene *scene)
{
    const struct snapshot *snapshot = context;
    const struct fleet_part *part = &snapshot->fleet[database];
    scene->database = snapshot->databases[database - 1].name;
    scene->session = snapshot->databases[database - 1].session;
    scene->state = part->why;
    scene->rows = part->view ? part->view->rows : NULL;
    scene->listed_at = part->view ? part->view->made_at : scene->now;
}

static struct snapshot *begin(const struct snapshot_source *source, const char *const names[],
    size_t n, uint64_t only)
{
    struct snapshot *snapshot = memory_new(sizeof *snapshot);
    snapshot->answer.kind = &snapshot_kind;
    memcpy(snapshot->databases, source->databases, sizeof snapshot->databases);
    snapshot->source = (struct walk_source){
        .core = source->core,
        .n_databases = MAX_DATABASES,
        .context = snapshot,
        .set_database = set_database,
    };
    status_walk_begin(&snapshot->walk, &snapshot->source, names, n, only);
    return snapshot;
}

struct snapshot *snapshot_new_of(
    const struct snapshot_source *source, const char *const names[], size_t n)
{
    return begin(source, names, n, 0);
}

struct snapshot *snapshot_new_of_lease(
    const struct snapshot_source *source, const struct lease *lease)
{
    const char *names[MAX_RESOURCES_PER_LEASE];
    for (size_t i = 0; i < lease->n_claims; i++) {
        names[i] = lease->claims[i].resource->name;
    }
    return begin(source, names, lease->n_claims, lease->id);
}

static struct snapshot *snapshot_of(struct long_answer *answer)
{
    return container_of(answer, struct snapshot, answer);
}

static void free_snapshot(struct long_answer *answer)
{
    struct snapshot *snapshot = snapshot_of(answer);
    status_walk_end(&snapshot->walk);
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        view_release(snapshot->fleet[i].view);
    }
    free(snapshot);
}

struct long_answer *snapshot_answer(struct snapshot *snapshot)
{
    return &snapshot->answer;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
    if (snapshot) {
        long_answer_free(&snapshot->answer);
    }
    return NULL;
}

void snapshot_set_view(
    struct snapshot *snapshot, uint8_t database, struct view *view, const char *why)
{
    snapshot->fleet[database] = (struct fleet_part){.view = view, .why = view ? NULL : why};
}

static uint32_t view_weight(const struct long_answer *answer)
{
    const size_t heavy = (size_t)8 << 20;
    const struct snapshot *snapshot = container_of(answer, const struct snapshot, answer);
    size_t bytes = 0;
    bool has_views = false;
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        const struct view *view = snapshot->fleet[i].view;
        has_views |= view != NULL;
        bytes += view ? view->rows->n_bytes : 0;
    }
    return has_views + (uint32_t)(bytes / heavy);
}

static bool make_piece(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    return status_walk_continue(&snapshot_of(answer)->walk, moment, out, enough);
}

static const struct long_answer_kind snapshot_kind = {
    .more = make_piece, .view_weight = view_weight, .free = free_snapshot};
