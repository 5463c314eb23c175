/* json.h - what `berthctl status`, `hosts`, `watch`, `history` and `stats` print with --json. Pure.
 *
 * One object on one line of ASCII. Keys are always there and never change their meaning within a
 * version; later ones may be added.
 *
 * Doc: doc/man/berthctl.1.scd, JSON, WATCH, HISTORY and STATS. The keys of what a line of berthd
 * describes are those of wire/status_keys.def.
 *
 * Bytes of strings that are not UTF-8 appear as the four characters \xNN. */
#pragma once

#include "view/stats.h"

void json_print(const struct status *status, struct text *out);
/* One element of it, without an LF: for documents of other programs. The status says what may be
 * granted. */
void json_add_resource(
    const struct status *status, const struct status_resource *resource, struct text *out);
void json_add_template(const struct status_resource *template, struct text *out);
/* The whole array of it, and of `berthctl hosts --json`. */
void json_add_databases(const struct status *status, struct text *out);
void json_add_hosts(const struct status *status, struct text *out);
/* A string; NULL: null. */
void json_add_string(const char *string, struct text *out);
/* `berthctl hosts --json`. */
void json_print_hosts(const struct status *status, struct text *out);

/* ---- berthctl watch ---- */

struct json_event {
    const char *event; /* a word */
    int64_t time; /* milliseconds since 1970 */
    struct instant now; /* the same on berthd's clock, for those of the lease */
    const char *resource, *database; /* which it is about; or NULL */
    const char *text; /* a sentence */
    /* Whom it is about; at most one, else NULL. Its keys follow those above. */
    const struct status_lease *lease;
    const struct past_lease *ended;
    bool is_pool; /* the resource of the lease */
};

/* Adds it as a line. */
void json_print_event(const struct json_event *event, struct text *out);

/* ---- berthctl history, berthctl stats ---- */

void past_json_print(const struct past *past, struct text *out);
/* One element of its leases, without an LF. */
void past_json_add_lease(const struct past_lease *lease, struct text *out);
void stats_json_print(const struct stats *stats, struct text *out);
