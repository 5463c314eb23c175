/* forecast.h - when a request will probably start, from how long the latest leases were held. Pure.
 *
 * Simulates the queue: each current holder is assumed to hold, in total, for as long as one of the
 * latest leases that lasted longer than it has so far, and each waiter ahead for as long as one of
 * all of them: with the first the median, then the quartiles, then what is between, so that several
 * holders do not all end at once, but for max-hold at most. It is a guess, and none is made from
 * fewer than FORECAST_MIN_HOLDS leases, where somebody has held for longer than all of these, or
 * where there is an obstacle whose end nobody knows. Where all of them have a max-hold, the same
 * queue with each of them held for so long gives the latest start. */
#pragma once

#include "core/preview.h"

enum {
    FORECAST_MIN_HOLDS = 5,
    FORECAST_MAX = 256,
    ANY_MOMENT = 1000000, /* microseconds: what is less is nothing to wait for */
};

/* What holds requests up, and ends nobody knows when. */
enum forecast_obstacle {
    FORECAST_NO_OBSTACLE,
    FORECAST_PASSED_OVER, /* some of those ahead, for their quota or for another resource */
    FORECAST_CLOSED,
    FORECAST_LIMITED, /* to less than the request wants */
    FORECAST_PAUSED,
};

/* Times are in microseconds. */
struct forecast {
    const char *name; /* of the resource; not owned */
    enum forecast_obstacle obstacle;
    bool is_fleet; /* .holds are this host's alone */
    uint64_t holds[RECENT_HOLDS]; /* sorted by forecast_init() */
    size_t n_holds;
    uint64_t cooldown;
    /* The n-th unit from now on goes at .rate_begins + n * .rate_step at the earliest; step 0: no
     * rate. */
    int64_t rate_begins;
    int64_t rate_step;
    uint64_t n_going; /* so far, while it looks forward */
    uint64_t stop_takes; /* from max-hold until the units are free */
    int64_t free; /* units that can be granted now; less than 0: the limit was lowered below use */
    struct {
        uint64_t at; /* when they are free again; UINT64_MAX: not known */
        uint64_t latest; /* the same at the latest; UINT64_MAX: nothing limits it */
        uint64_t units;
    } ends[2 * FORECAST_MAX];
    size_t n_ends;
    struct {
        uint64_t max_hold; /* UINT64_MAX: none */
        uint32_t units; /* that each wants, in order */
    } ahead[FORECAST_MAX];
    size_t n_ahead;
    uint32_t n_drawn; /* from .holds */
    bool is_latest; /* each is held for max-hold */
    bool is_outlasted; /* somebody has held for longer than all of .holds */
    bool is_cut; /* there are more than fit in here */
};

/* The latest holds of that resource, and what its definition says; the caller then sets .free. The
 * forecast keeps `name`. */
void forecast_init(struct forecast *forecast, struct core *core, const char *name,
    const struct definition *definition);
/* Somebody has held so many units for `age`, and may for `left` more; UINT64_MAX: for ever. */
void forecast_add_holder(struct forecast *forecast, uint64_t age, uint64_t left, uint64_t units);
/* Units are free again at that time, and at the latest then. */
void forecast_add_end(struct forecast *forecast, uint64_t at, uint64_t latest, uint64_t units);
/* Somebody is ahead; in order. */
void forecast_add_ahead(struct forecast *forecast, uint64_t max_hold, uint32_t units);
/* When so many units can be had, counted from now; UINT64_MAX: nobody can tell. */
uint64_t forecast_start(const struct forecast *forecast, uint32_t wants);
/* The same if everybody holds for as long as max-hold allows; UINT64_MAX: somebody has none. */
uint64_t forecast_latest(const struct forecast *forecast, uint32_t wants);

/* "about 4m", "at any moment"; or why it is not known. `start` is forecast_start()'s. */
void forecast_say(char *out, size_t size, const struct forecast *forecast, uint64_t start);
/* Adds ", after 58m at the latest: max-hold". */
void forecast_add_latest(char *out, size_t size, uint64_t latest);
