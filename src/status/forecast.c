#include "status/forecast.h"

#include "base/words.h"
#include "core/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- how long somebody holds ---- */

/* The next of 1/2, 1/4, 3/4, 1/8, 5/8, ... in parts of 2^16: the bits of 1, 2, 3, ... reversed. */
static size_t next_part(struct forecast *forecast)
{
    uint32_t bits = ++forecast->n_drawn & 0xffff, part = 0;
    for (int i = 0; i < 16; i++) {
        part = part << 1 | (bits >> i & 1);
    }
    return part;
}

/* How much longer somebody holds who has held since `age` ago, and may for `most` more; UINT64_MAX:
 * not known. */
static uint64_t draw(struct forecast *forecast, uint64_t age, uint64_t most)
{
    size_t first = 0, part = next_part(forecast);
    while (first < forecast->n_holds && forecast->holds[first] <= age) {
        first++;
    }
    if (forecast->n_holds < FORECAST_MIN_HOLDS || first == forecast->n_holds) {
        return UINT64_MAX; /* max-hold alone says what is possible, and not what is probable */
    }
    size_t n = forecast->n_holds - first;
    uint64_t more = forecast->holds[first + (n * part >> 16)] - age;
    return more < most ? more : most;
}

/* ---- who is there ---- */

void forecast_init(struct forecast *forecast, struct core *core, const char *name,
    const struct definition *definition)
{
    *forecast = (struct forecast){
        .name = name,
        .is_fleet = definition->database != 0,
        .cooldown = microseconds(definition->cooldown),
        .stop_takes =
            microseconds(instant_after(definition->kill_after,
                timing_stop_margin(definition->kill_after))),
    };
    forecast->n_holds = core_recent_holds(core, name, forecast->holds);
    qsort(forecast->holds, forecast->n_holds, sizeof forecast->holds[0], numbers_compare);
}

/* When units are free that somebody holds for so long. */
static uint64_t free_at(const struct forecast *forecast, uint64_t span)
{
    return sum(span, forecast->cooldown);
}

static uint64_t free_at_latest(const struct forecast *forecast, uint64_t left)
{
    return free_at(forecast, sum(left, forecast->stop_takes));
}

void forecast_add_end(struct forecast *forecast, uint64_t at, uint64_t latest, uint64_t units)
{
    if (forecast->n_ends == 2 * FORECAST_MAX) {
        forecast->is_cut = true;
        return;
    }
    forecast->ends[forecast->n_ends].at = at;
    forecast->ends[forecast->n_ends].latest = latest;
    forecast->ends[forecast->n_ends++].units = units;
}

void forecast_add_holder(struct forecast *forecast, uint64_t age, uint64_t left, uint64_t units)
{
    if (forecast->n_ends >= FORECAST_MAX) {
        forecast->is_cut = true;
        return;
    }
    bool has_enough = forecast->n_holds >= FORECAST_MIN_HOLDS;
    forecast->is_outlasted |= has_enough && forecast->holds[forecast->n_holds - 1] <= age;
    forecast_add_end(forecast, free_at(forecast, draw(forecast, age, left)),
        free_at_latest(forecast, left), units);
}

void forecast_add_ahead(struct forecast *forecast, uint64_t max_hold, uint32_t units)
{
    if (forecast->n_ahead == FORECAST_MAX) {
        forecast->is_cut = true;
        return;
    }
    forecast->ahead[forecast->n_ahead].max_hold = max_hold;
    forecast->ahead[forecast->n_ahead++].units = units;
}

/* ---- forward ---- */

static uint64_t end_at(const struct forecast *forecast, size_t i)
{
    return forecast->is_latest ? forecast->ends[i].latest : forecast->ends[i].at;
}

/* Lets time go on until the next units are free. Returns that time. */
static uint64_t take_next_end(struct forecast *forecast)
{
    size_t next = 0;
    for (size_t i = 1; i < forecast->n_ends; i++) {
        next = end_at(forecast, i) < end_at(forecast, next) ? i : next;
    }
    if (forecast->n_ends == 0 || end_at(forecast, next) == UINT64_MAX) {
        return UINT64_MAX;
    }
    uint64_t at = end_at(forecast, next);
    forecast->free += (int64_t)forecast->ends[next].units;
    forecast->ends[next] = forecast->ends[--forecast->n_ends];
    return at;
}

/* When so many units can be had, from `now` on. */
static uint64_t wait_for(struct forecast *forecast, uint64_t now, uint32_t units)
{
    while (now != UINT64_MAX && forecast->free < units) {
        uint64_t at = take_next_end(forecast);
        now = at > now ? at : now;
    }
    forecast->n_going += units;
    int64_t at = forecast->rate_begins + (int64_t)forecast->n_going * forecast->rate_step;
    return at > 0 && (uint64_t)at > now ? (uint64_t)at : now;
}

/* Takes the forecast's ends. */
static uint64_t go_forward(struct forecast *forecast, uint32_t wants)
{
    uint64_t now = 0;
    for (size_t i = 0; i < forecast->n_ahead && now != UINT64_MAX; i++) {
        uint32_t units = forecast->ahead[i].units;
        uint64_t max_hold = forecast->ahead[i].max_hold;
        now = wait_for(forecast, now, units);
        if (now != UINT64_MAX) {
            forecast->free -= units;
            uint64_t at = sum(now, free_at(forecast, draw(forecast, 0, max_hold)));
            forecast_add_end(forecast, at, sum(now, free_at_latest(forecast, max_hold)), units);
        }
    }
    bool is_open = forecast->is_cut || forecast->obstacle != FORECAST_NO_OBSTACLE;
    return is_open ? UINT64_MAX : wait_for(forecast, now, wants);
}

uint64_t forecast_start(const struct forecast *forecast, uint32_t wants)
{
    struct forecast copy = *forecast;
    return go_forward(&copy, wants);
}

uint64_t forecast_latest(const struct forecast *forecast, uint32_t wants)
{
    struct forecast copy = *forecast;
    copy.is_latest = true;
    return go_forward(&copy, wants);
}

/* ---- in words ---- */

/* The resource's name is between the two. */
static const struct {
    const char *before, *behind;
} obstacles[] = {
    [FORECAST_PAUSED] = {"", " is paused"},
    [FORECAST_CLOSED] = {"", " is closed"},
    [FORECAST_PASSED_OVER] = {"requests for ", " that are passed over at present may go first"},
};

/* Why nobody can tell, without an obstacle. */
static void say_what_is_missing(char *out, size_t size, const struct forecast *forecast)
{
    const char *unknown = "when it will start is unknown";
    if (!forecast->is_cut && forecast->n_holds < FORECAST_MIN_HOLDS) {
        snprintf(out, size, "%s: too few leases of %s have ended%s since berthd started", unknown,
            forecast->name, forecast->is_fleet ? " on this host" : "");
    } else if (!forecast->is_cut && forecast->is_outlasted) {
        snprintf(out, size, "%s: somebody has held %s for longer than any of its latest leases",
            unknown, forecast->name);
    } else {
        snprintf(out, size, "%s", unknown);
    }
}

/* A guess has no seconds of an hour. */
static nanoseconds rounded(uint64_t microseconds)
{
    uint64_t seconds = microseconds / 1000000;
    uint64_t step = seconds < 120 ? 5 : seconds < 7200 ? 60 : seconds < 172800 ? 3600 : 86400;
    return (nanoseconds)((seconds + step - 1) / step * step) * NANOSECONDS_PER_SECOND;
}

void forecast_say(char *out, size_t size, const struct forecast *forecast, uint64_t start)
{
    char span[32];
    if (forecast->obstacle == FORECAST_LIMITED) {
        snprintf(out, size, "it can never start under the limit in force of %s", forecast->name);
    } else if (start == UINT64_MAX && forecast->obstacle != FORECAST_NO_OBSTACLE) {
        snprintf(out, size, "when it will start is unknown: %s%s%s",
            obstacles[forecast->obstacle].before, forecast->name,
            obstacles[forecast->obstacle].behind);
    } else if (start == UINT64_MAX) {
        say_what_is_missing(out, size, forecast);
    } else if (start < ANY_MOMENT) {
        snprintf(out, size, "it will probably start at any moment");
    } else {
        duration_format(span, sizeof span, rounded(start));
        snprintf(out, size, "it will probably start in about %s", span);
    }
}

void forecast_add_latest(char *out, size_t size, uint64_t latest)
{
    char span[32];
    size_t n = strlen(out);
    uint64_t seconds = latest / 1000000 + (latest % 1000000 > 0);
    uint64_t step = seconds < 3600 ? 1 : seconds < 86400 ? 60 : 3600; /* age_format() cuts */
    age_format(span, sizeof span, (seconds + step - 1) / step * step * 1000);
    snprintf(out + n, size - n, ", after %s at the latest: max-hold", span);
}
