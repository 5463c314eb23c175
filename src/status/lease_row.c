#include "status/lease_row.h"

#include "core/units.h"
#include "fleet/session.h"
#include "status/answer_lines.h"
#include "status/unit_list.h"

#include <string.h>

enum { HOST_BYTES = 64 }; /* before encoding */

/* base/attributes.def makes both. */
_Static_assert((size_t)N_SHOWN == (size_t)N_ATTRIBUTES, "what is shown is an attribute");
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    _Static_assert((title) == NULL || (size_t)(bound) <= REASON_BYTES, #word " would be cut here");
#include "base/attributes.def"
#undef ATTRIBUTE

static const char blocked_by_quota[] = "quota", blocked_otherwise[] = "other";

/* ---- from the core ---- */

const struct claim *lease_claim_on(const struct lease *lease, const char *name)
{
    for (size_t i = 0; lease && i < lease->n_claims; i++) {
        if (strcmp(lease->claims[i].resource->name, name) == 0) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

void lease_row_identify(
    struct lease_row *row, const struct lease *lease, const struct scene *scene)
{
    row->own = lease;
    row->is_waiter = lease->state != LEASE_HELD;
    row->line = (struct status_lease){
        .id = row->id,
        .since = instant_of(row->is_waiter ? lease->asked_at : lease->granted_at),
        .pid = (uint64_t)scene->viewer->pid_of(lease),
        .uid = lease->uid,
        .user = viewer_user_of(scene->viewer, lease->uid),
        .away = lease_is_detached(lease),
        .hidden = !viewer_sees(scene->viewer, lease),
        .holder = lease->attributes.holder,
    };
    lease_id_format(row->id, lease->id);
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    if ((title) != NULL) {                                                                         \
        row->line.shown[SHOWN_##word] =                                                            \
            lease_attributes_text(&lease->attributes, &attribute_rows[ATTRIBUTE_##word]);          \
    }
#include "base/attributes.def"
#undef ATTRIBUTE
}

/* What only a held lease's own host knows. */
static void fill_life(
    struct status_lease *line, const struct lease *lease, const struct scene *scene)
{
    static const char *const binding_words[] = {
        [BOUND_CONNECTION] = "connection",
        [BOUND_PROCESS] = "process",
        [BOUND_TIME] = "time",
    };
    nanoseconds until = lease_own_until(lease);
    line->bound = binding_words[lease->binding];
    if (until != NEVER) {
        line->until = instant_of(until);
    }
    if (lease->stopping != OUTCOME_OK) {
        line->stopping = code_table[outcome_code((enum outcome)lease->stopping)].word;
    }
    line->unread = viewer_sees_not_started(scene->viewer, lease, scene->now);
}

/* Why a waiter is passed over at present, if it is, and because of which resource. */
static void fill_blocker(struct status_lease *line, const struct claim *claim)
{
    const struct resource *resource;
    enum wait_kind kind = lease_waits_for(claim->lease, &resource);
    static const char *const words[] = {
        [WAIT_TURN] = blocked_otherwise,
        [WAIT_QUOTA] = blocked_by_quota,
        [WAIT_BLOCKED] = blocked_otherwise,
        [WAIT_AWAY] = "away",
    };
    if (kind != WAIT_TURN || (resource && resource != claim->resource)) {
        line->blocked = words[kind];
        line->blocker = resource ? resource->name : NULL;
    }
}

static void fill_waiter(struct lease_row *row, const struct claim *claim)
{
    const struct lease *lease = claim->lease;
    struct status_lease *line = &row->line;
    enum standing standing = claim_place(claim)->standing;
    line->position = lease->position;
    line->ticket.number = lease->database != 0 ? lease->ticket : lease->id;
    line->ticket.is_given = line->ticket.number != 0;
    line->wants = claim->count;
    line->priority = lease->attributes.priority;
    line->kept = standing == STANDS_KEEPING ? claim->count : 0;
    row->is_aside = standing == STANDS_ASIDE;
    fill_blocker(line, claim);
}

void lease_row_fill(struct lease_row *row, const struct claim *claim, const struct scene *scene)
{
    lease_row_identify(row, claim->lease, scene);
    row->units = claim->count;
    row->line.resource = claim->resource->name;
    if (row->is_waiter) {
        fill_waiter(row, claim);
        return;
    }
    row->unit_words.length = 0;
    units_write_claim(&row->unit_words, claim, UNITS_OF_HOLDER_BYTES);
    row->line.units.joined = row->unit_words.bytes;
    row->line.token = claim->token;
    fill_life(&row->line, claim->lease, scene);
}

/* ---- from a listing ---- */

const struct lease *lease_row_own(const struct fleet_row *fields, const struct scene *scene)
{
    const char *key = fleet_field(fields, ROW_KEY);
    uint64_t id;
    bool is_own =
        fleet_key_parse(key, &id) && strncmp(key, scene->session, SESSION_ID_SIZE - 1) == 0;
    return is_own ? core_find_lease(scene->core, id) : NULL;
}

/* The value of a word in INFO; NULL: it has none. */
static const char *info_find(const char *info, const char *key, size_t *lengthp)
{
    size_t n = strlen(key);
    for (const char *word = info; *word; word += strspn(word, " ")) {
        *lengthp = strcspn(word, " ");
        if (*lengthp > n && strncmp(word, key, n) == 0 && word[n] == '=') {
            *lengthp -= n + 1;
            return word + n + 1;
        }
        word += *lengthp;
    }
    return NULL;
}

static uint64_t info_number(const char *info, const char *key, uint64_t max)
{
    char digits[24];
    size_t length;
    uint64_t number = 0;
    const char *value = info_find(info, key, &length);
    if (value && length < sizeof digits) {
        memcpy(digits, value, length);
        digits[length] = '\0';
        number_parse(digits, max, &number);
    }
    return number;
}

static bool is_seen(const struct fleet_row *fields, uint32_t uid, const struct scene *scene)
{
    const char *name = fleet_field(fields, ROW_NAME), *info = fleet_field(fields, ROW_INFO);
    const struct resource *here = core_find_resource(scene->core, name);
    return viewer_sees_remote(scene->viewer, uid, info_number(info, "hide", INT32_MAX),
        here ? here->definition : core_find_definition(scene->core, name));
}

/* The database knows since when a lease is held. Since when it waits, only its host's clock says,
 * and hosts' clocks differ. */
static nanoseconds since_of(
    const struct fleet_row *fields, enum fleet_lease kind, const struct scene *scene)
{
    uint64_t max = NEVER / 4 / NANOSECONDS_PER_MILLISECOND;
    if (kind == FLEET_HOLDER) {
        nanoseconds held_for = (nanoseconds)fleet_number_of(fields, HOLDER_HELD_FOR, max);
        return scene->listed_at - held_for * NANOSECONDS_PER_MILLISECOND;
    }
    nanoseconds at = (nanoseconds)info_number(
        fleet_field(fields, ROW_INFO), "at", INT32_MAX * UINT64_C(2000));
    nanoseconds age = scene->wall_now - at * NANOSECONDS_PER_MILLISECOND;
    return scene->now - (at > 0 ? later(age, 0) : 0);
}

static void identify_remote(struct lease_row *row, const struct fleet_row *fields,
    enum fleet_lease kind, const struct scene *scene)
{
    const char *info = fleet_field(fields, ROW_INFO), *holder = fleet_field(fields, ROW_HOLDER);
    uint32_t uid = (uint32_t)fleet_number_of(fields, ROW_UID, UINT32_MAX);
    row->own = NULL;
    row->line = (struct status_lease){
        .id = fleet_field(fields, ROW_KEY),
        .since = instant_of(since_of(fields, kind, scene)),
        .pid = info_number(info, "pid", INT32_MAX),
        .uid = uid,
        .user = viewer_user_of(scene->viewer, uid),
        .hidden = !is_seen(fields, uid, scene),
        .holder = fleet_text(row->texts[SHOWN_holder], holder, strlen(holder), HOLDER_BYTES),
    };
    for (size_t i = 0; i < N_SHOWN; i++) {
        size_t n;
        const struct attribute_row *attribute = &attribute_rows[i];
        const char *value = attribute->is_shown ? info_find(info, attribute->word, &n) : NULL;
        row->line.shown[i] = value ? fleet_text(row->texts[i], value, n, attribute->bound) : NULL;
    }
}

static void fill_listed_holder(struct lease_row *row, const struct fleet_row *fields, bool is_pool,
    const struct scene *scene)
{
    struct unit_list units = {.text = row->unit_words};
    units.text.length = 0;
    text_add(&units.text, ""); /* shown even if there is none */
    unit_list_add_all(&units, fleet_field(fields, HOLDER_UNITS), is_pool, UNITS_OF_HOLDER_BYTES);
    row->unit_words = units.text;
    row->line.units.joined = row->unit_words.bytes;
    row->line.token = fleet_number_of(fields, HOLDER_TOKEN, INT64_MAX);
    if (row->own && row->own->state == LEASE_HELD) {
        fill_life(&row->line, row->own, scene);
    }
}

/* What it lacks, unless it is its turn there; or that something is kept for it. */
static void fill_listed_waiter(struct lease_row *row, const struct fleet_row *fields)
{
    struct status_lease *line = &row->line;
    const char *blocked = fleet_field(fields, WAITER_BLOCKED);
    const char *blocker = fleet_field(fields, WAITER_BLOCKER);
    line->position = fleet_number_of(fields, WAITER_POSITION, FLEET_NUMBER_MAX);
    line->ticket.number = fleet_number_of(fields, ROW_TICKET, INT64_MAX);
    line->ticket.is_given = line->ticket.number != 0;
    line->wants = row->units;
    signed_number_parse(fleet_field(fields, ROW_PRIORITY), MAX_PRIORITY, &line->priority);
    line->blocked = strcmp(blocked, blocked_by_quota) == 0 ? blocked_by_quota
        : strcmp(blocked, blocked_otherwise) == 0          ? blocked_otherwise
                                                           : NULL;
    line->blocker = line->blocked && name_is_valid(blocker) ? blocker : NULL;
    line->kept = fleet_number_of(fields, WAITER_KEPT, FLEET_NUMBER_MAX);
    row->is_aside = blocked[0] != '\0' && line->kept == 0;
}

bool lease_row_fill_listed(struct lease_row *row, const struct fleet_row *fields,
    const struct fleet_resource *resource, const struct scene *scene)
{
    enum fleet_lease kind = fleet_row_kind(fields, resource);
    const struct lease *own = lease_row_own(fields, scene);
    if (kind == FLEET_NEITHER) {
        return false;
    }
    if (own) {
        lease_row_identify(row, own, scene);
    } else {
        identify_remote(row, fields, kind, scene);
    }
    row->is_waiter = kind == FLEET_WAITER;
    row->line.resource = resource->name;
    row->line.host = fleet_bounded(
        row->host, fleet_field(fields, row->is_waiter ? WAITER_HOST : HOLDER_HOST), HOST_BYTES);
    row->units = fleet_number_of(fields, ROW_COUNT, FLEET_NUMBER_MAX);
    if (row->is_waiter) {
        fill_listed_waiter(row, fields);
    } else {
        fill_listed_holder(
            row, fields, fleet_is_pool(&scene->rows->rows[resource->row]), scene);
    }
    return true;
}

/* ---- its line ---- */

/* Who follows is not told whose quota is used up: that may change for a whole queue at once. */
void lease_row_write(struct text *out, struct lease_row *row, const struct scene *scene)
{
    struct status_lease *line = &row->line;
    unsigned trusted = line->hidden ? 0 : 1 << FOR_TRUSTED;
    unsigned here = 1 << (scene->follows ? FOR_FOLLOWERS : FOR_ASKERS);
    line->blocker = scene->follows && line->blocked == blocked_by_quota ? NULL : line->blocker;
    status_line_begin(out, row->is_waiter ? LINE_WAITER : LINE_HOLDER, line->id,
        1 << FOR_ANYBODY | trusted | here, line);
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    if ((title) != NULL && !line->hidden) {                                                        \
        text_add_key(out, #word, line->shown[SHOWN_##word]);                                       \
    }
#include "base/attributes.def"
#undef ATTRIBUTE
    text_add(out, "\n");
}
