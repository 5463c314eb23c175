#include "status/resource_reasons.h"

#include "base/ticket.h"
#include "core/fair.h"
#include "core/meter.h"
#include "core/place.h"
#include "core/preview.h"
#include "core/usage.h"

#include <string.h>

enum { MAX_WAITERS_LOOKED_AT = 1000 }; /* for the first that is not passed over */

/* What is explained. */
struct subject {
    const struct scene *scene;
    struct resource_row row;
    struct reasons_resource described; /* .row */
    uint32_t units_of_all; /* as many as are free when nothing is taken */
    uint32_t units_wanted;
    const struct claim *claim; /* of a lease of this host that waits; or NULL */
    struct sorted_set_node place; /* host scope: the claim's, or a new request's */
    const char *key; /* of another host's; NULL with .claim, and for a new request */
    const struct fleet_row *own; /* that lease's in the listing; or NULL */
    struct lease_walk walk; /* over holders, then waiters */
    struct lease_row lease; /* where the walk is */
    bool is_at_holder;
};

/* ---- what there is ---- */

/* Shares take nothing. */
static bool next_row(struct subject *subject)
{
    bool any = true;
    do {
        any = lease_walk_next(&subject->walk, subject->scene, &subject->lease);
    } while (any && subject->lease.line.shares);
    return any;
}

static uint64_t count_holders(const struct subject *subject)
{
    const struct fleet_resource *listed = subject->row.listed;
    return listed ? fleet_first_waiter(subject->scene->rows, listed) - listed->row - 1
                  : sorted_set_size(&subject->row.here->holders) - subject->row.here->n_shares;
}

static void count_one(void *context, const char *unit, const char *reason)
{
    (void)unit, (void)reason;
    ++*(uint64_t *)context;
}

/* A reserved unit may still be held; of a listing that is not known. */
static uint64_t count_reserved(const struct resource_row *row)
{
    uint64_t n = 0;
    if (!row->listed) {
        return row->here->n_in_state[UNIT_RESERVED];
    }
    resource_row_for_each_reserved(row, count_one, &n);
    return n;
}

static bool is_own(const struct subject *subject, const struct fleet_row *fields)
{
    return subject->claim
        ? lease_row_own(fields, subject->scene) == subject->claim->lease
        : subject->key && strcmp(fleet_field(fields, ROW_KEY), subject->key) == 0;
}

/* The list may be a little older than the lease. */
static const struct fleet_row *find_own(const struct subject *subject)
{
    const struct fleet_resource *listed = subject->row.listed;
    const struct fleet_rows *rows = subject->scene->rows;
    for (size_t i = listed ? fleet_first_waiter(rows, listed) : 0; listed && i < listed->end;
         i++) {
        const struct fleet_row *fields = &rows->rows[i];
        if (fleet_row_kind(fields, listed) == FLEET_WAITER && is_own(subject, fields)) {
            return fields;
        }
    }
    return NULL;
}

/* 0: not known. */
static uint64_t position_of(const struct subject *subject)
{
    const struct resource *here = subject->row.here;
    uint64_t position = 0;
    if (subject->own) {
        position = fleet_number_of(subject->own, WAITER_POSITION, FLEET_NUMBER_MAX);
    } else if (subject->claim) {
        position = claim_position(subject->claim);
    } else if (subject->row.listed) {
        position = subject->row.line.waiting + 1;
    } else if (!subject->scene->database) {
        const struct ahead ahead = resource_ahead(here, &subject->place);
        position = (uint64_t)ahead.n_active + ahead.n_aside + 1;
    }
    return position;
}

static nanoseconds next_cooled(const struct subject *subject)
{
    return subject->row.listed ? NEVER
                               : core_next_cooled(subject->scene->core, subject->row.here);
}

/* Negative: above a lowered limit. */
static int64_t free_units(const struct status_resource *line)
{
    return line->free > 0 || line->in_use <= line->limit
        ? (int64_t)line->free
        : (int64_t)line->limit - (int64_t)line->in_use;
}

/* A unit that is held may be reserved too, or out of service: it is more than will be free, but all
 * of it is not there before. While all is held, free units do not count. */
static uint32_t count_all(const struct reasons_resource *described)
{
    const struct status_resource *line = described->line;
    int64_t all = described->first && described->first->all
        ? (int64_t)line->limit - (int64_t)described->reserved
        : free_units(line) + (int64_t)line->in_use + (int64_t)line->cooling;
    return all > 1 ? (uint32_t)all : 1;
}

static void resource_reasons_begin(struct subject *subject, const struct scene *scene,
    const char *name, const struct definition *definition, uint32_t wants,
    const struct waiting_lease *waiter)
{
    struct resource_row *row = &subject->row;
    subject->scene = scene;
    subject->claim = waiter->claim;
    subject->key = waiter->key;
    subject->lease.unit_words = (struct text)TEXT_INIT;
    resource_row_find_or_idle(row, scene, name, definition);
    said_name_users(&row->line, scene->viewer);
    lease_walk_begin(&subject->walk, name, 0);
    lease_walk_resume(&subject->walk, scene);
    subject->is_at_holder = next_row(subject) && subject->lease.line.is_held;
    subject->own = find_own(subject);
    if (!scene->database) {
        subject->place = waiter->claim
            ? claim_place(waiter->claim)->node
            : fair_new_place(row->here, scene->viewer->uid, wants, wants == WANTS_ALL);
    }
    nanoseconds cooled = next_cooled(subject);
    subject->described = (struct reasons_resource){
        .line = &row->line,
        .now = instant_of(scene->now),
        .wall = milliseconds(scene->wall_now),
        .wants = wants,
        .position = position_of(subject),
        .reserved = count_reserved(row),
        .cools_for = cooled == NEVER ? 0 : milliseconds(cooled - scene->now),
        .n_holders = count_holders(subject),
        .first = subject->is_at_holder ? &subject->lease.line : NULL,
    };
    subject->units_of_all = count_all(&subject->described);
    subject->units_wanted = wants == WANTS_ALL ? subject->units_of_all : wants;
    if (row->rated) {
        bool is_of_one = wants == WANTS_ALL || subject->described.position > 1;
        nanoseconds at = rate_goes_at(row->rated, row->paid_at, is_of_one ? 1 : wants);
        nanoseconds left = at == NEVER ? 0 : at - scene->now;
        subject->described.goes_in = milliseconds(left + NANOSECONDS_PER_MILLISECOND - 1);
    }
}

static void resource_reasons_end(struct subject *subject)
{
    text_deinit(&subject->lease.unit_words);
    resource_row_deinit(&subject->row);
}

/* ---- holders, reserved units, waiters ---- */

/* Microseconds; UINT64_MAX for NEVER. */
static uint64_t limit_of(nanoseconds span)
{
    return span == NEVER ? UINT64_MAX : microseconds(span);
}

/* Of the lease where the walk is. */
static uint64_t units_of(const struct subject *subject)
{
    return subject->lease.line.all ? subject->units_of_all : subject->lease.units;
}

static void add_holders(
    struct reasons *reasons, struct subject *subject, struct forecast *forecast)
{
    const struct lease_row *lease = &subject->lease;
    uint64_t n = 0, n_holders = subject->described.n_holders;
    while (subject->is_at_holder && (n < MAX_REASONS_HOLDERS || !forecast->is_cut)) {
        int64_t held = subject->described.now.at - lease->line.since.at;
        nanoseconds left = lease_row_hold_left(lease, subject->described.now);
        if (n < MAX_REASONS_HOLDERS) {
            reasons_holder(reasons, &subject->described, &lease->line, lease->units, left);
            if (n++ == 0 && lease->own) { /* more would cost too much */
                reasons_say_file_lock(reasons, subject->scene->viewer, lease->own);
            }
        }
        if (!forecast->is_cut) {
            forecast_add_holder(
                forecast, held > 0 ? (uint64_t)held * 1000 : 0, limit_of(left), units_of(subject));
        }
        subject->is_at_holder = next_row(subject) && subject->lease.line.is_held;
    }
    reasons_other_holders(reasons, &subject->described, n_holders - n);
}

struct reserved {
    struct reasons *reasons;
    const struct reasons_resource *described;
    unsigned n_left;
};

static void add_reserved(void *context, const char *unit, const char *reason)
{
    struct reserved *reserved = context;
    if (reserved->n_left > 0) {
        reasons_reserved(reserved->reasons, reserved->described, unit, reason);
        reserved->n_left--;
    }
}

/* Whose turn it is where the order is fair. Of fleet scope a listing does not say who is ahead. */
static void say_turns(struct reasons *reasons, const struct subject *subject)
{
    const struct status_resource *line = &subject->row.line;
    const struct lease *own = subject->claim ? subject->claim->lease : NULL;
    const char *flow = strcmp(line->order, "fair") == 0 ? "user" : "share";
    uint64_t n = subject->described.position > 0 ? subject->described.position - 1 : 0;
    if (n > 0 && !subject->scene->database) {
        uint32_t uid = own ? own->uid : subject->scene->viewer->uid;
        const char *word = own ? own->attributes.share : NULL;
        uint64_t n_own = fair_n_own(subject->row.here, uid, word, &subject->place);
        uint64_t n_others = n_own < n ? n - n_own : 0;
        reasons_say(reasons,
            "the order of %s is fair, each %s in turn: %llu of those ahead %s %s%s", line->name,
            flow, (unsigned long long)n_others, n_others == 1 ? "is of another" : "are of other",
            flow, n_others == 1 ? "" : "s");
    } else if (n > 0) {
        reasons_say(reasons, "the order of %s is fair: each %s in turn", line->name, flow);
    }
}

/* Of those passed over a listing says nothing; where nothing is granted, all wait. */
static struct reasons_ahead count_ahead(const struct subject *subject)
{
    const struct resource *here = subject->row.here;
    uint64_t position = subject->described.position;
    bool is_counted = !subject->row.listed && !resource_is_blocked(here);
    return (struct reasons_ahead){
        .n = position > 0 ? position - 1 : 0,
        .n_aside = is_counted ? resource_ahead(here, &subject->place).n_aside : 0,
    };
}

/* A new request stands behind all others of its priority, unless the order is fair. */
static bool is_before_new(const struct subject *subject, const struct status_lease *line)
{
    bool is_first = ticket_is_first(line->ticket.number);
    uint64_t row = is_first ? 0 : place_row((int32_t)line->priority);
    return (row << TICKET_BITS | line->ticket.number) <= subject->place.major;
}

static bool is_ahead(const struct subject *subject)
{
    const struct lease_row *lease = &subject->lease;
    return subject->claim ? lease->own != subject->claim->lease
        : subject->key    ? strcmp(lease->line.id, subject->key) != 0
                          : subject->row.listed || is_before_new(subject, &lease->line);
}

/* What is kept is not free; of a lease on several resources the others are not known. */
static void play(struct forecast *forecast, const struct subject *subject)
{
    const struct lease_row *lease = &subject->lease;
    if (lease->is_aside) {
        forecast->obstacle = FORECAST_PASSED_OVER;
    } else if (lease->line.kept == 0) {
        forecast_add_ahead(forecast, limit_of(lease->max_hold), (uint32_t)units_of(subject));
        forecast->is_cut |= lease->own && lease->own->n_claims > 1;
    }
}

/* False: somebody ahead is not passed over. */
static bool add_ahead(struct reasons *reasons, struct subject *subject, struct forecast *forecast)
{
    struct reasons_ahead ahead = count_ahead(subject);
    struct lease_row *lease = &subject->lease;
    lease_walk_skip_holders(&subject->walk, subject->scene);
    for (unsigned i = 0; i < MAX_WAITERS_LOOKED_AT; i++) {
        bool is_over = !lease_walk_next(&subject->walk, subject->scene, lease) ||
            !is_ahead(subject) ||
            (ahead.first && (forecast->is_cut || forecast->obstacle != FORECAST_NO_OBSTACLE));
        if (is_over) {
            break;
        }
        if (!ahead.first && !lease->is_aside) {
            ahead.first = &lease->line;
            reasons_ahead(reasons, &subject->described, &ahead);
        }
        play(forecast, subject);
    }
    if (!ahead.first) {
        reasons_ahead(reasons, &subject->described, &ahead);
    }
    return !ahead.first;
}

/* ---- the request itself ---- */

static uint64_t held_by(const struct subject *subject, uint32_t uid)
{
    const struct fleet_resource *listed = subject->row.listed;
    const struct fleet_rows *rows = subject->scene->rows;
    if (!listed) {
        return usage_units_of(subject->row.here, uid);
    }
    uint64_t sum = 0;
    size_t end = fleet_first_waiter(rows, listed);
    for (size_t i = listed->row + 1; i < end; i++) {
        uint64_t holder;
        if (fleet_number(&rows->rows[i], ROW_UID, UINT32_MAX, &holder) && holder == uid) {
            sum += fleet_number_of(&rows->rows[i], ROW_COUNT, FLEET_NUMBER_MAX);
        }
    }
    return sum;
}

/* Whose request it is. */
static uint32_t uid_of(const struct subject *subject)
{
    return subject->claim ? subject->claim->lease->uid
        : subject->own    ? (uint32_t)fleet_number_of(subject->own, ROW_UID, UINT32_MAX)
                          : subject->scene->viewer->uid;
}

/* The larger of what the file and the operator allow, and no more than may go at once; nothing is
 * impossible while that is 0. */
static uint64_t max_of(const struct definition *definition, const struct status_resource *line)
{
    uint64_t in_file = definition_limit(definition);
    uint64_t max = in_file > line->limit ? in_file : line->limit;
    uint32_t at_once = definition_at_once(definition);
    max = at_once < max ? at_once : max;
    return max > 0 ? max : UINT64_MAX;
}

/* Of a waiting lease; in fleet scope only the database knows. */
static void find_blocker(struct request_row *request, const struct subject *subject)
{
    const struct resource *resource;
    if (subject->own) {
        const char *blocker = fleet_field(subject->own, WAITER_BLOCKER);
        request->is_over_quota = strcmp(fleet_field(subject->own, WAITER_BLOCKED), "quota") == 0;
        const char *owner = fleet_field(subject->own, WAITER_OWNER);
        request->blocker = name_is_valid(blocker) ? blocker : NULL;
        request->owner = owner[0] != '\0' ? owner : NULL;
        request->owner_waits = strcmp(fleet_field(subject->own, WAITER_OWNER_STATE), "H") != 0;
    } else if (!subject->scene->database) {
        bool is_quota = lease_waits_for(subject->scene->core, subject->claim->lease,
                            &resource) == WAIT_QUOTA;
        request->is_over_quota = is_quota && resource == subject->row.here;
        request->blocker = resource ? resource->name : NULL;
    }
}

static struct request_row find_out(
    const struct subject *subject, const struct definition *definition, bool nobody_is_ahead)
{
    const struct status_resource *line = &subject->row.line;
    const struct claim *claim = subject->claim;
    bool is_known = subject->row.listed || !subject->scene->database;
    struct request_row request = {
        .wants = subject->units_wanted,
        .position = subject->described.position,
        .max = subject->row.listed && subject->described.wants != WANTS_ALL
            ? max_of(definition, line)
            : UINT64_MAX,
        .quota = definition->max_units_per_user,
    };
    if (request.quota != UNBOUNDED) {
        request.held = held_by(subject, uid_of(subject));
    }
    if (claim || subject->key) {
        find_blocker(&request, subject);
    } else if (is_known) {
        request.is_over_quota =
            request.quota != UNBOUNDED && request.held + request.wants > request.quota;
        request.is_taken = subject->row.listed &&
            (line->paused || line->limit == 0 || line->free < request.wants ||
                request.is_over_quota || !nobody_is_ahead || subject->described.goes_in > 0);
    }
    return request;
}

/* ---- all ---- */

void resource_brief(
    struct text *brief, const struct scene *scene, const char *name, uint32_t wants)
{
    struct subject subject;
    resource_reasons_begin(&subject, scene, name, NULL, wants, &(struct waiting_lease){NULL});
    subject.described.position = 0;
    reasons_brief(brief, &subject.described);
    resource_reasons_end(&subject);
}

struct request_row resource_reasons(struct reasons *reasons, const struct scene *scene,
    const char *name, const struct definition *definition, uint32_t wants,
    const struct waiting_lease *waiter, struct forecast *forecast)
{
    struct subject subject;
    resource_reasons_begin(&subject, scene, name, definition, wants, waiter);
    const struct status_resource *line = &subject.row.line;
    bool nobody_is_ahead = false;
    nanoseconds cooled = next_cooled(&subject);
    struct reserved reserved = {reasons, &subject.described, MAX_REASONS_RESERVED};
    reasons_resource(reasons, &subject.described);
    if (subject.row.rated) {
        const struct definition *rated = subject.row.rated;
        nanoseconds step = rate_step(&rated->rate);
        forecast->rate_step = step / 1000;
        forecast->rate_begins = (subject.row.paid_at - scene->now - rated->burst * step) / 1000;
    }
    forecast->free = line->free > line->kept ? (int64_t)(line->free - line->kept)
        : line->free > 0                     ? 0
                                             : free_units(line);
    add_holders(reasons, &subject, forecast);
    if (cooled != NEVER) {
        uint64_t at = microseconds(cooled - scene->now);
        forecast_add_end(forecast, at, at, 1);
    }
    resource_row_for_each_reserved(&subject.row, add_reserved, &reserved);
    if (subject.row.listed || !scene->database) {
        nobody_is_ahead = add_ahead(reasons, &subject, forecast);
        if (line->order && strncmp(line->order, "fair", 4) == 0) {
            say_turns(reasons, &subject);
        }
    } else {
        forecast->is_cut = true; /* only the database knows */
    }
    forecast->obstacle = line->limit > 0 && wants > line->limit ? FORECAST_LIMITED
        : line->paused                                          ? FORECAST_PAUSED
        : line->limit == 0                                      ? FORECAST_CLOSED
                                                                : forecast->obstacle;
    struct request_row request = find_out(&subject, definition, nobody_is_ahead);
    request.name = name;
    resource_reasons_end(&subject);
    return request;
}

void reasons_say_file_lock(
    struct reasons *reasons, const struct viewer *viewer, const struct lease *lease)
{
    bool is_known = lease->state == LEASE_HELD && viewer->file_lock_holder;
    int32_t holder = is_known ? viewer->file_lock_holder(lease) : 0;
    if (holder > 0) {
        reasons_say(
            reasons, "its job waits for the file's lock, which process %d has taken", (int)holder);
    } else if (holder < 0) {
        reasons_say(reasons, "its job waits for the file's lock");
    }
}
