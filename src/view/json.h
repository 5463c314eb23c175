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

/* ---- values: each is the caller's, who gives it away ---- */

typedef struct json_t json_t; /* jansson's */

json_t *text_value(const char *string); /* NULL: null */
json_t *number_value(uint64_t number); /* at most INT64_MAX */
json_t *optional_value(const struct optional *optional); /* not given: null */
json_t *words_value(const struct words *words);
json_t *user_name_value(const struct shown_user *user); /* the name; none is known: null */

/* Elements and arrays of the documents below, for those of other programs. The status says what may
 * be granted. */
json_t *resource_value(const struct status *status, const struct status_resource *resource);
json_t *template_value(const struct status_resource *template);
json_t *databases_value(const struct status *status);
json_t *hosts_value(const struct status *status);
json_t *gone_value(const struct status *status);
json_t *past_lease_value(const struct past_lease *lease);

/* A member for each key, but those that only followers get. */
void set_fields(json_t *object, const struct field *fields, const void *record);
/* A member for each attribute that has a title. */
void shown_set(json_t *object, const char *const shown[N_SHOWN]);

/* Adds the value in ASCII, without an LF, and frees it. */
void json_add(json_t *value, struct text *out);
/* The same as one line. */
void json_finish(json_t *object, struct text *out);

/* ---- berthctl status, berthctl hosts ---- */

void json_print(const struct status *status, struct text *out);
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
void stats_json_print(const struct stats *stats, const struct past *past, struct text *out);
