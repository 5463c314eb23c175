/* operation_text.c - a step of the simulation as text. */
#include "operation.h"

#include <math.h>
#include <stdio.h>

static double seconds(nanoseconds span)
{
    return span == NEVER ? INFINITY : (double)span / 1e9;
}

static void print_ask(const struct model_ask *ask)
{
    static const char *const bindings[] = {
        [BOUND_CONNECTION] = "connection", [BOUND_PROCESS] = "pid", [BOUND_TIME] = "ttl"};
    for (size_t i = 0; i < ask->n_wants; i++) {
        printf(" %s:%u%s", ask->wants[i].name, ask->wants[i].count,
            ask->wants[i].is_all ? "=all" : "");
    }
    const char *bound = ask->is_programs ? "peer" : bindings[ask->binding];
    printf(" wait=%g priority=%d holder=h%u", seconds(ask->wait), ask->priority, ask->holder);
    printf(" share=w%u replace=%s", ask->share, replace_words[ask->replace]);
    printf(" parent=%ju once=%u bound=%s ttl=%g", (uintmax_t)ask->parent, ask->once, bound,
        seconds(ask->ttl));
    if (ask->has_kill_after) {
        printf(" kill-after=%g", seconds(ask->kill_after));
    }
    if (ask->has_on_lost) {
        printf(" on-lost=%s", on_lost_words[ask->on_lost]);
    }
}

static void print_rules(const struct rules *rules)
{
    static const char *const kinds[] = {"semaphore", "lock", "pool"};
    static const char *const selections[] = {"lru", "first", "random"};
    printf("\n      %s %s limit=%u select=%s items=", kinds[rules->kind], rules->name, rules->limit,
        selections[rules->selection]);
    for (uint32_t i = 0; i < rules->n_items; i++) {
        printf("%si%u", i > 0 ? "," : "", rules->items[i]);
    }
    static const char *const orders[] = {"fifo", "max-overtakes", "fair"};
    printf(" %s=%u", orders[rules->order],
        rules->order == ORDER_FAIR ? rules->fair_by_share : rules->max_overtakes);
    printf(" cooldown=%g keep=%g max-waiters=%u", seconds(rules->cooldown), seconds(rules->keep),
        rules->max_waiters);
    printf(" rate=%u/%g burst=%u", rules->rate.units, seconds(rules->rate.window), rules->burst);
    printf(" max-units-per-user=%d max-instances=%u max-priority=%d%s",
        (int)rules->max_units_per_user, rules->max_instances, rules->max_priority,
        rules->identity_shared ? " identity=shared" : "");
    printf(" max-hold=%g kill-after=%g on-lost=%s", seconds(rules->max_hold),
        seconds(rules->kill_after), on_lost_words[rules->on_lost]);
}

static void print_file(uint64_t seed)
{
    struct rules_file file;
    rules_make(&file, seed);
    for (size_t i = 0; i < file.n; i++) {
        print_rules(&file.list[i]);
    }
    printf("\n      user clients=%d waiters=%d leases=%d instances=%d", (int)file.bounds.clients,
        (int)file.bounds.waiters, (int)file.bounds.leases, (int)file.bounds.instances);
}

static void print_said(const struct operation *operation)
{
    for (size_t i = 0; i < operation->ask.n_wants; i++) {
        printf(" %s=", operation->ask.wants[i].name);
        for (uint32_t k = 0; k < operation->ask.wants[i].count && k < MODEL_UNITS; k++) {
            printf("%s%u", k > 0 ? "," : "", operation->said.units[i][k]);
        }
        printf(" token %ju", (uintmax_t)operation->said.tokens[i]);
    }
}

void operation_print(const struct operation *operation)
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
    static const char *const words[] = {
        [OPERATION_ACQUIRE] = "acquire",
        [OPERATION_END] = "end",
        [OPERATION_CLIENT] = "comes",
        [OPERATION_GONE] = "gone",
        [OPERATION_TICK] = "tick",
        [OPERATION_CHANGE] = "change",
        [OPERATION_DRAIN] = "drain",
        [OPERATION_DEFINE] = "define",
        [OPERATION_DIES] = "process dies of",
        [OPERATION_REPORTED] = "process is gone of",
        [OPERATION_REVOKE] = "revoke",
        [OPERATION_WITHDRAW] = "withdraw",
        [OPERATION_DROP] = "drop",
        [OPERATION_MOVE] = "move",
        [OPERATION_RENEW] = "renew",
        [OPERATION_BIND] = "bind",
        [OPERATION_RESTART] = "restart",
        [OPERATION_RECLAIM] = "reclaim",
        [OPERATION_REPEAT] = "repeat",
        [OPERATION_RECLAIM_UNKNOWN] = "reclaim unknown",
    };
    printf("%.3f client %d: %s %ju", seconds(operation->now), operation->client,
        words[operation->kind], (uintmax_t)operation->lease);
    switch (operation->kind) {
    case OPERATION_ACQUIRE:
        print_ask(&operation->ask);
        break;
    case OPERATION_CLIENT:
        printf(" uid %u", operation->uid);
        break;
    case OPERATION_GONE:
        printf("%s", operation->half ? " half" : "");
        break;
    case OPERATION_CHANGE:
        printf(" %s %s %u", changes[operation->change], operation->name, operation->number);
        break;
    case OPERATION_MOVE:
        printf("%s", operation->is_first ? " first" : " last");
        break;
    case OPERATION_DRAIN:
        printf(" %d", operation->draining);
        break;
    case OPERATION_DEFINE:
        print_file(operation->rules_seed);
        break;
    case OPERATION_RESTART:
        printf(" closed=%d without-numbers=%d with-changes=%d lost=%u%%", operation->restart.closed,
            operation->restart.id_allocator_lose, operation->restart.keeps_changes,
            operation->restart.lost_percent);
        if (operation->rules_seed != 0) {
            print_file(operation->rules_seed);
        }
        break;
    case OPERATION_RENEW:
        printf(" ttl=%g", seconds(operation->ttl));
        break;
    case OPERATION_BIND:
        printf("%s", operation->binding == BOUND_PROCESS ? " pid" : " connection");
        break;
    case OPERATION_RECLAIM_UNKNOWN:
        print_ask(&operation->ask);
        if (operation->was_held) {
            print_said(operation);
        }
        break;
    default:
        break;
    }
    printf("\n");
}
