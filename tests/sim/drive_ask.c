/* drive_ask.c - what a simulated client asks, in the core's words. */
#include "drive_internal.h"

#include <stdio.h>

const char *once_text(char text[16], uint32_t once)
{
    snprintf(text, 16, "o%u", once);
    return text;
}

/* Each job is a process of its own. */
void core_ask_init(struct core_ask *out, struct simulation *simulation, const struct model_ask *ask)
{
    int32_t pid = ++simulation->last_pid;
    out->ask = (struct acquire_request){
        .n_wants = ask->n_wants,
        .wait = ask->wait,
        .attributes = {.priority = ask->priority,
            .kill_after = ask->kill_after,
            .on_lost = (uint8_t)ask->on_lost,
            .signal = SIGNAL_TERM,
            .parent = ask->parent},
        .pid = pid,
        .binding = ask->binding,
        .ttl = ask->ttl,
        .has_kill_after = ask->has_kill_after,
        .has_on_lost = ask->has_on_lost,
    };
    if (ask->binding == BOUND_PROCESS) {
        out->ask.process = (struct process){.pid = pid, .started = (uint64_t)pid * 3};
    }
    if (ask->holder != 0) {
        snprintf(out->holder, sizeof out->holder, "h%u", ask->holder % 1000);
        out->ask.attributes.holder = out->holder;
    }
    if (ask->once != 0) {
        out->ask.attributes.once = once_text(out->once, ask->once);
    }
    for (size_t i = 0; i < ask->n_wants; i++) {
        out->ask.wants[i] =
            (struct requested_resource){.name = ask->wants[i].name, .count = ask->wants[i].count};
    }
}
