/* reload.h - reads the configuration again. libuv's thread pool reads: files, and above all the
 * names of users and groups, may take long. The result is applied on the loop.
 *
 * One reading at a time. A request during one wants what the file says now, so another reading
 * follows, once for all such requests. */
#pragma once

#include "base/actor.h"
#include "conf/conf.h"
#include "database/certificates.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct conn;
struct notify;
struct server;

struct reload_waiter;
LIST_HEAD(reload_waiters, reload_waiter);

struct reload {
    struct server *server;
    struct notify *notify;
    uv_work_t work;
    uint64_t n_begun; /* readings so far */
    bool is_reading;
    bool is_wanted; /* another one is to follow */
    struct actor by; /* who has asked for this one last; not known: a signal */
    struct actor next; /* the same, for the one that is to follow */
    const struct conf *running; /* lent to the pool while it reads, as are: */
    struct conf *loaded; /* NULL: there are errors */
    struct conf_errors errors;
    struct conf_errors notes; /* of the last reading: settings_reload() */
    struct certificates certificates;
    struct reload_waiters waiters;
};

void reload_init(struct reload *reload, struct server *server, struct notify *notify);
/* Soon. Logs the result. `by`: who asks; NULL: a signal. */
void reload_begin(struct reload *reload, const struct actor *by);
/* The same for a connection, which is parked until it has its answer. */
void reload_for(struct conn *conn, const struct actor *by);
