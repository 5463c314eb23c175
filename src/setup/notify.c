#include "setup/notify.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "database/fleet_sessions.h"
#include "service/manager.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum {
    PINGS_PER_WATCHDOG = 2,
    AGAIN_PER_WATCHDOG = 16, /* after a notification that was not sent */
};

/* A reload may wait for a name service, and nothing is served meanwhile. Killing berthd would not
 * help: the next one would wait for the same, and have nothing to serve by until then. */
static const nanoseconds longest_reload = 300 * NANOSECONDS_PER_SECOND;

/* ---- the status ---- */

static struct notify_facts look(const struct server *server)
{
    struct notify_facts facts = {
        .n_held = core_n_held(server->core),
        .n_waiting = core_n_waiting(server->core),
        .is_draining = core_is_draining(server->core),
        .is_drained = core_is_drained(server->core),
        .closed_why = core_closed_why(server->core),
    };
    for (uint8_t i = 0; i < server->databases.n; i++) {
        facts.down |= fleet_is_down(server->fleet, (uint8_t)(i + 1)) ? 1u << i : 0;
    }
    return facts;
}

static void say_status(struct notify *notify, const struct notify_facts *facts)
{
    const struct server *server = notify->server;
    const char *names[MAX_DATABASES] = {0};
    for (uint8_t i = 0; i < server->databases.n; i++) {
        names[i] = fleet_name_of(&server->databases, (uint8_t)(i + 1));
    }
    char text[NOTIFY_TEXT_SIZE], message[NOTIFY_TEXT_SIZE + sizeof notify->owed + 8];
    notify_text(text, server->listener.path, names, facts);
    snprintf(message, sizeof message, "%sSTATUS=%s", notify->pace.owes ? notify->owed : "", text);
    notify_tried(&notify->pace, facts, manager_notify(message), clock_now());
}

static void on_status_timer(uv_timer_t *timer)
{
    loop_iteration_end(&container_of(timer, struct notify, status_timer)->server->turn);
}

void notify_end_turn(struct notify *notify)
{
    if (notify->server->turn.stopping) {
        return;
    }
    const struct notify_facts facts = look(notify->server);
    nanoseconds due = notify_due(&notify->pace, &facts);
    if (due == NEVER) {
        uv_timer_stop(&notify->status_timer);
        return;
    }
    if (uv_is_active((uv_handle_t *)&notify->status_timer)) {
        return;
    }
    nanoseconds now = clock_now();
    if (due <= now) {
        say_status(notify, &facts);
        due = notify_due(&notify->pace, &facts);
    }
    if (due != NEVER) {
        uv_timer_start(&notify->status_timer, on_status_timer, milliseconds_until(due, now), 0);
    }
}

/* ---- the watchdog ---- */

static void on_watchdog_timer(uv_timer_t *timer);

static void set_watchdog_timer(struct notify *notify, bool was_heard)
{
    nanoseconds wait = notify->watchdog / (was_heard ? PINGS_PER_WATCHDOG : AGAIN_PER_WATCHDOG);
    uint64_t ms = milliseconds(wait);
    uv_timer_start(&notify->watchdog_timer, on_watchdog_timer, ms > 0 ? ms : 1, 0);
}

static void on_watchdog_timer(uv_timer_t *timer)
{
    struct notify *notify = container_of(timer, struct notify, watchdog_timer);
    set_watchdog_timer(notify, manager_notify("WATCHDOG=1"));
    loop_iteration_end(&notify->server->turn);
}

/* ---- events ---- */

void notify_init(struct notify *notify, struct server *server)
{
    notify->server = server;
    uv_timer_init(&server->loop, &notify->status_timer);
    uv_timer_init(&server->loop, &notify->watchdog_timer);
}

/* Now, or as soon as it can be sent. */
static void say_ready(struct notify *notify, const char *more)
{
    const struct notify_facts facts = look(notify->server);
    snprintf(notify->owed, sizeof notify->owed, "READY=1\n%s", more);
    notify->pace.owes = true;
    say_status(notify, &facts);
    notify_end_turn(notify);
}

/* The watchdog's time begins now. The time of a start counts as the start's, and is not prolonged:
 * 10 000 leases are taken over in 0.3 s, and what takes minutes is a name service that hangs. */
void notify_ready(struct notify *notify)
{
    notify->is_heard = manager_is_there();
    if (!notify->is_heard) {
        return;
    }
    notify->watchdog = manager_watchdog();
    if (notify->watchdog > 0) {
        set_watchdog_timer(notify, true);
    }
    say_ready(notify, "");
}

/* The watchdog is as the manager set it, or longer. */
static void set_watchdog(const struct notify *notify, nanoseconds watchdog, char *out, size_t size)
{
    out[0] = '\0';
    if (notify->watchdog > 0 && notify->watchdog < longest_reload) {
        snprintf(out, size, "WATCHDOG_USEC=%" PRId64 "\nWATCHDOG=1\n", watchdog / 1000);
    }
}

void notify_reloading(struct notify *notify)
{
    struct timespec now;
    char message[256], watchdog[64];
    if (!notify->is_heard) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    set_watchdog(notify, longest_reload, watchdog, sizeof watchdog);
    snprintf(message, sizeof message, "RELOADING=1\n%sMONOTONIC_USEC=%" PRId64, watchdog,
        (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    manager_notify(message);
}

void notify_reloaded(struct notify *notify)
{
    char watchdog[64];
    if (notify->is_heard) {
        set_watchdog(notify, notify->watchdog, watchdog, sizeof watchdog);
        say_ready(notify, watchdog);
    }
}

void notify_stopping(struct notify *notify)
{
    if (notify->is_heard) {
        manager_notify("STOPPING=1\nSTATUS=stopping");
    }
}
