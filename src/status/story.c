#include "status/story.h"

#include "status/why.h"

enum { MAX_FIRST_BYTES = 1300 };

void story_end(struct story *story, struct text *first, struct text *out)
{
    struct reasons *reasons = &story->reasons;
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

/* ---- its resources ---- */

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

void story_add_resource(struct story *story, const char *name,
    const struct definition *definition, uint32_t wants, const struct waiting_lease *waiter,
    bool is_only)
{
    struct forecast forecast;
    forecast_init(&forecast, story->scene->core, name, definition);
    const struct request_row request = resource_reasons(
        &story->reasons, story->scene, name, definition, wants, waiter, &forecast);
    story->requests[story->n_requests++] = request;
    story->position = request.position > story->position ? request.position : story->position;
    story->is_free &= !request.is_taken;
    story->lacks = request.blocker && !request.is_over_quota ? request.blocker : story->lacks;
    if (request.wants > request.max && !story->impossible) {
        story->impossible = &story->requests[story->n_requests - 1];
    }
    note_forecast(story, &forecast, (uint32_t)request.wants);
    if (is_only) {
        note_latest(story, &forecast, (uint32_t)request.wants);
    }
}

void story_say_quotas(struct story *story, const char *who)
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

/* ---- what keeps everybody waiting ---- */

/* While its database grants nothing new; or 0. */
static nanoseconds grace_left(const struct story *story)
{
    nanoseconds until = story->session ? story->session->grace_until : NEVER;
    return until == NEVER ? 0 : until - story->scene->now;
}

bool story_is_held_up(const struct story *story)
{
    struct core *core = story->scene->core;
    bool is_here = !story->is_elsewhere && (core_is_draining(core) || core_is_closed(core));
    return is_here || story->scene->state || grace_left(story) > 0;
}

/* Nobody knows when a drain, a grace, a quota or an identity lets the request go. */
void story_add_forecast(struct story *story, struct text *out)
{
    bool is_open = !story->is_limited &&
        (story_is_held_up(story) || story->is_over_quota || story->waits_for_identity);
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

void story_add_surroundings(struct story *story)
{
    struct core *core = story->scene->core;
    if (!story->is_elsewhere && core_is_draining(core)) {
        struct text sentence = TEXT_INIT;
        drain_write(&sentence, decision_shown(core_drain_decision(core)), story->scene->viewer,
            milliseconds(story->scene->wall_now));
        reasons_stop(&story->reasons, "drain", sentence.bytes);
        text_deinit(&sentence);
    }
    if (!story->is_elsewhere) {
        reasons_stop_if_closed(&story->reasons, core, story->scene->now);
    }
    if (grace_left(story) > 0) {
        say_grace(story);
    }
}
