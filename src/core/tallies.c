/* tallies.c - the tallies and their slots, by the names of definitions. */
#include "base/memory.h"
#include "core/internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    OWN_CHUNK = 16, /* slots */
    FEW_SLOTS = 256, /* so many are kept whatever the file defines */
};

/* ---- slots ---- */

/* Gives it to a definition, with counts of zero. The name's first byte comes last: a process killed
 * before that leaves an unused slot. */
static void slot_begin(struct counts_slot *slot, const char *name)
{
    volatile char *first = slot->name;
    *first = '\0';
    atomic_signal_fence(memory_order_seq_cst);
    memset((char *)slot + 1, 0, sizeof *slot - 1);
    memcpy(slot->name + 1, name + 1, strlen(name));
    atomic_signal_fence(memory_order_seq_cst);
    *first = name[0];
}

static void tally_init(struct tally *tally, struct counts_slot *slot)
{
    *tally = (struct tally){.slot = slot};
    TAILQ_INIT(&tally->waiting);
    TAILQ_INIT(&tally->held);
}

static void enter_name(struct tallies *tallies, struct tally *tally, const char *name)
{
    tally->name = memory_string(name);
    table_insert(&tallies->by_name, &tally->by_name, hash_name(name));
}

static void remove_name(struct tallies *tallies, struct tally *tally)
{
    if (tally->name) {
        table_remove(&tallies->by_name, &tally->by_name);
        free(tally->name);
        tally->name = NULL;
    }
}

static void add_slot(struct tallies *tallies, struct counts_slot *slot)
{
    if (tallies->n == tallies->size) {
        tallies->size = tallies->size == 0 ? OWN_CHUNK : tallies->size * 2;
        tallies->list = memory_resize(tallies->list, tallies->size, sizeof *tallies->list);
    }
    struct tally *tally = memory_new(sizeof *tally);
    slot->name[sizeof slot->name - 1] = '\0';
    tally_init(tally, slot);
    tallies->list[tallies->n++] = tally;
    if (slot->name[0] != '\0') {
        enter_name(tallies, tally, slot->name);
    }
}

/* The default. */
static struct counts_slot *own_slots(void *context, size_t *np)
{
    struct tallies *tallies = context;
    struct counts_slot *slots = memory_new(OWN_CHUNK * sizeof *slots);
    tallies->own = memory_resize(tallies->own, tallies->n_own + 1, sizeof *tallies->own);
    tallies->own[tallies->n_own++] = slots;
    *np = OWN_CHUNK;
    return slots;
}

static void add_chunk(struct tallies *tallies)
{
    size_t n;
    struct counts_slot *slots = tallies->memory.more(tallies->memory.context, &n);
    for (size_t i = 0; i < n; i++) {
        add_slot(tallies, &slots[i]);
    }
}

void tallies_init(struct tallies *tallies)
{
    *tallies = (struct tallies){.memory = {.more = own_slots, .context = tallies}};
    tally_init(&tallies->unnamed, &tallies->unnamed_slot);
}

void tallies_deinit(struct tallies *tallies)
{
    for (size_t i = 0; i < tallies->n; i++) {
        remove_name(tallies, tallies->list[i]);
        free(tallies->list[i]);
    }
    table_deinit(&tallies->by_name);
    for (size_t i = 0; i < tallies->n_own; i++) {
        free(tallies->own[i]);
    }
    free(tallies->own);
    free(tallies->list);
}

void core_counts_keep(struct core *core, const struct counts_memory *memory)
{
    struct tallies *tallies = &core->tallies;
    tallies->memory = *memory;
    tallies->is_recovering = true;
    for (size_t i = 0; i < memory->n_earlier; i++) {
        add_chunk(tallies);
    }
}

/* ---- names ---- */

static struct tally *find(const struct tallies *tallies, const char *name)
{
    struct table_node *node = table_find(&tallies->by_name, hash_name(name));
    while (node && strcmp(container_of(node, struct tally, by_name)->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct tally, by_name) : NULL;
}

struct tally *tallies_find(struct core *core, const char *name)
{
    struct tallies *tallies = &core->tallies;
    const char *slash = strrchr(name, '/');
    struct tally *tally = find(tallies, name);
    if (!tally && slash) {
        char pattern[COUNTS_NAME_SIZE];
        size_t length = (size_t)(slash + 1 - name);
        if (length < sizeof pattern - 1) {
            memcpy(pattern, name, length);
            memcpy(pattern + length, "*", 2);
            tally = find(tallies, pattern);
        }
    }
    return tally ? tally : &tallies->unnamed;
}

static bool is_idle(const struct tally *tally)
{
    return !tally->definition && tally->n_resources == 0;
}

/* Where tallies_define() looks for room: it has no use for what is before. */
struct room {
    size_t unused, idle;
};

/* Room for a name: an unused slot; else, where there are many, one that no definition has; else a
 * new one. */
static struct tally *find_room(struct tallies *tallies, struct room *room, size_t max)
{
    while (room->unused < tallies->n && tallies->list[room->unused]->name) {
        room->unused++;
    }
    if (room->unused < tallies->n) {
        return tallies->list[room->unused];
    }
    while (tallies->n >= max && room->idle < tallies->n && !is_idle(tallies->list[room->idle])) {
        room->idle++;
    }
    if (tallies->n >= max && room->idle < tallies->n) {
        struct tally *idle = tallies->list[room->idle];
        remove_name(tallies, idle);
        idle->n_recent = 0;
        return idle;
    }
    add_chunk(tallies);
    return tallies->list[room->unused];
}

void tallies_define(struct core *core, const struct definition *definitions, size_t n)
{
    struct tallies *tallies = &core->tallies;
    size_t max = 2 * n > FEW_SLOTS ? 2 * n : FEW_SLOTS;
    struct room room = {0};
    for (size_t i = 0; i < tallies->n; i++) {
        tallies->list[i]->definition = NULL;
    }
    for (size_t i = 0; i < n; i++) { /* before a slot without a definition is taken */
        struct tally *tally = find(tallies, definitions[i].name);
        if (tally) {
            tally->definition = &definitions[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = definitions[i].name;
        if (!find(tallies, name) && strlen(name) < COUNTS_NAME_SIZE) {
            struct tally *tally = find_room(tallies, &room, max);
            slot_begin(tally->slot, name);
            tally->definition = &definitions[i];
            enter_name(tallies, tally, name);
        }
    }
}
