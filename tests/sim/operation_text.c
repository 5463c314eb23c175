/* operation_text.c - a step of the simulation as text. */
#include "operation.h"

#include <stdarg.h>
#include <stdio.h>

struct writer {
    char *out;
    size_t size, n;
};

__attribute__((format(printf, 2, 3))) static void write_text(
    struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(writer->out + writer->n, writer->size - writer->n, format, arguments);
    va_end(arguments);
    writer->n += (size_t)n < writer->size - writer->n ? (size_t)n : writer->size - writer->n - 1;
}

static void write_ask(struct writer *writer, const struct model_ask *ask)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        write_text(writer, " %s:%u", ask->wants[i].name, ask->wants[i].count);
    }
    if (ask->wait != NEVER) {
        write_text(writer, " wait=%g", (double)ask->wait / 1e9);
    }
    if (ask->priority != 0) {
        write_text(writer, " priority=%d", ask->priority);
    }
    if (ask->holder != 0) {
        write_text(writer, " holder=h%u", ask->holder);
    }
    if (ask->parent != 0) {
        write_text(writer, " parent=%ju", (uintmax_t)ask->parent);
    }
    if (ask->once != 0) {
        write_text(writer, " once=%u", ask->once);
    }
    if (ask->binding == BOUND_PROCESS) {
        write_text(writer, " pid");
    } else if (ask->binding == BOUND_TIME) {
        write_text(writer, " ttl=%g", (double)ask->ttl / 1e9);
    }
    if (ask->has_kill_after) {
        write_text(writer, " kill-after=%g", (double)ask->kill_after / 1e9);
    }
    if (ask->has_on_lost) {
        write_text(writer, " on-lost=%s", on_lost_words[ask->on_lost]);
    }
}

static void write_rules(struct writer *writer, const struct rules *rules)
{
    static const char *const kinds[] = {"semaphore", "lock", "pool"};
    static const char *const selections[] = {"lru", "first", "random"};
    write_text(writer, "\n      %s %s", kinds[rules->kind], rules->name);
    if (rules_are_pool(rules)) {
        write_text(writer, " select=%s items=", selections[rules->selection]);
        for (uint32_t i = 0; i < rules->n_items; i++) {
            write_text(writer, "%si%u", i > 0 ? "," : "", rules->items[i]);
        }
    } else {
        write_text(writer, " limit=%u", rules->limit);
    }
    write_text(writer, " %s=%u", rules->order == ORDER_FIFO ? "fifo" : "max-overtakes",
        rules->max_overtakes);
    write_text(
        writer, " cooldown=%g keep=%g max-waiters=%u", (double)rules->cooldown / 1e9,
        (double)rules->keep / 1e9, rules->max_waiters);
    write_text(writer, " max-units-per-user=%d max-instances=%u max-priority=%d%s",
        (int)rules->max_units_per_user, rules->max_instances, rules->max_priority,
        rules->identity_shared ? " identity=shared" : "");
    if (rules->max_hold != NEVER) {
        write_text(writer, " max-hold=%g", (double)rules->max_hold / 1e9);
    }
    write_text(writer, " kill-after=%g on-lost=%s", (double)rules->kill_after / 1e9,
        on_lost_words[rules->on_lost]);
}

static void write_define(struct writer *writer, uint64_t seed)
{
    struct rules_file file;
    rules_make(&file, seed);
    write_text(writer, "define");
    for (size_t i = 0; i < file.n; i++) {
        write_rules(writer, &file.list[i]);
    }
    write_text(writer, "\n      user clients=%d waiters=%d leases=%d instances=%d",
        (int)file.bounds.clients, (int)file.bounds.waiters, (int)file.bounds.leases,
        (int)file.bounds.instances);
}

static void write_restart(struct writer *writer, const struct operation *operation)
{
    write_text(writer, "restart%s%s%s lost=%u%%", operation->restart.closed ? " closed" : "",
        operation->restart.id_allocator_lose ? " without-numbers" : "",
        operation->restart.keeps_changes ? " with-changes" : "", operation->restart.lost_percent);
    if (operation->rules_seed != 0) {
        write_text(writer, " ");
        write_define(writer, operation->rules_seed);
    }
}

static void write_unknown(struct writer *writer, const struct operation *operation)
{
    write_text(
        writer, "client %d: reclaim unknown %ju", operation->client, (uintmax_t)operation->lease);
    write_ask(writer, &operation->ask);
    for (size_t i = 0; operation->was_held && i < operation->ask.n_wants; i++) {
        write_text(writer, " %s=", operation->ask.wants[i].name);
        for (uint32_t k = 0; k < operation->ask.wants[i].count && k < MODEL_UNITS; k++) {
            write_text(writer, "%s%u", k > 0 ? "," : "", operation->said.units[i][k]);
        }
        if (operation->said.tokens[i] != 0) {
            write_text(writer, " token %ju", (uintmax_t)operation->said.tokens[i]);
        }
    }
}

/* Steps about one lease and nothing else. */
static const char *const lease_words[] = {
    [OPERATION_END] = "end",
    [OPERATION_DIES] = "process dies of",
    [OPERATION_REPORTED] = "process is gone of",
    [OPERATION_REVOKE] = "revoke",
    [OPERATION_WITHDRAW] = "withdraw",
    [OPERATION_DROP] = "drop",
    [OPERATION_RENEW] = "renew",
    [OPERATION_BIND] = "bind",
    [OPERATION_RECLAIM] = "reclaim",
    [OPERATION_REPEAT] = "repeat",
    [OPERATION_RECLAIM_UNKNOWN] = NULL,
};

static void write_lease_operation(struct writer *writer, const struct operation *operation)
{
    write_text(writer, "client %d: %s %ju", operation->client, lease_words[operation->kind],
        (uintmax_t)operation->lease);
    if (operation->kind == OPERATION_RENEW) {
        write_text(writer, " ttl=%g", (double)operation->ttl / 1e9);
    }
    if (operation->kind == OPERATION_BIND) {
        write_text(writer, operation->binding == BOUND_PROCESS ? " pid" : " connection");
    }
}

void operation_write(const struct operation *operation, char *out, size_t size)
{
    static const char *const changes[N_CHANGES] = {
        [CHANGE_LIMIT] = "limit",
        [CHANGE_ADD] = "add",
        [CHANGE_REMOVE] = "remove",
        [CHANGE_RESERVE] = "reserve",
        [CHANGE_PAUSE] = "pause",
        [CHANGE_RESUME] = "resume",
        [CHANGE_RESET] = "reset",
    };
    struct writer writer = {.out = out, .size = size};
    write_text(&writer, "%.3f ", (double)operation->now / 1e9);
    switch (operation->kind) {
    case OPERATION_ACQUIRE:
        write_text(&writer, "client %d: acquire", operation->client);
        write_ask(&writer, &operation->ask);
        break;
    case OPERATION_CLIENT:
        write_text(&writer, "client %d: comes, uid %u", operation->client, operation->uid);
        break;
    case OPERATION_GONE:
        write_text(&writer, "client %d: %sgone", operation->client, operation->half ? "half " : "");
        break;
    case OPERATION_TICK:
        write_text(&writer, "tick");
        break;
    case OPERATION_CHANGE:
        write_text(
            &writer, "%s %s %u", changes[operation->change], operation->name, operation->number);
        break;
    case OPERATION_DRAIN:
        write_text(&writer, operation->draining ? "drain" : "undrain");
        break;
    case OPERATION_DEFINE:
        write_define(&writer, operation->rules_seed);
        break;
    case OPERATION_RESTART:
        write_restart(&writer, operation);
        break;
    case OPERATION_RECLAIM_UNKNOWN:
        write_unknown(&writer, operation);
        break;
    default:
        write_lease_operation(&writer, operation);
    }
}
