/* notify.h - what the service manager hears while berthd runs: that it is ready, reloads, stops,
 * that its loop turns, and in one line what it does. Nothing at all where there is no manager. */
#ifndef BERTH_DAEMON_NOTIFY_H
#define BERTH_DAEMON_NOTIFY_H

#include "daemon/notify_text.h"

#include <uv.h>

struct server;

struct notify {
    bool is_heard; /* from notify_ready() on; by somebody */
    nanoseconds watchdog; /* how often it must hear of us; 0: it need not */
    struct notify_pace pace;
    char owed[128]; /* assignments, each with its newline: said with the line, when pace.owes */
    uv_timer_t status_timer; /* runs while the line is out of date, and was said just now */
    uv_timer_t watchdog_timer;
};

/* After the loop's. */
void notify_init(struct server *server);
/* Clients can connect. */
void notify_ready(struct server *server);
/* At the end of each turn. */
void notify_end_turn(struct server *server);
/* Around a reload, whatever becomes of it. */
void notify_reloading(struct server *server);
void notify_reloaded(struct server *server);
void notify_stopping(struct server *server);

#endif
