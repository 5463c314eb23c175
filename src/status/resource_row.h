/* resource_row.h - a resource or a template as it is shown: one kind of row, filled from the core
 * or from what a database has listed. Pure. Whatever other hosts have written, its line stays one
 * line, below LINE_BYTES. */
#pragma once

#include "base/words.h"
#include "core/core.h"
#include "status/listing.h"
#include "status/viewer.h"
#include "wire/status_keys.h"

/* Where, when and to whom rows are shown. */
struct scene {
    struct core *core;
    const struct viewer *viewer; /* for leases alone */
    nanoseconds now;
    nanoseconds wall_now; /* since 1970 */
    bool follows; /* to one who follows: this host's part is as the core has it */

    /* In host scope all empty: */
    const char *database; /* its name */
    const char *session; /* whose leases there are this host's */
    const char *state; /* why what is shown of it is old, or of this host alone; or NULL */
    const struct fleet_rows *rows; /* what it has listed; NULL: nothing yet */
    nanoseconds listed_at; /* .rows, by the clock of .now */
    const struct listing *listing; /* .follows: what .rows are from */
};

struct decision_room {
    char reason[REASON_BYTES + 1], host[REASON_BYTES + 1];
};

enum { RATE_SIZE = 48 };

struct resource_row {
    struct status_resource line; /* without its units */
    const struct resource *here; /* as the core has it; or NULL */
    const struct fleet_resource *listed; /* as the database has it, which then counts; or NULL */
    const struct fleet_row *fields; /* of .listed */
    struct resource *idle; /* owned: .here, an instance that nobody uses */
    struct decision_room pause_room, change_room; /* what .line may point to, as the next */
    char rate_room[RATE_SIZE];
    const struct definition *definition; /* as this host has it; or NULL */
    const struct definition *rated; /* if it has a rate; else NULL */
    nanoseconds paid_at; /* with that: as of its meter */
};

/* False: neither the database nor the core has it; then there is nothing to deinit. */
bool resource_row_find(struct resource_row *row, const struct scene *scene, const char *name);
/* Otherwise an instance that nobody uses. Looking at it does not make it. */
void resource_row_find_or_idle(struct resource_row *row, const struct scene *scene,
    const char *name, const struct definition *definition);
void resource_row_deinit(struct resource_row *row);
/* Adds its line, with its units. */
void resource_row_write(struct text *out, const struct resource_row *row);
/* Adds the line of a template. */
void template_write(struct text *out, const struct template *template, const struct scene *scene);

/* That the core has, or else the file; NULL: nothing is called so. */
const struct definition *definition_of_name(struct core *core, const char *name);
/* The database that the core or the file names; 0: host scope, or nothing is called so. */
uint8_t database_of_name(struct core *core, const char *name);
/* As it is shown, without the users' names. It borrows the strings. */
struct shown_decision decision_shown(const struct decision *decision);
/* Sets that it is paused, by whom, since when and why. */
void resource_set_pause(struct status_resource *line, const struct decision *decision);
/* Its reserved units; `reason` may be NULL. */
void resource_row_for_each_reserved(const struct resource_row *row,
    void (*function)(void *context, const char *unit, const char *reason), void *context);
