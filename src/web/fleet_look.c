#include "web/web.h"

#include "base/clock.h"
#include "base/memory.h"
#include "view/json.h"
#include "web/berthd_request.h"

enum { PAUSE_MS = 5000, LIMIT_MS = 5000 };

/* ---- an answer ---- */

static uint64_t hash_hosts(const struct status *status)
{
    uint64_t hash = status->n_hosts;
    for (size_t i = 0; i < status->n_hosts; i++) {
        const struct status_host *host = &status->hosts[i];
        hash = hash_string(host->name, hash);
        hash = hash_string(host->session, hash);
        hash = hash_string(host->version ? host->version : "", hash);
        hash = hash_number(hash ^ hash_number(host->held) ^ hash_number(~host->waiting));
    }
    for (size_t i = 0; i < status->n_gone; i++) {
        hash = hash_string(status->gone[i].session, hash);
    }
    return hash;
}

static void fleet_look_on_end(void *context, const char *why)
{
    struct fleet_look *look = context;
    look->talk = NULL;
    if (!why) {
        uint64_t hash = hash_hosts(&look->status);
        look->json.length = 0;
        look->gone.length = 0;
        json_add(hosts_value(&look->status), &look->json);
        json_add(gone_value(&look->status), &look->gone);
        if (hash != look->hash) {
            look->hash = hash;
            look->events++;
            long_polls_note(&look->web->polls);
        }
    }
    status_deinit(&look->status);
}

/* ---- asking ---- */

void fleet_look_note(struct fleet_look *look)
{
    const struct request_callbacks talker = {
        status_take, &look->status, fleet_look_on_end, look};
    struct web *web = look->web;
    nanoseconds now = clock_now();
    bool is_old = look->asked_at == 0 ||
        now - look->asked_at >= PAUSE_MS * NANOSECONDS_PER_MILLISECOND;
    if (look->talk || !is_old || !web->follower.link.is_kept ||
        live_status(&web->follower.link.live, now)->n_databases == 0) {
        return;
    }
    look->asked_at = now;
    look->talk = berthd_request_begin(
        web->loop, &web->follower.link.endpoint, "hosts\n", LIMIT_MS, &talker);
}

static void on_tick(uv_timer_t *timer)
{
    struct fleet_look *look = container_of(timer, struct fleet_look, timer);
    if (long_polls_are_read(&look->web->polls)) {
        fleet_look_note(look);
    }
}

void fleet_look_init(struct fleet_look *look, struct web *web)
{
    *look = (struct fleet_look){.web = web};
    look->hash = hash_hosts(&look->status);
    text_add(&look->json, "[]");
    text_add(&look->gone, "[]");
    uv_timer_init(web->loop, &look->timer);
    uv_timer_start(&look->timer, on_tick, PAUSE_MS, PAUSE_MS);
}

void fleet_look_deinit(struct fleet_look *look)
{
    berthd_request_stop(look->talk);
    status_deinit(&look->status);
    text_deinit(&look->json);
    text_deinit(&look->gone);
    uv_close((uv_handle_t *)&look->timer, NULL);
}
