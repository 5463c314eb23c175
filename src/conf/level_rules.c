#include "conf/level_rules.h"

#include "base/closest_match.h"
#include "base/memory.h"
#include "base/words.h"
#include "conf/sections.h"

#include <stdlib.h>
#include <string.h>

/* All that one unit of a resource takes, as core/levels.c finds it for a request. */
struct climb {
    struct loading *loading;
    const struct levels_use *use;
    const struct definition *start;
    const struct definition **by_name; /* all, sorted */
    const char *names[MAX_RESOURCES_PER_LEASE];
    uint64_t counts[MAX_RESOURCES_PER_LEASE];
    size_t n, depth;
    bool is_refused;
};

static void refuse(struct climb *climb, const char *format, const char *name)
{
    struct loading *loading = climb->loading;
    climb->is_refused = true;
    complain(&loading->complaints, climb->use->place, climb->use->section,
        key_table[KEY_also].word, format, name);
}

static int compare_names(const void *left, const void *right)
{
    const struct definition *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static const struct definition *find_exactly(const struct climb *climb, const char *name)
{
    const struct definition wanted = {.name = (char *)name}, *key = &wanted;
    const struct definition **found = bsearch(&key, climb->by_name,
        climb->loading->conf->n_definitions, sizeof key, compare_names);
    return found ? *found : NULL;
}

/* What governs the name; NULL: nothing does. */
static const struct definition *find(const struct climb *climb, const char *name)
{
    char above[NAME_BYTES + 1];
    const struct definition *definition = find_exactly(climb, name);
    return definition || !template_name_above(name, above) ? definition
                                                           : find_exactly(climb, above);
}

static void refuse_unknown(struct climb *climb, const char *name)
{
    const struct conf *conf = climb->loading->conf;
    struct closest_match nearest = CLOSEST_MATCH_INIT(name);
    for (size_t i = 0; i < conf->n_definitions; i++) {
        closest_match_try(&nearest, conf->definitions[i].name);
    }
    struct text message = TEXT_INIT;
    text_add_format(&message, "there is no resource %s", name);
    if (nearest.best) {
        text_add_format(&message, "; did you mean %s?", nearest.best);
    }
    refuse(climb, "%s", message.bytes);
    text_deinit(&message);
}

static void climb_from(struct climb *climb, const struct definition *from, uint64_t count);

/* It takes so many of that level, unless it takes more in another way. */
static void climb_to(struct climb *climb, const char *name, uint64_t count)
{
    const struct definition *definition = find(climb, name);
    size_t i = 0;
    while (i < climb->n && strcmp(climb->names[i], name) != 0) {
        i++;
    }
    if (!definition) {
        refuse_unknown(climb, name);
    } else if (definition == climb->start) {
        refuse(climb, "%s leads back to this resource, in a circle", name);
    } else if (definition->database != climb->start->database) {
        refuse(climb, "%s must have the scope and database of this resource", name);
    } else if (i == MAX_RESOURCES_PER_LEASE - 1) {
        refuse(climb, "%s is one level too many: a lease has at most 16 resources", name);
    } else if (i == climb->n || climb->counts[i] < count) {
        climb->n += i == climb->n;
        climb->names[i] = name;
        climb->counts[i] = count;
        climb_from(climb, definition, count);
    }
}

/* So high only a circle leads: who is in it complains. A count grows no more once it is too large
 * for all. */
static void climb_from(struct climb *climb, const struct definition *from, uint64_t count)
{
    climb->depth++;
    climb->is_refused |= climb->depth > MAX_RESOURCES_PER_LEASE;
    for (size_t i = 0; !climb->is_refused && i < from->n_levels; i++) {
        uint64_t product = count * from->levels[i].count;
        climb_to(climb, from->levels[i].name, product <= MAX_SLOTS ? product : MAX_SLOTS);
    }
    climb->depth--;
}

static void check_counts(struct climb *climb)
{
    for (size_t i = 0; i < climb->n; i++) {
        const struct definition *definition = find(climb, climb->names[i]);
        uint32_t limit = definition_limit(definition), per_user = definition->max_units_per_user;
        uint32_t most = limit > per_user ? per_user : limit;
        most = most > definition_at_once(definition) ? definition_at_once(definition) : most;
        if (limit != 0 && climb->counts[i] > most) {
            complain(&climb->loading->complaints, climb->use->place, climb->use->section,
                key_table[KEY_also].word,
                "one unit takes %llu of %s, which grants at most %lu at once",
                (unsigned long long)climb->counts[i], climb->names[i], (unsigned long)most);
        }
    }
}

void levels_check(struct loading *loading)
{
    const struct conf *conf = loading->conf;
    if (loading->n_levels_uses == 0) {
        return;
    }
    const struct definition **by_name = memory_new(conf->n_definitions * sizeof *by_name);
    for (size_t i = 0; i < conf->n_definitions; i++) {
        by_name[i] = &conf->definitions[i];
    }
    qsort(by_name, conf->n_definitions, sizeof *by_name, compare_names);
    for (size_t i = 0; i < loading->n_levels_uses; i++) {
        const struct levels_use *use = &loading->levels_uses[i];
        struct climb climb = {.loading = loading,
            .use = use,
            .start = &conf->definitions[use->definition],
            .by_name = by_name};
        climb_from(&climb, climb.start, 1);
        if (!climb.is_refused) {
            check_counts(&climb);
        }
    }
    free(by_name);
}
