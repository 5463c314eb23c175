#include "status/lease_walk.h"

#include "base/memory.h"

#include <string.h>

void lease_walk_begin(struct lease_walk *walk, const char *name, uint64_t only)
{
    *walk = (struct lease_walk){.only = only};
    strcpy(walk->name, name);
}

/* ---- in the core ---- */

static struct sorted_set_node *node_at(const struct sorted_set *order, uint32_t rank)
{
    return rank < sorted_set_size(order) ? sorted_set_at(order, rank) : NULL;
}

static void find_waiters(struct lease_walk *walk)
{
    const struct resource *resource = walk->here;
    const struct sorted_set *sets[N_STANDINGS] = {
        &resource->queue, &resource->kept, &resource->aside};
    walk->position = 1;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        uint32_t n = sorted_set_count_below(sets[i], walk->major, walk->minor + 1);
        walk->nodes[i] = node_at(sets[i], n);
        walk->position += n;
    }
}

static bool next_holder(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    const struct claim *claim = walk->claim;
    if (!claim || (walk->only != 0 && walk->n_holders++ == MAX_HOLDERS_SHOWN)) {
        return false;
    }
    lease_row_fill(row, claim, scene);
    walk->token = claim->token;
    walk->holder = claim->lease->id + 1;
    walk->claim = claim_next_holder(claim);
    return true;
}

/* All sets together, in the one order: a waiter aside keeps its place. In fleet scope only the
 * database knows the place. */
static bool next_waiter(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    struct sorted_set_node **firstp = NULL;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        bool is_first =
            walk->nodes[i] && (!firstp || sorted_set_node_is_before(walk->nodes[i], *firstp));
        firstp = is_first ? &walk->nodes[i] : firstp;
    }
    if (!firstp || walk->only != 0) {
        return false;
    }
    lease_row_fill(row, container_of(*firstp, struct place, node)->claim, scene);
    row->line.position = scene->database ? row->line.position : walk->position;
    walk->position++;
    walk->major = (*firstp)->major;
    walk->minor = (*firstp)->minor;
    *firstp = sorted_set_next(*firstp);
    return true;
}

/* ---- in a listing ---- */

/* With .only: few of the holders, and no other waiter. */
static bool is_for_waiter(
    struct lease_walk *walk, const struct fleet_row *fields, const struct scene *scene)
{
    enum fleet_lease kind = fleet_row_kind(fields, walk->listed);
    if (kind == FLEET_HOLDER) {
        return walk->n_holders++ < MAX_HOLDERS_SHOWN;
    }
    const struct lease *own = kind == FLEET_WAITER ? lease_row_own(fields, scene) : NULL;
    bool is_itself = own && own->id == walk->only;
    walk->has_seen |= is_itself;
    return is_itself;
}

static bool next_listed(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    while (walk->listed && walk->next < walk->listed->end) {
        const struct fleet_row *fields = &scene->rows->rows[walk->next++];
        bool is_wanted = scene->follows ? !listing_is_own(scene->listing, fields)
            : walk->only != 0           ? is_for_waiter(walk, fields, scene)
                                        : true;
        if (is_wanted && lease_row_fill_listed(row, fields, walk->listed, scene)) {
            return true;
        }
    }
    return false;
}

/* The listing may be a little older than the lease's place in line. */
static bool next_own_waiter(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    const struct lease *lease =
        walk->has_seen ? NULL : core_find_lease(scene->core, walk->only);
    const struct claim *claim = lease_claim_on(lease, walk->name);
    walk->has_seen = true;
    if (!claim || lease->state != LEASE_WAITING) {
        return false;
    }
    lease_row_fill(row, claim, scene);
    row->line.position = claim_position(claim);
    return true;
}

/* ---- all ---- */

void lease_walk_resume(struct lease_walk *walk, const struct scene *scene)
{
    uint64_t listing = scene->listing ? scene->listing->number : 0;
    walk->here = core_find_resource(scene->core, walk->name);
    walk->listed = scene->rows ? fleet_rows_find(scene->rows, walk->name) : NULL;
    if (walk->part < WALK_LISTED && (!walk->here || (walk->listed && !scene->follows))) {
        walk->part = WALK_LISTED;
    }
    if (walk->part < WALK_LISTED) {
        walk->claim = resource_holder_from(walk->here, walk->token, walk->holder);
        find_waiters(walk);
    }
    if (walk->listed && (walk->next == 0 || walk->listing != listing)) {
        walk->next = walk->listed->row + 1;
        walk->listing = listing;
    }
}

void lease_walk_skip_holders(struct lease_walk *walk, const struct scene *scene)
{
    walk->major = walk->minor = 0;
    if (walk->listed) {
        walk->part = WALK_LISTED;
        walk->next = fleet_first_waiter(scene->rows, walk->listed);
    } else if (walk->here) {
        walk->part = WALK_WAITERS;
        find_waiters(walk);
    }
}

bool lease_walk_next(struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    static bool (*const parts[])(
        struct lease_walk *walk, const struct scene *scene, struct lease_row *row) = {
        [WALK_HOLDERS] = next_holder,
        [WALK_WAITERS] = next_waiter,
        [WALK_LISTED] = next_listed,
        [WALK_OWN_WAITER] = next_own_waiter,
    };
    while (walk->part != WALK_OVER) {
        if (parts[walk->part](walk, scene, row)) {
            return true;
        }
        walk->part++;
    }
    return false;
}

void lease_walk_write(
    struct lease_walk *walk, const struct scene *scene, struct text *out, size_t enough)
{
    struct lease_row row = {.unit_words = TEXT_INIT};
    lease_walk_resume(walk, scene);
    while (out->length < enough) {
        if (!lease_walk_next(walk, scene, &row)) {
            walk->name[0] = '\0';
            break;
        }
        lease_row_write(out, &row, scene);
    }
    text_deinit(&row.unit_words);
}
