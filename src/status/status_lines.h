/* status_lines.h - the lines of `status`: what each shows, and how it is written, for both scopes.
 * host_lines.c fills them from the core, fleet_lines.c from what a database has listed. A new key
 * is a member here, a value in each of these two, and a line in status_lines.c. Pure.
 *
 * Strings belong to whoever fills the line. What is NULL, false or empty is left out, and so is a
 * number where this says so. Times are in milliseconds. Whatever a line shows, it stays one line,
 * below LINE_BYTES. */
#ifndef BERTH_STATUS_STATUS_LINES_H
#define BERTH_STATUS_STATUS_LINES_H

#include "base/by_whom.h"
#include "core/terms.h"
#include "status/unit_list.h"

/* Why and by whom something is paused. */
struct pause_said {
    const char *reason; /* or NULL */
    struct by_whom by;
    const char *user, *login; /* the names of .by, for sentences: no line of `status` has them */
};

/* What kind of a limit it is, and where it holds. */
struct limit_kind {
    const char *word; /* such as "pool" */
    const char *database; /* its name; NULL: host scope */
    const char *database_state; /* why only this host's leases are shown */
};

struct resource_line {
    const char *name;
    struct limit_kind kind;
    uint64_t limit, in_use, free, waiting;
    uint64_t kept; /* of those free; or 0 */
    uint64_t keeper; /* the place of the first waiter for whom units are kept; shown with .kept */
    uint64_t cooling; /* or 0 */
    bool is_paused;
    struct pause_said pause; /* shown with .is_paused */
    bool is_removed;
    const char *template; /* of an instance */
    const char *changed; /* at runtime: "limit" or "items" */
    struct unit_list items, draining, reserved;
    struct reserve_list reserve_reasons;
};

void resource_line_write(struct text *out, const struct resource_line *line);
void resource_line_deinit(struct resource_line *line);

struct template_line {
    const char *name;
    struct limit_kind kind;
    uint64_t limit; /* of each instance */
    uint64_t n_instances;
    bool is_paused; /* all instances */
    struct pause_said pause; /* shown with .is_paused */
    bool is_limit_changed; /* at runtime */
};

void template_line_write(struct text *out, const struct template_line *line);

/* Whose lease it is. Everybody may see this, apart from .details. */
struct lease_line {
    const char *id;
    const char *resource; /* its name; NULL: the line stands behind that of the resource */
    uint64_t age;
    uint64_t pid;
    bool has_uid;
    uint32_t uid;
    const char *user; /* the uid's name, for sentences: no line of `status` has it */
    const char *host;
    bool is_away; /* it has no connection */
    const struct terms *details; /* the texts: shown to whom viewer.h says, else NULL: hidden */
};

struct holder_line {
    struct lease_line lease;
    struct unit_list units; /* shown even if it is empty */
    uint64_t token;
    const char *bound; /* what keeps it alive */
    bool is_limited;
    uint64_t left; /* shown with .is_limited */
    const char *stopping; /* why */
    bool is_unread; /* viewer_sees_not_started() */
};

void holder_line_write(struct text *out, const struct holder_line *line);
void holder_line_deinit(struct holder_line *line);

struct waiter_line {
    struct lease_line lease;
    uint64_t position; /* or 0 */
    uint64_t ticket; /* or 0 */
    uint64_t wants;
    int priority;
    const char *blocked; /* why it is passed over: "quota" or "other" */
    const char *blocker; /* the resource because of which; shown with .blocked */
    uint64_t kept; /* units that are kept for it here; or 0 */
};

void waiter_line_write(struct text *out, const struct waiter_line *line);

#endif
