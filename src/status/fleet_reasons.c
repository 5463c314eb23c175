#include "status/fleet_reasons.h"

#include <string.h>

enum { MAX_WAITERS_LOOKED_AT = 1000 }; /* for the first that is not passed over */

/* A resource's part of a listing: its holders come first. */
struct listing {
    const struct fleet_rows *rows;
    const struct fleet_resource *resource;
    const struct fleet_scene *scene;
    size_t waiters; /* the row of the first */
};

/* Behind the last resource's waiters may be rows of another kind. */
static size_t first_waiter(const struct fleet_rows *rows, const struct fleet_resource *resource)
{
    size_t low = resource->row + 1, high = resource->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = strcmp(fleet_field(&rows->rows[middle], ROW_WORD), "holder") == 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

static bool is_waiter(const struct listing *listing, size_t row)
{
    return row < listing->resource->end &&
        fleet_row_kind(&listing->rows->rows[row], listing->resource) == FLEET_WAITER;
}

/* Skips who is passed over. `end`: the first one's row that is not ahead. NULL: nobody. */
static const struct fleet_row *next_to_go(const struct listing *listing, size_t end)
{
    for (size_t i = 0; i < MAX_WAITERS_LOOKED_AT && listing->waiters + i < end; i++) {
        size_t row = listing->waiters + i;
        if (is_waiter(listing, row) &&
            fleet_field(&listing->rows->rows[row], WAITER_BLOCKED)[0] == '\0') {
            return &listing->rows->rows[row];
        }
    }
    return NULL;
}

/* The row of the lease; the end of the list if it has none, as the list may be a little older. */
static size_t row_of(const struct listing *listing, const struct lease *lease)
{
    size_t row = listing->waiters;
    while (row < listing->resource->end &&
        !(lease && is_waiter(listing, row) &&
            fleet_own_lease(&listing->rows->rows[row], listing->scene) == lease)) {
        row++;
    }
    return row;
}

/* ---- what the user has ---- */

static uint64_t held_by(const struct listing *listing, uint32_t uid)
{
    uint64_t sum = 0;
    for (size_t i = listing->resource->row + 1; i < listing->waiters; i++) {
        uint64_t n, holder;
        const struct fleet_row *row = &listing->rows->rows[i];
        if (fleet_number(row, ROW_UID, UINT32_MAX, &holder) && holder == uid) {
            fleet_number(row, ROW_COUNT, FLEET_NUMBER_MAX, &n);
            sum += n;
        }
    }
    return sum;
}

/* The larger of what the file and the operator allow; nothing is impossible while that is 0. */
static uint64_t max_of(const struct listing *listing, const struct status_resource *line)
{
    const struct definition *definition =
        core_find_definition(listing->scene->core, listing->resource->name);
    uint64_t in_file = !definition          ? 0
        : definition_is_pool(definition) ? definition->n_items
                                         : definition->limit;
    uint64_t max = in_file > line->limit ? in_file : line->limit;
    return max > 0 ? max : UNBOUNDED;
}

static bool is_over_quota(const struct listing *listing, uint32_t wants)
{
    const struct fleet_scene *scene = listing->scene;
    const struct definition *definition =
        core_find_definition(scene->core, listing->resource->name);
    uint32_t max = definition ? definition->max_units_per_user : UNBOUNDED;
    return max != UNBOUNDED && held_by(listing, scene->viewer->uid) + wants > max;
}

/* ---- parts ---- */

static void add_holders(struct reasons *reasons, const struct reasons_resource *described,
    const struct listing *listing)
{
    uint64_t n = 0;
    for (size_t i = listing->resource->row + 1;
         i < listing->waiters && n < MAX_REASONS_HOLDERS; i++) {
        const struct fleet_row *row = &listing->rows->rows[i];
        struct fleet_lease_room room;
        uint64_t n_units;
        if (fleet_row_kind(row, listing->resource) == FLEET_HOLDER) {
            const struct status_lease line =
                fleet_lease_line(&room, row, HOLDER_HOST, listing->scene);
            fleet_number(row, ROW_COUNT, FLEET_NUMBER_MAX, &n_units);
            reasons_holder(reasons, described, &line, n_units);
            n++;
        }
    }
    reasons_other_holders(reasons, described, described->n_holders - n);
}

/* Counts reserved units; says of the first ones why. */
struct reserved {
    struct reasons *reasons; /* NULL: only counts */
    const struct reasons_resource *described;
    uint64_t n;
};

static void take_reserved(void *context, const char *unit, const char *reason)
{
    struct reserved *reserved = context;
    if (reserved->reasons && reserved->n < MAX_REASONS_RESERVED) {
        reasons_reserved(reserved->reasons, reserved->described, unit, reason);
    }
    reserved->n++;
}

static void add_ahead(struct reasons *reasons, const struct reasons_resource *described,
    const struct listing *listing, const struct fleet_row *first)
{
    struct reasons_ahead ahead = {
        .n = described->position > 0 ? described->position - 1 : 0};
    struct fleet_lease_room room;
    struct status_lease line;
    if (first) {
        line = fleet_waiter_line(&room, first, listing->scene);
        ahead.first = &line;
    }
    reasons_ahead(reasons, described, &ahead);
}

/* ---- when it will start ---- */

/* `end` is the first row that is not ahead. */
static void foresee(struct forecast *forecast, const struct status_resource *line,
    const struct listing *listing, size_t end)
{
    const struct fleet_row *rows = listing->rows->rows;
    forecast->free = line->free > line->kept ? line->free - line->kept : 0;
    for (size_t i = listing->resource->row + 1;
         i < listing->waiters && !forecast->is_cut; i++) {
        struct fleet_lease_room room;
        uint64_t n_units;
        const struct status_lease holder =
            fleet_lease_line(&room, &rows[i], HOLDER_HOST, listing->scene);
        fleet_number(&rows[i], ROW_COUNT, FLEET_NUMBER_MAX, &n_units);
        int64_t held = instant_of(listing->scene->now).at - holder.since.at;
        forecast_add_holder(forecast, held > 0 ? (uint64_t)held * 1000 : 0, n_units);
    }
    for (size_t i = listing->waiters; i < end && !forecast->is_cut; i++) {
        uint64_t n_units;
        if (fleet_field(&rows[i], WAITER_BLOCKED)[0] == '\0') {
            fleet_number(&rows[i], ROW_COUNT, FLEET_NUMBER_MAX, &n_units);
            forecast_add_ahead(forecast, (uint32_t)n_units);
        } else if (is_waiter(listing, i)) {
            forecast->obstacle = FORECAST_PASSED_OVER;
        }
    }
    forecast->obstacle = line->paused ? FORECAST_PAUSED
        : line->limit == 0               ? FORECAST_CLOSED
                                         : forecast->obstacle;
}

/* ---- all ---- */

static struct fleet_said find_out(const struct listing *listing, const struct status_resource *line,
    uint32_t wants, const struct lease *lease, size_t row)
{
    bool is_listed = lease && row < listing->resource->end;
    struct fleet_said said = {
        .position = lease ? lease->position : line->waiting + 1,
        .max = max_of(listing, line),
    };
    if (is_listed) {
        const struct fleet_row *own = &listing->rows->rows[row];
        const char *blocker = fleet_field(own, WAITER_BLOCKER);
        const char *blocked = fleet_field(own, WAITER_BLOCKED);
        fleet_number(own, WAITER_POSITION, FLEET_NUMBER_MAX, &said.position);
        said.blocked = blocked[0] ? blocked : NULL;
        said.blocker = name_is_valid(blocker) ? blocker : NULL;
    } else if (!lease) {
        said.is_over_quota = is_over_quota(listing, wants);
        said.is_free = !line->paused && line->limit > 0 && line->free >= wants &&
            !said.is_over_quota && !next_to_go(listing, row);
    }
    return said;
}

struct fleet_said fleet_reasons_add(struct reasons *reasons, const struct fleet_rows *rows,
    const struct fleet_resource *resource, const struct fleet_scene *scene, uint32_t wants,
    const struct lease *lease, struct forecast *forecast)
{
    const struct listing listing = {rows, resource, scene, first_waiter(rows, resource)};
    char room[REASON_BYTES + 1];
    struct status_resource line = fleet_resource_line(room, rows, resource, scene);
    pause_name_users(&line, scene->viewer);
    const struct fleet_row *row = &rows->rows[resource->row];
    size_t own = row_of(&listing, lease);
    struct fleet_said said = find_out(&listing, &line, wants, lease, own);
    struct reserved reserved = {.reasons = NULL};
    fleet_for_each_reserved(row, take_reserved, &reserved);
    struct reasons_resource described = {
        .line = &line,
        .now = instant_of(scene->now),
        .wants = wants,
        .position = said.position,
        .reserved = reserved.n,
        .n_holders = listing.waiters - resource->row - 1,
    };
    struct fleet_lease_room first_room;
    struct status_lease first;
    if (described.n_holders > 0) {
        first = fleet_lease_line(
            &first_room, &rows->rows[resource->row + 1], HOLDER_HOST, scene);
        described.first = &first;
    }
    reasons_resource(reasons, &described);
    add_holders(reasons, &described, &listing);
    reserved = (struct reserved){.reasons = reasons, .described = &described};
    fleet_for_each_reserved(row, take_reserved, &reserved);
    add_ahead(reasons, &described, &listing, next_to_go(&listing, own));
    foresee(forecast, &line, &listing, own);
    return said;
}
