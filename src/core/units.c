#include "core/units.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/core.h"
#include "core/ranges.h"

#include <stdlib.h>
#include <string.h>

/* ---- written ---- */

/* Each writes at most so much. */
enum {
    MAX_HEAD = sizeof " slot=,," + MAX_DIGITS, /* and a name */
    MAX_WORD = ITEM_BYTES > 2 * MAX_DIGITS ? ITEM_BYTES + 1 : 2 * MAX_DIGITS + 1,
};

/* A run of consecutive slots as one word. Moves *unitp behind it, and takes them from *leftp. */
static char *put_slots(char *to, const struct unit **unitp, uint32_t *leftp)
{
    const struct unit *first = *unitp, *last = first;
    while (--*leftp > 0 && last->next_of_claim->index == last->index + 1) {
        last = last->next_of_claim;
    }
    *unitp = last->next_of_claim;
    to = put_number(to, first->index);
    return last == first ? to : put_number(put_byte(to, '-'), last->index);
}

static char *put_item(char *to, const struct unit **unitp, uint32_t *leftp)
{
    const char *item = (*unitp)->item;
    --*leftp;
    *unitp = (*unitp)->next_of_claim;
    return put_string(to, item);
}

void units_write_claim(struct text *text, const struct claim *claim, size_t max)
{
    size_t start = text->length;
    const struct unit *unit = claim_first_unit(claim);
    uint32_t left = unit ? claim->count : 0;
    while (left > 0) {
        if (text->length > start) {
            text_add(text, ",");
        }
        if (text->length - start + ITEM_BYTES > max) {
            text_add(text, "...");
            return;
        }
        char *to = text_room(text, MAX_WORD);
        text_end(text, unit->item ? put_item(to, &unit, &left) : put_slots(to, &unit, &left));
    }
}

/* The words before the units of one resource: key, name and token. */
static char *put_head(char *to, bool is_pool, const char *name, size_t length, uint64_t token)
{
    to = put_string(to, is_pool ? " item=" : " slot=");
    to = put_bytes(to, name, length);
    to = put_number(put_byte(to, ','), token);
    return put_byte(to, ',');
}

void units_write_of(struct text *text, const struct claim *claim)
{
    const char *name = claim->resource->name;
    bool is_pool = resource_is_pool(claim->resource);
    size_t length = strlen(name);
    char *to = text_room(text, MAX_HEAD + length);
    text_end(text, put_head(to, is_pool, name, length, claim->token));
    units_write_claim(text, claim, SIZE_MAX);
}

void units_write(struct text *text, const struct lease *lease)
{
    for (size_t i = 0; i < lease_n_named(lease); i++) {
        const struct claim *claim = lease_asked(lease, i);
        if (claim_first_unit(claim)) {
            units_write_of(text, claim);
        }
    }
}

/* ---- how long that can get ---- */

/* The longest item that the file or the operator has put into service. */
static size_t longest_item(struct core *core, const struct requested_resource *want)
{
    const struct definition *definition = want->definition;
    const struct resource *resource = core_find_resource(core, want->name);
    size_t longest = 0;
    for (size_t i = 0; i < definition->n_items; i++) {
        size_t length = strlen(definition->items[i]);
        longest = length > longest ? length : longest;
    }
    for (uint32_t i = 0; resource && i < resource->n_units; i++) {
        size_t length = strlen(resource->units[i]->item);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Of one, in a list of so many: a few are not worth a look at all items. */
static size_t longest_item_of(struct core *core, const struct requested_resource *want)
{
    enum { SMALL_COUNT = 3 };
    return want->count <= SMALL_COUNT ? ITEM_BYTES : longest_item(core, want);
}

/* With commas between them. */
static size_t list_bytes(size_t n_words, size_t bytes)
{
    return n_words == 0 ? 0 : n_words * (bytes + 1) - 1;
}

/* The lengths of words whose values are the largest; always the same. */
static const struct longest {
    size_t head; /* of a resource without a name */
    size_t slot;
} *longest_words(void)
{
    static struct longest longest;
    if (longest.head == 0) {
        const struct unit last = {.index = MAX_SLOTS - 1}, *unit = &last;
        uint32_t left = 1;
        char room[MAX_HEAD > MAX_WORD ? MAX_HEAD : MAX_WORD];
        longest.slot = (size_t)(put_slots(room, &unit, &left) - room);
        longest.head = (size_t)(put_head(room, false, "", 0, INT64_MAX) - room);
    }
    return &longest;
}

static size_t claim_max_bytes(
    struct core *core, const struct requested_resource *want, size_t n_claims)
{
    const struct longest *longest = longest_words();
    size_t list = definition_is_pool(want->definition)
        ? list_bytes(want->count, longest_item_of(core, want))
        : list_bytes(slots_max_words(want->count, n_claims), longest->slot);
    size_t all = want->is_all ? strlen(" all=65535") : 0; /* of its record, as the next two */
    size_t level = want->is_level ? strlen(" levels=16") : 0;
    bool is_rated = want->definition->rate.units > 0 && want->definition->database == 0;
    size_t rate = is_rated ? UNITS_RATE_BYTES : 0;
    return longest->head + strlen(want->name) + list + all + level + rate;
}

size_t units_max_bytes(struct core *core, const struct requested_resource *wants, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        length += claim_max_bytes(core, &wants[i], n);
    }
    return length;
}

size_t units_max_bytes_of(struct core *core, const struct lease *lease)
{
    struct requested_resource wants[MAX_RESOURCES_PER_LEASE];
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct resource *resource = lease->claims[i].resource;
        wants[i] = (struct requested_resource){.name = resource->name,
            .count = lease->claims[i].count,
            .is_all = lease->claims[i].is_all,
            .is_level = lease->claims[i].is_level,
            .definition = resource->definition};
    }
    return units_max_bytes(core, wants, lease_n_all(lease));
}

/* ---- read ---- */

uint32_t units_count(const char *text, bool is_pool)
{
    uint64_t count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint64_t first = 0, last = 0;
        if (!is_pool && !range_parse(text, length, MAX_LIMIT - 1, &first, &last)) {
            return 0;
        }
        count += last - first + 1;
        if (count > MAX_UNITS) {
            return 0;
        }
        if (text[length] == '\0') {
            return (uint32_t)count;
        }
        text += length + 1;
    }
}

static int compare_units(const void *a, const void *b)
{
    const struct saved_unit *left = a, *right = b;
    if (left->item) {
        return strcmp(left->item, right->item);
    }
    return (left->slot > right->slot) - (left->slot < right->slot);
}

static bool are_in_order(const struct saved_unit *units, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (compare_units(&units[i - 1], &units[i]) >= 0) {
            return false;
        }
    }
    return true;
}

bool units_are_different(const struct saved_unit units[], uint32_t count)
{
    if (are_in_order(units, count)) {
        return true; /* as most are; costs nothing */
    }
    size_t size = count * sizeof *units;
    struct saved_unit *sorted = memcpy(memory_new(size), units, size);
    qsort(sorted, count, sizeof *sorted, compare_units);
    bool different = are_in_order(sorted, count);
    free(sorted);
    return different;
}

static bool parse_items(char *text, struct saved_unit *unit)
{
    for (char *word; (word = strsep(&text, ","));) {
        if (!item_is_valid(word)) {
            return false;
        }
        *unit++ = (struct saved_unit){.item = word};
    }
    return true;
}

static void parse_slots(char *text, struct saved_unit *unit)
{
    for (char *word; (word = strsep(&text, ","));) {
        uint64_t slot = 1, last = 0;
        range_parse(word, strlen(word), MAX_LIMIT - 1, &slot, &last); /* as counted before */
        while (slot <= last) {
            *unit++ = (struct saved_unit){.slot = (uint32_t)slot++};
        }
    }
}

bool units_parse(char *text, bool is_pool, uint32_t count, struct saved_unit *units)
{
    if (count == 0 || units_count(text, is_pool) != count) {
        return false;
    }
    if (!is_pool) {
        parse_slots(text, units);
    } else if (!parse_items(text, units)) {
        return false;
    }
    return units_are_different(units, count);
}
