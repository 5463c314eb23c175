#include "history/sight.h"

#include "base/memory.h"
#include "core/definition.h"

#include <stdlib.h>
#include <string.h>

static bool read_switch(char *const words[], size_t n, const char *key, bool *valuep)
{
    uint64_t number = 0;
    bool is_good = words_find_number(words, n, key, &number) && number <= 1;
    *valuep = number == 1;
    return is_good;
}

static int compare(const void *left, const void *right)
{
    const struct sight_definition *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static bool add_definition(struct sight *sight, char *const words[], size_t n)
{
    struct sight_definition definition;
    if (n < 2 || !read_switch(words + 2, n - 2, "hides", &definition.hides) ||
        !read_switch(words + 2, n - 2, "sees", &definition.is_seen)) {
        return false;
    }
    definition.name = memory_string(words[1]);
    sight->list = memory_grow(sight->list, sight->n, sizeof *sight->list);
    sight->list[sight->n++] = definition;
    return true;
}

enum answer_result sight_take(void *object, char *line)
{
    struct sight *sight = object;
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    const char *first = n > 0 ? words[0] : "";
    bool is_good = n > 0;
    if (!sight->has_begun) {
        sight->has_begun = strcmp(first, "ok") == 0;
        is_good = sight->has_begun && read_switch(words, n, "all", &sight->sees_all);
    } else if (strcmp(first, "definition") == 0) {
        is_good = add_definition(sight, words, n);
    } else if (strcmp(first, "end") == 0) {
        if (sight->n > 0) {
            qsort(sight->list, sight->n, sizeof *sight->list, compare);
        }
        sight->is_known = true;
        return ANSWER_END;
    }
    return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
}

void sight_deinit(struct sight *sight)
{
    for (size_t i = 0; i < sight->n; i++) {
        free(sight->list[i].name);
    }
    free(sight->list);
    *sight = (struct sight){0};
}

static const struct sight_definition *find(const struct sight *sight, char *name)
{
    const struct sight_definition wanted = {.name = name};
    return sight->n > 0
        ? bsearch(&wanted, sight->list, sight->n, sizeof *sight->list, compare)
        : NULL;
}

/* One that berthd does not mention hides nothing; but what it hid, only who sees all may see. */
static bool sees_claim(const struct sight *sight, char *name, bool has_hidden)
{
    char above[NAME_BYTES + 1];
    const struct sight_definition *definition = find(sight, name);
    if (!definition && template_name_above(name, above)) {
        definition = find(sight, above);
    }
    return definition ? definition->is_seen || !(has_hidden || definition->hides) : !has_hidden;
}

bool sight_sees(const struct sight *sight, uint32_t uid, const struct day_row *row)
{
    if (sight->sees_all || row->uid == uid) {
        return true;
    }
    unsigned i = 0;
    for (const char *next = row->claims; sight->is_known && *next; i++) {
        char name[NAME_BYTES + 1] = "";
        size_t n = strcspn(next, " ");
        memcpy(name, next, n < sizeof name ? n : 0);
        if (!sees_claim(sight, name, row->hiding >> (i & 15) & 1)) {
            return false;
        }
        next += n;
        next += strcspn(next, ",");
        next += *next == ',';
    }
    return sight->is_known;
}
