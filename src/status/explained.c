#include "status/explained.h"

#include "base/utf8.h"
#include "base/words.h"
#include "core/preview.h"
#include "core/units.h"
#include "status/answer_lines.h"
#include "status/resource_reasons.h"
#include "status/why.h"

#include <stdio.h>
#include <string.h>

enum { UNITS_BYTES = 200, MAX_FIRST_BYTES = 1300 };

/* ---- the answer ---- */

/* What follows the first line. */
static void end_answer(struct text *out, struct text *first, struct reasons *reasons)
{
    if (reasons->brief.length > 0) {
        reasons_write(out, "brief", reasons->brief.bytes, MAX_BRIEF_BYTES);
    }
    if (reasons->stops.length > 0) {
        reasons_write(out, "stops", reasons->stops.bytes, MAX_BRIEF_BYTES);
    }
    reasons_write(out, "because", first->bytes, MAX_FIRST_BYTES);
    text_add_bytes(out, reasons->lines.bytes, reasons->lines.length);
    text_add(out, "end\n");
    text_deinit(first);
    reasons_deinit(reasons);
}

/* ---- what is explained ---- */

/* An explanation in the making. */
struct story {
    struct reasons reasons;
    const struct scene *scene;
    const struct session_view *session; /* in its database; NULL: in host scope */
    uint64_t position; /* the largest; 0: not known */
    bool is_free; /* a new request would be granted at once */
    struct request_row requests[MAX_RESOURCES_PER_LEASE];
    size_t n_requests;
    const struct request_row *impossible; /* its resource has fewer units; or NULL */
    bool is_over_quota; /* its user has as much as one may */
    uint64_t start; /* when it will start, microseconds from now; UINT64_MAX: not known */
    char forecast[NAME_BYTES + 192]; /* that, in words */
    bool is_limited; /* it wants more than the limit in force, of a resource */
    const char *lacks; /* the resource that a waiting lease lacks, if it wants several; or NULL */
};

/* The latest of all resources counts; an obstacle says more than that nothing is known, and that it
 * can never start says most. */
static void note_forecast(struct story *story, const struct forecast *forecast, uint32_t wants)
{
    uint64_t start = forecast_start(forecast, wants);
    bool is_later = start > story->start ||
        (start == story->start && forecast->obstacle != FORECAST_NO_OBSTACLE);
    if (!story->is_limited && (story->forecast[0] == '\0' || is_later)) {
        story->start = start;
        forecast_say(story->forecast, sizeof story->forecast, forecast, start);
    }
    story->is_limited |= forecast->obstacle == FORECAST_LIMITED;
}

/* Where it is not the time that is known anyhow. Of one resource: one of several is kept while the
 * request waits for the next, and nobody knows who holds that by then. */
static void note_latest(struct story *story, const struct forecast *forecast, uint32_t wants)
{
    uint64_t latest = forecast_latest(forecast, wants);
    if (latest >= ANY_MOMENT && latest != UINT64_MAX && latest != story->start) {
        forecast_add_latest(story->forecast, sizeof story->forecast, latest);
    }
}

/* `is_only`: the request is for nothing else. */
static void explained_add_resource(struct story *story, const char *name,
    const struct definition *definition, uint32_t wants, const struct claim *claim, bool is_only)
{
    struct forecast forecast;
    forecast_init(&forecast, story->scene->core, name, definition);
    const struct request_row request = resource_reasons(
        &story->reasons, story->scene, name, definition, wants, claim, &forecast);
    story->requests[story->n_requests++] = request;
    story->position = request.position > story->position ? request.position : story->position;
    story->is_free &= !request.is_taken;
    story->lacks = request.blocker && !request.is_over_quota ? request.blocker : story->lacks;
    if (wants > request.max && !story->impossible) {
        story->impossible = &story->requests[story->n_requests - 1];
    }
    note_forecast(story, &forecast, wants);
    if (is_only) {
        note_latest(story, &forecast, wants);
    }
}

/* `who` is "you hold", or the like. */
static void say_quotas(struct story *story, const char *who)
{
    for (size_t i = 0; i < story->n_requests; i++) {
        const struct request_row *request = &story->requests[i];
        if (request->is_over_quota) {
            reasons_say(&story->reasons, "%s %llu unit%s of %s, and one user may have %u", who,
                (unsigned long long)request->held, request->held == 1 ? "" : "s", request->name,
                request->quota);
            story->is_over_quota = true;
        }
    }
    if (story->is_over_quota) {
        reasons_remark(&story->reasons, "you hold as many units as one user may");
    }
}

/* While its database grants nothing new; or 0. */
static nanoseconds grace_left(const struct story *story)
{
    nanoseconds until = story->session ? story->session->grace_until : NEVER;
    return until == NEVER ? 0 : until - story->scene->now;
}

/* The last sentence. Nobody knows when a drain, a grace or a quota lets the request go. */
static void add_forecast(struct story *story, struct text *out)
{
    struct core *core = story->scene->core;
    bool is_open = !story->is_limited &&
        (core_is_draining(core) || core_is_closed(core) || story->is_over_quota ||
            story->scene->state || grace_left(story) > 0);
    if (story->is_limited) {
        reasons_remark(&story->reasons, "it can never start under the limit in force");
    }
    if (is_open || story->start == UINT64_MAX) {
        reasons_say(&story->reasons, "%s",
            is_open ? "when it will start is unknown" : story->forecast);
    } else {
        text_add_number_key(out, "starts", story->start / 1000);
        reasons_say(&story->reasons, "%s", story->forecast);
    }
}

static void say_grace(struct story *story)
{
    struct text sentence = TEXT_INIT;
    nanoseconds left = grace_left(story);
    text_add(&sentence, "its database ");
    if (story->session->is_new) {
        fleet_why_new(&sentence, story->scene->database, left);
    } else {
        text_add(&sentence, "is new or has lost its data, and grants nothing for ");
        text_add_age(&sentence, milliseconds(left) + 999);
    }
    reasons_stop(&story->reasons, "grace", sentence.bytes);
    text_deinit(&sentence);
}

/* What holds for all of this host, or of the database. */
static void add_surroundings(struct story *story)
{
    struct core *core = story->scene->core;
    if (core_is_draining(core)) {
        reasons_stop(&story->reasons, "drain", "this host is being drained");
    }
    reasons_stop_if_closed(&story->reasons, core, story->scene->now);
    if (grace_left(story) > 0) {
        say_grace(story);
    }
}

/* ---- a request ---- */

static void add_wanted(struct text *out, const struct acquire_request *ask)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        text_add_format(out, "%s%s", i > 0 ? " " : "", ask->wants[i].name);
        if (ask->wants[i].count != 1) {
            text_add_format(out, ":%u", ask->wants[i].count);
        }
    }
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
        add_forecast(story, out);
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
        verdict.outcome =
            core_preview_acquire(core, story->scene->viewer->uid, ask, &verdict.at_fault);
    }
    if (verdict.outcome == OUTCOME_PENDING && story->impossible) {
        verdict = (struct verdict){OUTCOME_IMPOSSIBLE, story->impossible->name};
    } else if (verdict.outcome == OUTCOME_PENDING && story->session &&
        story->session->is_unreachable) {
        verdict = (struct verdict){OUTCOME_DOWN, ask->wants[0].name};
    } else if (verdict.outcome == OUTCOME_PENDING) {
        bool grants = !story->scene->state && grace_left(story) <= 0 &&
            !core_is_draining(core) && !core_is_closed(core);
        verdict.outcome = grants && story->is_free ? OUTCOME_OK : OUTCOME_WAITING;
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
        explained_add_resource(&story, want->name, want->definition, want->count, NULL,
            ask->n_wants == 1);
    }
    say_quotas(&story, "you hold");
    add_surroundings(&story);
    const struct verdict verdict = find_verdict(&story, ask, bar);
    say_verdict(out, &first, &story, ask, &verdict);
    end_answer(out, &first, &story.reasons);
}

/* ---- a lease that waits ---- */

/* That the client of a waiting lease is stopped or not connected, or that of a held one has not
 * read the grant. */
static void say_client(
    struct reasons *reasons, const struct scene *scene, const struct lease *lease)
{
    if (lease->is_away) {
        reasons_say(reasons, "its client is stopped (away): others go before it until it goes on");
    } else if (lease->state == LEASE_WAITING && lease_is_detached(lease)) {
        reasons_say(
            reasons, "its client is not connected: nothing is granted to it until it reconnects");
    } else if (viewer_sees_not_started(scene->viewer, lease, scene->now)) {
        reasons_say(reasons,
            "its job has not started: its client, perhaps stopped, has not read the grant");
    }
}

static void say_blocker(struct story *story, struct lease *lease)
{
    struct reasons *reasons = &story->reasons;
    const struct resource *resource;
    say_quotas(story, "its user holds");
    if (!story->is_over_quota && lease_waits_for(lease, &resource) == WAIT_QUOTA) {
        reasons_remark(reasons, "you hold as many units as one user may");
        story->is_over_quota = true; /* behind an earlier request of the same user */
    } else if (!story->is_over_quota && story->lacks && lease->n_claims > 1) {
        reasons_say(reasons, "it still needs %s", story->lacks);
        reasons_remark(reasons, "lacks %s", story->lacks);
    }
    say_client(reasons, story->scene, lease);
}

static void add_names(struct text *out, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        text_add_format(out, "%s%s", i > 0 ? ", " : "", lease->claims[i].resource->name);
    }
}

/* "lease 34 of pid 812 (make, uid 1000) has waited for": the names follow. */
static void begin_sentence(
    struct text *sentence, const struct scene *scene, const struct lease *lease)
{
    struct lease_row row;
    lease_row_identify(&row, lease, scene);
    text_add_format(sentence, "lease %s of ", row.id);
    party_write(sentence, &row.line);
}

static void begin_answer(
    struct text *out, const char *is, const struct lease *lease, uint64_t position)
{
    text_add_format(out, "ok is=%s lease=", is);
    answer_lease_id(out, lease);
    if (position > 0) {
        text_add_number_key(out, "position", position);
    }
}

static void explain_waiting(struct text *out, struct story *story, struct lease *lease)
{
    struct text first = TEXT_INIT;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        const struct resource *resource = claim->resource;
        explained_add_resource(story, resource->name, resource->definition, claim->count, claim,
            lease->n_claims == 1);
    }
    story->position = story->position > 0 ? story->position : lease_position(lease);
    begin_sentence(&first, story->scene, lease);
    text_add(&first, " has waited for ");
    add_names(&first, lease);
    text_add(&first, " for ");
    text_add_age(&first, milliseconds(story->scene->now - lease->asked_at));
    if (story->position > 0) { /* else it is not known yet */
        text_add_format(
            &first, ": place %llu in the queue", (unsigned long long)story->position);
        reasons_remark(&story->reasons, "place %llu in the queue",
            (unsigned long long)story->position);
    }
    say_blocker(story, lease);
    add_surroundings(story);
    begin_answer(out, "waiting", lease, story->position);
    add_forecast(story, out);
    text_add(out, "\n");
    end_answer(out, &first, &story->reasons);
}

/* ---- a lease that is held ---- */

static void add_held(
    struct text *out, const struct scene *scene, const struct lease *lease)
{
    begin_sentence(out, scene, lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        struct text units = TEXT_INIT;
        units_write_claim(&units, claim, UNITS_BYTES);
        text_add_format(out, "%s%s%s of %s", i == 0 ? " has held " : ", ",
            resource_is_pool(claim->resource) ? "" : claim->count == 1 ? "slot " : "slots ",
            units.bytes, claim->resource->name);
        text_deinit(&units);
    }
    text_add(out, " for ");
    text_add_age(out, milliseconds(scene->now - lease->granted_at));
}

/* What ends it. */
static void say_end(
    struct reasons *reasons, const struct scene *scene, const struct lease *lease)
{
    static const char *const ends[] = {
        [BOUND_CONNECTION] = "it ends when its client gives it back or disconnects",
        [BOUND_PROCESS] = "it ends when its client gives it back or its process ends",
        [BOUND_TIME] = "it ends when it is given back or its ttl has run out",
    };
    nanoseconds until = lease_own_until(lease), hold = lease_max_hold(lease);
    bool is_of_max_hold = hold != NEVER && until >= lease->granted_at + hold;
    char span[32];
    if (lease->stopping != OUTCOME_OK) {
        reasons_say(reasons, "its job is being stopped: %s",
            code_table[outcome_code((enum outcome)lease->stopping)].meaning);
    } else if (until == NEVER) {
        reasons_say(reasons, "%s", ends[lease->binding]);
    } else {
        age_format(span, sizeof span, milliseconds(until - scene->now));
        reasons_say(reasons, "%s, and after %s at the latest%s", ends[lease->binding], span,
            is_of_max_hold ? ": max-hold" : "");
    }
}

void explained_lease(struct text *out, const struct scene *scene,
    const struct session_view *session, struct lease *lease)
{
    struct story story = {.scene = scene, .session = session};
    struct text first = TEXT_INIT;
    if (lease->state == LEASE_WAITING) {
        explain_waiting(out, &story, lease);
        return;
    }
    begin_answer(out, "held", lease, 0);
    text_add(out, "\n");
    add_held(&first, scene, lease);
    say_client(&story.reasons, scene, lease);
    say_end(&story.reasons, scene, lease);
    end_answer(out, &first, &story.reasons);
}
