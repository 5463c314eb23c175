/* json.h - what `berthctl status --json` prints. Pure.
 *
 * One object on one line of ASCII. Keys are always there and never change their meaning within a
 * version; later ones may be added.
 *
 *   {"version": 1,
 *    "draining": false,              nothing is granted on this host
 *    "resources": [{
 *      "name": "gpus",
 *      "kind": "pool",               or "semaphore", "lock"
 *      "scope": "host",              or "fleet"
 *      "database": null,             of fleet scope: its name
 *      "database_state": null,       "down", ...: why the figures are those of this host alone
 *      "limit": 4, "in_use": 3, "free": 1, "cooling": 0,               units
 *      "grantable": 1,               of the free ones: none kept, none in a drain or a grace
 *      "waiting": 1,                                                   requests
 *      "paused": true, "pause_reason": "driver upgrade",               or null
 *      "paused_by_uid": 0, "paused_by_user": "root",                   or null: not known
 *      "paused_by_login_uid": 1000, "paused_by_login_user": "ada",     who had logged in, if other
 *      "changed": ["limit", "items"],                                  at runtime
 *      "template": null,             of an instance: "market/" and a star
 *      "removed": false,             from the file; goes when nobody holds it
 *      "items": [{"name": "gpu0", "state": "held", "reason": null}],
 *                                    of a pool: all; else the slots (numbers) that are reserved.
 *                                    state: what becomes of it: "draining" (goes when given back),
 *                                    "reserved" (perhaps still held; reason: why), "held", or
 *                                    "idle" (free, or cooling)
 *      "items_cut": false,           the daemon had no room for all of them
 *      "holders": [{
 *        "lease": "3f9k",            of another host: "0123456789abcdef/3f9k"
 *        "units": ["gpu0"],          slots are numbers, items strings
 *        "units_cut": false,
 *        "token": "1042",            a string: it may exceed the 2^53 of other languages' numbers
 *        "pid": 4711, "uid": 1000,
 *        "user": "alice",            or null: that uid has no name here
 *        "host": null,               in fleet scope: whose it is
 *        "program": "train",         and each other attribute that status shows
 *                                    (base/attributes.def), or null
 *        "holder": "job-12",         or null
 *        "age_ms": 123456}],         since it was granted
 *      "waiters": [{
 *        "lease": "3f9m",
 *        "position": 1,              1 is the head
 *        "wants": 2,                 units
 *        "pid": 4712, "uid": 1000, "user": "alice",
 *        "host": null, "program": null, "holder": null, ...
 *        "priority": 0,
 *        "blocked": null,            "quota", "away", "other": who is passed over, and why
 *        "age_ms": 1234}]            since it was asked for
 *    }],
 *    "templates": [{
 *      "name": "market/...",        ends with a star
 *      "kind": "semaphore", "scope": "host",
 *      "database": null, "database_state": null,                     as of a resource
 *      "limit": 5,                 units of each instance
 *      "instances": 2,             that are alive
 *      "paused": true, "pause_reason": "migration",                  all of them
 *      "paused_by_uid": 0, ...                                       as of a resource
 *      "changed": ["limit"]}],     at runtime, for all of them
 *    "databases": [{               of fleet scope
 *      "name": "default",
 *      "state": "up",              or "listing" (connecting), "down", "replaced" (another daemon
 *                                  has this one's identity)
 *      "why": null,                it is not up
 *      "server": "10.0.0.7:6379", "redis_version": "7.0.15",         null: never connected
 *      "warning": null,            its set-up is not safe
 *      "lacks": ["config-get"],    what the server does not allow, and Berth does without
 *      "ttl_ms": 30000,
 *      "grace_ms": null,           so long nothing new is granted
 *      "new": false,               that is its first grace: `berthctl found` can end it
 *      "good_ms": 24950,           so long leases are good if nothing more is heard
 *      "incarnation": 3,
 *      "differing": 0,             definitions of this host's file that are not the fleet's
 *      "calls": 1042,              sent to it since berthd was started
 *      "sessions": 40,             that it has; like the next three, only in `berthctl hosts
 *                                  --json`, else null
 *      "calls_per_1000_s": 8200,   of all hosts
 *      "busy_us_per_s": 380,       it spends on these, of each second
 *      "cpu_us_per_s": 1900,       it spends in all; null: not known yet
 *      "layout": 2}]}              of its data; null: it is not up
 *
 * Bytes of strings that are not UTF-8 appear as the four characters \xNN. */
#ifndef BERTH_VIEW_JSON_H
#define BERTH_VIEW_JSON_H

#include "view/printable.h"
#include "view/status.h"

void json_print(const struct status *status, struct text *out);
/* One element of it, without an LF: for documents of other programs. The status says what may be
 * granted. */
void json_add_resource(
    const struct status *status, const struct status_resource *resource, struct text *out);
void json_add_template(const struct status_template *template, struct text *out);
/* The whole array of it, and of `berthctl hosts --json`. */
void json_add_databases(const struct status *status, struct text *out);
void json_add_hosts(const struct status *status, struct text *out);
/* A string; NULL: null. */
void json_add_string(const char *string, struct text *out);
/* `berthctl hosts --json`: {"version": 1, "hosts": [{
 *      "host": "web1", "database": "default",
 *      "heard_ms": 812, "held": 3, "waiting": 0,
 *      "version": "0.1.0",         of its berthd; null: an older one, which does not say it
 *      "layout_from": 2, "layout_to": 3,   the layouts of the data that it reads and writes
 *      "ttl_ms": 30000, "failover_lag_ms": 13000,   its file's; null: not said
 *      "session": "0123456789abcdef"}],
 *    "databases": [...]}           as above */
void json_print_hosts(const struct status *status, struct text *out);

#endif
