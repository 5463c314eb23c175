/* tallies.c - the tallies, by the names of definitions. */
#include "base/memory.h"
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATTERN_SIZE = 136, /* of a template's name, with its NUL */
    FEW_TALLIES = 256, /* so many are kept whatever the file defines */
};

static void tally_init(struct tally *tally)
{
    *tally = (struct tally){0};
    TAILQ_INIT(&tally->waiting);
    TAILQ_INIT(&tally->held);
}

void tallies_init(struct tallies *tallies)
{
    *tallies = (struct tallies){0};
    tally_init(&tallies->unnamed);
}

void tallies_deinit(struct tallies *tallies)
{
    for (size_t i = 0; i < tallies->n; i++) {
        table_remove(&tallies->by_name, &tallies->list[i]->by_name);
        free(tallies->list[i]->name);
        free(tallies->list[i]);
    }
    table_deinit(&tallies->by_name);
    free(tallies->list);
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
        char pattern[PATTERN_SIZE];
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

static struct tally *add_tally(struct tallies *tallies)
{
    tallies->list = memory_grow(tallies->list, tallies->n, sizeof *tallies->list);
    return tallies->list[tallies->n++] = memory_new(sizeof(struct tally));
}

/* For a new name: where there are many, one that no definition has; else a new one. `*idlep`: none
 * before that number is idle. */
static struct tally *find_room(struct tallies *tallies, size_t *idlep, size_t max)
{
    while (tallies->n >= max && *idlep < tallies->n && !is_idle(tallies->list[*idlep])) {
        ++*idlep;
    }
    if (tallies->n < max || *idlep == tallies->n) {
        return add_tally(tallies);
    }
    struct tally *idle = tallies->list[*idlep];
    table_remove(&tallies->by_name, &idle->by_name);
    free(idle->name);
    return idle;
}

static void begin_tally(
    struct tallies *tallies, struct tally *tally, const struct definition *definition)
{
    tally_init(tally);
    tally->name = memory_string(definition->name);
    tally->definition = definition;
    table_insert(&tallies->by_name, &tally->by_name, hash_name(tally->name));
}

void tallies_define(struct core *core, const struct definition *definitions, size_t n)
{
    struct tallies *tallies = &core->tallies;
    size_t max = 2 * n > FEW_TALLIES ? 2 * n : FEW_TALLIES;
    size_t idle = 0;
    for (size_t i = 0; i < tallies->n; i++) {
        tallies->list[i]->definition = NULL;
    }
    for (size_t i = 0; i < n; i++) { /* before one without a definition is taken */
        struct tally *tally = find(tallies, definitions[i].name);
        if (tally) {
            tally->definition = &definitions[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!find(tallies, definitions[i].name)) {
            begin_tally(tallies, find_room(tallies, &idle, max), &definitions[i]);
        }
    }
}
