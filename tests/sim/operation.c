/* operation.c - random operations and configurations, biased towards what is interesting: few
 * resources, full ones, short waits, and a little of everything else. */
#include "operation.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- configurations ---- */

static const struct {
    const char *name;
    uint32_t percent; /* how often it is in the file */
    uint32_t pool_percent; /* and then a pool */
} known[] = {
    {"a", 98, 2},
    {"b", 98, 2},
    {"c", 93, 6},
    {"d", 93, 5},
    {"p", 98, 98},
    {"q", 93, 95},
    {"t/x", 15, 5},
    {"t/*", 97, 3},
    {"u/*", 95, 97},
};

static uint32_t pick(struct random *random, const uint32_t *list, uint32_t n)
{
    return list[random_below(random, n)];
}

#define PICK(random, ...)                                                                          \
    pick(random, (const uint32_t[]){__VA_ARGS__},                                                  \
        sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void make_items(struct rules *rules, struct random *random)
{
    uint32_t used = 0;
    uint32_t n = PICK(random, 1, 2, 3, 3, 4, 5);
    while (rules->n_items < n) {
        uint32_t item = random_below(random, 6);
        if (!(used & UINT32_C(1) << item)) {
            used |= UINT32_C(1) << item;
            rules->items[rules->n_items++] = (uint8_t)item;
        }
    }
}

static void make_rules(struct rules *rules, bool is_pool, struct random *random)
{
    rules->kind = is_pool ? KIND_POOL : random_percent(random, 15) ? KIND_LOCK : KIND_SEMAPHORE;
    if (is_pool) {
        make_items(rules, random);
    } else {
        rules->limit = rules->kind == KIND_LOCK ? 1 : PICK(random, 1, 2, 3, 3, 4, 4, 5, 6, 7, 0);
    }
    rules->order = random_percent(random, 30) ? ORDER_FIRST_FIT : ORDER_FIFO;
    rules->selection = (enum selection)random_below(random, 3);
    rules->cooldown = (nanoseconds)PICK(random, 0, 0, 0, 0, 1, 2, 5) * NANOSECONDS_PER_SECOND;
    rules->max_waiters = PICK(random, 1000, 1000, 1000, 1000, 1000, 8, 3, 0);
    rules->max_units_per_user =
        PICK(random, UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED, 1, 2, 3, 3, 4, 5);
    rules->max_overtakes = PICK(random, 100, 3, 2, 1, 0);
    rules->max_instances = PICK(random, 100, 100, 100, 3, 2, 1);
    rules->max_priority = (int32_t)PICK(random, 10, 10, 10, 10, 10, 10, 10, 2, 1, 0);
    rules->identity_shared = random_percent(random, 20);
}

void rules_make(struct rules_file *file, uint64_t seed)
{
    struct random random = {.state = seed};
    *file = (struct rules_file){.n = 0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (random_percent(&random, known[i].percent)) {
            struct rules *rules = &file->list[file->n++];
            strcpy(rules->name, known[i].name);
            make_rules(rules, random_percent(&random, known[i].pool_percent), &random);
        }
    }
    file->bounds = (struct user_bounds){
        .clients = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 4, 2),
        .waiters = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 12, 6, 2),
        .leases = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 20, 9, 4),
        .instances = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 3, 1),
    };
    for (size_t i = file->n; i > 1 && random_percent(&random, 30); i--) {
        size_t j = random_below(&random, (uint32_t)i);
        struct rules swapped = file->list[i - 1];
        file->list[i - 1] = file->list[j];
        file->list[j] = swapped;
    }
}

/* ---- operations ---- */

static void make_name(char name[MODEL_NAME], struct random *random)
{
    static const char *const names[] = {
        "a", "a", "b", "b", "c", "d", "p", "p", "q", "t/x", "t/x", "t/y", "t/z", "u/x", "u/y"};
    static const char *const wrong[] = {"z", "t", "v/x", "t/x/y"};
    bool is_wrong = random_percent(random, 1);
    strcpy(name, is_wrong ? wrong[random_below(random, 4)] : names[random_below(random, 15)]);
}

static int some_client(const struct model *model, bool connected, struct random *random)
{
    int found = -1;
    uint32_t n = 0;
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        if ((model->client_uids[i] >= 0) == connected && random_below(random, ++n) == 0) {
            found = i;
        }
    }
    return found;
}

static uint64_t some_lease(const struct model *model, struct random *random)
{
    return model->n_leases == 0
        ? 0
        : model->leases[random_below(random, (uint32_t)model->n_leases)]->id;
}

static bool wants_name(const struct model_ask *ask, const char *name)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        if (strcmp(ask->wants[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void make_ask(struct model_ask *ask, const struct model *model, struct random *random)
{
    uint32_t n = PICK(random, 1, 1, 1, 1, 2, 2, 3);
    while (ask->n_wants < n) {
        char name[MODEL_NAME];
        make_name(name, random);
        if (!wants_name(ask, name)) {
            strcpy(ask->wants[ask->n_wants].name, name);
            ask->wants[ask->n_wants++].count = random_percent(random, 2)
                ? PICK(random, 0, 7, 5)
                : PICK(random, 1, 1, 1, 1, 1, 1, 2, 2, 3);
        }
    }
    ask->wait = random_percent(random, 15) ? 0
        : random_percent(random, 50)
        ? NEVER
        : (nanoseconds)(1 + random_below(random, 40)) * NANOSECONDS_PER_SECOND / 2;
    ask->priority = (int32_t)PICK(random, 0, 0, 0, 0, 1, 2) - (int32_t)PICK(random, 0, 0, 0, 1);
    ask->holder = random_percent(random, 20) ? 1 + random_below(random, 5) : 0;
    ask->parent = random_percent(random, 10) ? some_lease(model, random) : 0;
}

static void make_change(struct operation *operation, struct random *random)
{
    static const enum change_kind kinds[] = {CHANGE_LIMIT, CHANGE_LIMIT, CHANGE_LIMIT, CHANGE_ADD,
        CHANGE_ADD, CHANGE_ADD, CHANGE_ADD, CHANGE_REMOVE, CHANGE_REMOVE, CHANGE_RESERVE,
        CHANGE_PAUSE, CHANGE_RESUME, CHANGE_RESUME, CHANGE_RESUME, CHANGE_RESUME};
    operation->kind = OPERATION_CHANGE;
    operation->change = kinds[random_below(random, sizeof kinds / sizeof kinds[0])];
    operation->number = operation->change == CHANGE_LIMIT ? PICK(random, 0, 1, 2, 3, 4, 5, 8)
                                                          : random_below(random, 6);
    make_name(operation->name, random);
}

/* Every change in turn is undone sooner or later, or everything would be paused in the end. */
static void make_undoing(
    struct operation *operation, const struct model *model, struct random *random)
{
    operation->kind = OPERATION_CHANGE;
    operation->change = CHANGE_RESET;
    make_name(operation->name, random);
    if (model->draining) {
        operation->kind = OPERATION_DRAIN;
        operation->draining = false;
    }
}

static void make_client_operation(
    struct operation *operation, const struct model *model, struct random *random)
{
    int absent = some_client(model, false, random), present = some_client(model, true, random);
    bool comes = present < 0 || (absent >= 0 && random_percent(random, 60));
    operation->kind = comes ? OPERATION_CLIENT : OPERATION_GONE;
    operation->client = comes ? absent : present;
    operation->uid = 1 + random_below(random, MODEL_UIDS - 1);
}

static void make_lease_operation(
    struct operation *operation, const struct model *model, struct random *random)
{
    /* Times of much and of little to do. */
    static const size_t loads[] = {2, 5, 10, 20, 40, 20, 10, 5};
    bool busy = model->n_leases >= loads[model->last_id / 512 % 8];
    operation->client = some_client(model, true, random);
    if (model->n_leases > 0 && random_percent(random, busy ? 65 : 20)) {
        operation->kind = OPERATION_END;
        operation->lease = some_lease(model, random);
        if (random_percent(random, 85)) {
            operation->client = model_find_lease(model, operation->lease)->client;
        }
    } else {
        operation->kind = OPERATION_ACQUIRE;
        make_ask(&operation->ask, model, random);
    }
}

void operation_make(
    struct operation *operation, const struct model *model, nanoseconds now, struct random *random)
{
    uint32_t dice = random_below(random, 1000);
    *operation = (struct operation){.now = now, .kind = OPERATION_TICK};
    if (random_percent(random, 30)) {
        operation->now += (nanoseconds)random_below(random, 1000) * 1000000;
    }
    if (dice < 20 || some_client(model, true, random) < 0) {
        make_client_operation(operation, model, random);
    } else if (dice < 760) {
        make_lease_operation(operation, model, random);
    } else if (dice < 840) {
        operation->now += (nanoseconds)random_below(random, 4) * NANOSECONDS_PER_SECOND;
    } else if (dice < 950) {
        make_change(operation, random);
    } else if (dice < 985) {
        make_undoing(operation, model, random);
    } else if (dice < 988) {
        operation->kind = OPERATION_DRAIN;
        operation->draining = random_percent(random, 50);
    } else {
        operation->kind = OPERATION_DEFINE;
        operation->rules_seed = random_next(random);
    }
}

/* ---- as text ---- */

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
        writer, " cooldown=%g max-waiters=%u", (double)rules->cooldown / 1e9, rules->max_waiters);
    write_text(writer, " max-units-per-user=%d max-instances=%u max-priority=%d%s",
        (int)rules->max_units_per_user, rules->max_instances, rules->max_priority,
        rules->identity_shared ? " identity=shared" : "");
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
    case OPERATION_END:
        write_text(&writer, "client %d: end %ju", operation->client, (uintmax_t)operation->lease);
        break;
    case OPERATION_CLIENT:
        write_text(&writer, "client %d: comes, uid %u", operation->client, operation->uid);
        break;
    case OPERATION_GONE:
        write_text(&writer, "client %d: gone", operation->client);
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
    }
}
