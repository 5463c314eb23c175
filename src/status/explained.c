#include "status/explained.h"

#include "base/words.h"
#include "core/fleet.h"
#include "core/preview.h"
#include "core/units.h"
#include "status/answer_lines.h"
#include "status/story.h"
#include "status/unit_list.h"
#include "status/why.h"

#include <stdio.h>
#include <string.h>

enum { UNITS_BYTES = 200 };

/* ---- a request ---- */

/* "customer/ada:2 (also total:4)" */
static void add_wanted(struct text *out, const struct acquire_request *ask)
{
    bool has_levels = false;
    for (size_t i = 0; i < ask->n_wants; i++) {
        bool is_first_level = ask->wants[i].is_level && !has_levels;
        text_add_format(out, "%s%s%s", i > 0 ? " " : "", is_first_level ? "(also " : "",
            ask->wants[i].name);
        has_levels |= is_first_level;
        if (ask->wants[i].is_all) {
            text_add(out, ":all");
        } else if (ask->wants[i].is_shared) {
            text_add(out, ":shared");
        } else if (ask->wants[i].count != 1) {
            text_add_format(out, ":%u", ask->wants[i].count);
        }
    }
    text_add(out, has_levels ? ")" : "");
}

/* What becomes of the request. */
struct verdict {
    enum outcome outcome;
    const char *at_fault;
};

static void say_verdict(struct text *out, struct text *first, struct story *story,
    const struct acquire_request *ask, const struct verdict *verdict)
{
    text_add(first, "a request for ");
    add_wanted(first, ask);
    if (verdict->outcome == OUTCOME_OK) {
        text_add(out, "ok is=free\n");
        text_add(first, " would be granted at once");
        return;
    }
    if (verdict->outcome == OUTCOME_WAITING) {
        text_add(out, "ok is=busy");
        text_add(first, " would wait");
        if (story->position > 0) {
            text_add_number_key(out, "position", story->position);
            text_add_format(first, ", at place %llu in the queue",
                (unsigned long long)story->position);
        }
        story_add_forecast(story, out);
        text_add(out, "\n");
        return;
    }
    text_add_format(out, "ok is=refused code=%s\n",
        code_table[outcome_code(verdict->outcome)].word);
    text_add(first, " would be refused: ");
    if (verdict->outcome == OUTCOME_FORBIDDEN) {
        text_add_format(first, "you may not use %s", verdict->at_fault);
    } else if (verdict->outcome == OUTCOME_IMPOSSIBLE && !verdict->at_fault) {
        text_add(first, ANSWER_TOO_MUCH);
    } else if (story->impossible) {
        text_add_format(first, "%s: %llu wanted, of at most %llu", story->impossible->name,
            (unsigned long long)story->impossible->wants,
            (unsigned long long)story->impossible->max);
    } else {
        char why[1024];
        why_refused(why, sizeof why, story->scene->core, ask, story->scene->viewer,
            verdict->outcome, verdict->at_fault, story->scene->now);
        text_add(first, why);
    }
}

/* A database decides what the core leaves open. */
static struct verdict find_verdict(const struct story *story, const struct acquire_request *ask,
    const struct explained_refusal *bar)
{
    struct verdict verdict = {OUTCOME_FORBIDDEN, bar->forbidden};
    struct core *core = story->scene->core;
    if (!bar->forbidden && bar->is_too_much) {
        verdict.outcome = OUTCOME_IMPOSSIBLE;
    } else if (!bar->forbidden) {
        verdict.outcome = core_preview_acquire(core, story->scene->viewer->uid, ask,
            story->scene->now, &verdict.at_fault);
    }
    if (verdict.outcome == OUTCOME_PENDING && story->impossible) {
        verdict = (struct verdict){OUTCOME_IMPOSSIBLE, story->impossible->name};
    } else if (verdict.outcome == OUTCOME_PENDING && story->session &&
        story->session->is_unreachable) {
        verdict = (struct verdict){OUTCOME_DOWN, ask->wants[0].name};
    } else if (verdict.outcome == OUTCOME_PENDING) {
        bool is_free = story->is_free && !story_is_held_up(story);
        verdict.outcome = is_free ? OUTCOME_OK : OUTCOME_WAITING;
    }
    return verdict;
}

void explained_ask(struct text *out, const struct scene *scene, const struct session_view *session,
    const struct acquire_request *ask, const struct explained_refusal *bar)
{
    struct story story = {.scene = scene, .session = session, .is_free = true};
    struct text first = TEXT_INIT;
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct requested_resource *want = &ask->wants[i];
        story_add_resource(&story, want->name, want->definition,
            want->is_all ? WANTS_ALL : want->count, &(struct waiting_lease){NULL},
            ask->n_wants == 1);
    }
    story_say_quotas(&story, "you hold");
    story_add_surroundings(&story);
    const struct verdict verdict = find_verdict(&story, ask, bar);
    say_verdict(out, &first, &story, ask, &verdict);
    story_end(&story, &first, out);
}

/* ---- a lease, of this host or of another one ---- */

/* Its part of one resource. */
struct part {
    const char *name; /* of the resource */
    const struct definition *definition;
    bool is_pool;
    uint64_t count;
    bool is_all;
    struct text units; /* held; owned */
    struct waiting_lease waiter;
};

struct explained {
    struct story story;
    struct lease_row row; /* whose it is, and since when */
    struct part parts[MAX_RESOURCES_PER_LEASE];
    size_t n;
    size_t n_unknown; /* resources that this host's file does not have */
    struct text first; /* sentence */
};

static void add_part(struct text *out, const struct part *part, bool is_held, bool is_first)
{
    text_add(out, !is_first ? ", " : is_held ? " has held " : " has waited for ");
    if (part->is_all) {
        text_add(out, "all of ");
    } else if (is_held) {
        text_add_format(out, "%s%s of ",
            part->is_pool          ? ""
                : part->count == 1 ? "slot "
                                   : "slots ",
            part->units.bytes);
    }
    text_add(out, part->name);
}

/* "lease 34 of pid 812 (make, uid 1000) has held slot 0 of etl for 5s" */
static void begin_lease(struct explained *lease)
{
    const struct status_lease *line = &lease->row.line;
    int64_t age = instant_of(lease->story.scene->now).at - line->since.at;
    text_add_format(&lease->first, "lease %s of ", line->id);
    party_write(&lease->first, line);
    for (size_t i = 0; i < lease->n; i++) {
        add_part(&lease->first, &lease->parts[i], line->is_held, i == 0);
    }
    text_add(&lease->first, " for ");
    text_add_age(&lease->first, age > 0 ? (uint64_t)age : 0);
}

static void begin_answer(
    struct text *out, const char *is, const struct explained *lease, uint64_t position)
{
    text_add_format(out, "ok is=%s lease=%s", is, lease->row.line.id);
    if (position > 0) {
        text_add_number_key(out, "position", position);
    }
}

static void end_lease(struct text *out, struct explained *lease)
{
    text_add(out, "\n");
    story_end(&lease->story, &lease->first, out);
    for (size_t i = 0; i < lease->n; i++) {
        text_deinit(&lease->parts[i].units);
    }
    text_deinit(&lease->row.unit_words);
}

/* That the client of a waiting lease is stopped or not connected, or that of a held one has not
 * read the grant, or its job waits for a file: that is known of a lease of this host alone. */
static void say_client(struct explained *lease)
{
    struct reasons *reasons = &lease->story.reasons;
    const struct lease *own = lease->row.own;
    if (own && own->is_away) {
        reasons_say(reasons, "its client is stopped (away): others go before it until it goes on");
    } else if (own && own->state == LEASE_WAITING && lease_is_detached(own)) {
        reasons_say(
            reasons, "its client is not connected: nothing is granted to it until it reconnects");
    } else if (own &&
        viewer_sees_not_started(lease->story.scene->viewer, own, lease->story.scene->now)) {
        reasons_say(reasons,
            "its job has not started: its client, perhaps stopped, has not read the grant");
    } else if (own) {
        reasons_say_file_lock(reasons, lease->story.scene->viewer, own);
    }
}

/* ---- that waits ---- */

/* What a circle that is not seen consists of: over several databases, for example. */
static void say_nested(struct explained *lease)
{
    const struct lease *own = lease->row.own;
    struct core *core = lease->story.scene->core;
    const struct lease *above = own ? core_lease_above(core, own) : NULL;
    char id[LEASE_ID_SIZE];
    if (above && above->uid == own->uid && !above->is_ending) {
        lease_id_format(id, above->id);
        reasons_say(&lease->story.reasons,
            "its job runs under lease %s, which gives nothing back before this has ended", id);
    }
}

/* It replaces others, and waits for the one that has its identity. */
static void say_owner(struct story *story, const char *id, bool waits)
{
    story->waits_for_identity = true;
    reasons_say(&story->reasons, "lease %.60s, which has its identity, %s", id,
        waits ? "waits" : "runs");
    reasons_remark(&story->reasons, "waits for lease %.60s, which has its identity", id);
}

static void say_identity(struct story *story, const struct lease *lease)
{
    const struct lease *ahead = core_identity_ahead(story->scene->core, lease)->lease;
    char id[LEASE_ID_SIZE];
    lease_id_format(id, ahead->id);
    say_owner(story, id, ahead->state != LEASE_HELD);
}

static void say_blocker(struct explained *lease)
{
    struct story *story = &lease->story;
    const struct claim *claim = lease->parts[0].waiter.claim; /* of a lease of this host */
    const struct resource *resource;
    enum wait_kind kind =
        claim ? lease_waits_for(story->scene->core, claim->lease, &resource) : WAIT_TURN;
    story_say_quotas(story, "its user holds");
    if (kind == WAIT_IDENTITY) {
        say_identity(story, claim->lease);
    } else if (story->requests[0].owner) {
        say_owner(story, story->requests[0].owner, story->requests[0].owner_waits);
    } else if (kind == WAIT_QUOTA && !story->is_over_quota) {
        reasons_remark(&story->reasons, "you hold as many units as one user may");
        story->is_over_quota = true; /* behind an earlier request of the same user */
    } else if (!story->is_over_quota && story->lacks && lease->n > 1) {
        reasons_say(&story->reasons, "it still needs %s", story->lacks);
        reasons_remark(&story->reasons, "lacks %s", story->lacks);
    }
    say_client(lease);
    say_nested(lease);
}

static void explain_waiting(struct text *out, struct explained *lease)
{
    struct story *story = &lease->story;
    for (size_t i = 0; i < lease->n; i++) {
        const struct part *part = &lease->parts[i];
        story_add_resource(story, part->name, part->definition,
            part->is_all ? WANTS_ALL : (uint32_t)part->count, &part->waiter,
            lease->n + lease->n_unknown == 1);
    }
    if (story->position == 0 && lease->row.own) {
        story->position = lease_position(lease->row.own);
    }
    begin_lease(lease);
    if (story->position > 0) { /* else it is not known yet */
        text_add_format(
            &lease->first, ": place %llu in the queue", (unsigned long long)story->position);
        reasons_remark(&story->reasons, "place %llu in the queue",
            (unsigned long long)story->position);
    }
    say_blocker(lease);
    story_add_surroundings(story);
    begin_answer(out, "waiting", lease, story->position);
    story_add_forecast(story, out);
    end_lease(out, lease);
}

/* ---- that is held ---- */

static void say_shares(
    struct reasons *reasons, const struct scene *scene, const struct lease *lease)
{
    const struct claim *share;
    size_t n = 0;
    reasons_say(reasons, "it is over, and its units come back when its shares are gone");
    LIST_FOREACH (share, &lease->shares, share_link) {
        struct lease_row row;
        if (n++ == MAX_REASONS_HOLDERS) {
            return;
        }
        struct text party = TEXT_INIT;
        lease_row_identify(&row, share->lease, scene);
        party_write(&party, &row.line);
        reasons_say(reasons, "%s shares %s: lease %s", party.bytes, share->resource->name, row.id);
        text_deinit(&party);
    }
}

static void say_what_it_shares(struct reasons *reasons, const struct lease *lease)
{
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        char id[LEASE_ID_SIZE];
        lease_id_format(id, lease->claims[i].sharer);
        reasons_say(reasons, "it shares %s of lease %s, and ends with that at the latest",
            lease->claims[i].resource->name, id);
    }
}

/* What ends a lease of this host. */
static void say_end(struct reasons *reasons, const struct scene *scene, const struct lease *lease)
{
    static const char *const ends[] = {
        [BOUND_CONNECTION] = "it ends when its client gives it back or disconnects",
        [BOUND_PROCESS] = "it ends when its client gives it back or its process ends",
        [BOUND_TIME] = "it ends when it is given back or its ttl has run out",
    };
    nanoseconds until = lease_own_until(lease), hold = lease_max_hold(lease);
    bool is_of_max_hold = hold != NEVER && until >= lease->granted_at + hold;
    char span[32];
    if (lease->is_ending) {
        say_shares(reasons, scene, lease);
    } else if (lease->stopping != OUTCOME_OK) {
        reasons_say(reasons, "its %s: %s",
            lease_is_programs(lease) ? "program has been told to give it back, or it loses it"
                                     : "job is being stopped",
            code_table[outcome_code((enum outcome)lease->stopping)].meaning);
    } else if (until == NEVER) {
        reasons_say(reasons, "%s", ends[lease->binding]);
    } else {
        age_format(span, sizeof span, milliseconds(until - scene->now));
        reasons_say(reasons, "%s, and after %s at the latest%s", ends[lease->binding], span,
            is_of_max_hold ? ": max-hold" : "");
    }
}

/* The rest only its own host knows. */
static void say_end_elsewhere(struct explained *lease)
{
    const struct status_lease *line = &lease->row.line;
    nanoseconds left = lease_row_hold_left(&lease->row, instant_of(lease->story.scene->now));
    char span[32];
    if (left != NEVER) {
        age_format(span, sizeof span, milliseconds(left));
        reasons_say(
            &lease->story.reasons, "it ends after %s at the latest: max-hold", span);
    }
    reasons_say(&lease->story.reasons, "on %s, berthctl why %s says what else ends it",
        line->host ? line->host : "its host", strchr(line->id, '/') + 1);
}

static void explain_held(struct text *out, struct explained *lease)
{
    begin_lease(lease);
    begin_answer(out, "held", lease, 0);
    say_client(lease);
    if (lease->row.own) {
        say_what_it_shares(&lease->story.reasons, lease->row.own);
        say_end(&lease->story.reasons, lease->story.scene, lease->row.own);
    } else {
        say_end_elsewhere(lease);
    }
    end_lease(out, lease);
}

static void explain(struct text *out, struct explained *lease)
{
    if (lease->n_unknown > 0) {
        reasons_say(&lease->story.reasons, "this host's file does not have %zu of its resources",
            lease->n_unknown);
    }
    (lease->row.line.is_held ? explain_held : explain_waiting)(out, lease);
}

void explained_lease(struct text *out, const struct scene *scene,
    const struct session_view *session, struct lease *own)
{
    struct explained lease = {.story = {.scene = scene, .session = session}, .n = own->n_claims};
    lease_row_identify(&lease.row, own, scene);
    lease.n += own->state == LEASE_HELD ? own->n_shares : 0U;
    for (size_t i = 0; i < lease.n; i++) {
        const struct claim *claim = &own->claims[i];
        struct part *part = &lease.parts[i];
        *part = (struct part){
            .name = claim->resource->name,
            .definition = claim->resource->definition,
            .is_pool = resource_is_pool(claim->resource),
            .count = claim->count,
            .is_all = claim->is_all,
            .waiter.claim = claim,
        };
        units_write_claim(&part->units, claim, UNITS_BYTES);
    }
    explain(out, &lease);
}

/* ---- as a database has listed it ---- */

static const struct fleet_row *find_row(
    const struct fleet_rows *rows, const struct fleet_resource *resource, const char *key)
{
    for (size_t i = resource->row + 1; i < resource->end; i++) {
        const struct fleet_row *row = &rows->rows[i];
        if (fleet_row_kind(row, resource) != FLEET_NEITHER &&
            strcmp(fleet_field(row, ROW_KEY), key) == 0) {
            return row;
        }
    }
    return NULL;
}

static void take_listed(struct explained *lease, const struct fleet_resource *resource,
    const struct fleet_row *fields)
{
    const struct scene *scene = lease->story.scene;
    struct part *part = &lease->parts[lease->n++];
    bool is_pool = fleet_is_pool(&scene->rows->rows[resource->row]);
    struct unit_list units = {.max = UNITS_BYTES};
    bool is_hidden = lease->row.line.hidden; /* by a resource before: what one hides, none shows */
    lease_row_fill_listed(&lease->row, fields, resource, scene);
    lease->row.line.hidden |= is_hidden;
    text_add(&units.text, "");
    if (lease->row.line.is_held) {
        unit_list_add_all(&units, fleet_field(fields, HOLDER_UNITS), is_pool);
    }
    *part = (struct part){
        .name = resource->name,
        .definition = definition_of_name(scene->core, resource->name),
        .is_pool = is_pool,
        .count = lease->row.units,
        .is_all = lease->row.line.all,
        .units = units.text,
        .waiter.key = lease->row.line.id,
    };
}

bool explained_listed(struct text *out, const struct scene *scene,
    const struct session_view *session, uint8_t database, const char *key)
{
    struct explained lease = {
        .story = {.scene = scene, .session = session, .is_elsewhere = true}};
    for (size_t i = 0; i < scene->rows->n_resources; i++) {
        const struct fleet_resource *resource = &scene->rows->resources[i];
        const struct fleet_row *row = find_row(scene->rows, resource, key);
        bool is_known = database_of_name(scene->core, resource->name) == database &&
            lease.n < MAX_RESOURCES_PER_LEASE;
        if (row && is_known) {
            take_listed(&lease, resource, row);
        } else if (row) {
            lease.n_unknown++;
        }
    }
    if (lease.n > 0) {
        explain(out, &lease);
    }
    return lease.n > 0;
}
