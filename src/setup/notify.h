/* notify.h - what the service manager is told while berthd runs: that it is ready, reloads, stops,
 * that its loop turns, and its status in one line. Does nothing where there is no manager. */
#pragma once

#include "setup/notify_text.h"

#include <uv.h>

struct server;

struct notify {
    struct server *server;
    bool is_heard; /* from notify_ready() on, if there is a manager */
    nanoseconds watchdog; /* how often the manager must hear from us; 0: it need not */
    struct notify_pace pace;
    char owed[128]; /* assignments, each with its newline: sent with the line, when pace.owes */
    uv_timer_t status_timer; /* runs while the line is out of date and was just sent */
    uv_timer_t watchdog_timer;
};

/* After the loop's. */
void notify_init(struct notify *notify, struct server *server);
/* Clients can connect. */
void notify_ready(struct notify *notify);
/* At the end of each turn, if there is a manager. */
void notify_end_turn(struct notify *notify);
/* Around a reload, whatever its result. */
void notify_reloading(struct notify *notify);
void notify_reloaded(struct notify *notify);
void notify_stopping(struct notify *notify);
