/* top_units.c - the units of a resource as a row of boxes. Pure. */
#include "top/top_internal.h"

#include "view/printable.h"

#include <string.h>

enum { LEAST_BOXES = 3, BRACKETS = 2 };

/* ---- items by name ---- */

/* Whether all items are known and fit. */
static bool top_units_add_items(
    struct text *text, const struct status_resource *resource, size_t width)
{
    struct text items = TEXT_INIT;
    bool fits = !resource->items.is_cut && !resource->database_state && resource->items.n > 0;
    for (size_t i = 0; fits && i < resource->items.n; i++) {
        const char *item = resource->items.list[i];
        bool is_held = status_item_is_held(resource, item);
        bool is_reserved = words_contain(&resource->reserved, item);
        text_add_safe(&items, is_held ? "%s[%s]" : is_reserved ? "%s(%s)" : "%s%s",
            i > 0 ? " " : "", item);
        fits = text_width(items.bytes) <= width;
    }
    if (fits) {
        text_add(text, items.bytes);
    }
    text_deinit(&items);
    return fits;
}

/* ---- boxes ---- */

static uint64_t mark(char *box, char sign)
{
    bool is_new = *box != sign;
    *box = sign;
    return is_new;
}

/* The same sign for each of these units that has one of the `n` boxes; returns for how many it is
 * new. */
static uint64_t mark_units(char *boxes, uint64_t n, const struct status_resource *resource,
    const struct words *units, char sign)
{
    bool is_pool = status_is_pool(resource);
    uint64_t marked = 0, first, last;
    for (size_t i = 0; is_pool && i < resource->items.n && i < n; i++) {
        if (words_contain(units, resource->items.list[i])) {
            marked += mark(&boxes[i], sign);
        }
    }
    for (size_t i = 0; !is_pool && i < units->n; i++) {
        if (slots_parse(units->list[i], &first, &last)) {
            for (uint64_t slot = first; slot <= last && slot < n; slot++) {
                marked += mark(&boxes[slot], sign);
            }
        }
    }
    return marked;
}

/* The first free ones: which of them, is not known. */
static void mark_some(char *boxes, uint64_t n, uint64_t wanted, char sign)
{
    for (uint64_t i = 0; i < n && wanted > 0; i++) {
        if (boxes[i] == '.') {
            boxes[i] = sign;
            wanted--;
        }
    }
}

/* One for each unit. `boxes` has `n` points. */
static void mark_boxes(char *boxes, uint64_t n, const struct status_resource *resource)
{
    uint64_t held = 0;
    mark_units(boxes, n, resource, &resource->reserved, 'x');
    for (size_t i = 0; i < resource->leases.n; i++) {
        const struct status_lease *lease = &resource->leases.list[i];
        held += lease->shares ? 0 : mark_units(boxes, n, resource, &lease->units, '#');
    }
    mark_some(boxes, n, resource->in_use > held ? resource->in_use - held : 0, '#');
    mark_some(boxes, n, resource->cooling, '~');
}

/* Neither a used resource looks free nor a free one full. */
static void mark_bar(char *boxes, size_t n, const struct status_resource *resource)
{
    uint64_t limit = resource->limit, used = resource->in_use;
    used = used < limit ? used : limit;
    size_t marked = (size_t)((double)used / (double)limit * (double)n);
    marked = marked == 0 && used > 0 ? 1 : marked >= n && used < limit ? n - 1 : marked;
    memset(boxes, '#', marked);
}

void text_add_boxes(struct text *text, const struct status_resource *resource, size_t width)
{
    text_add(text, "");
    if ((status_is_pool(resource) && top_units_add_items(text, resource, width)) ||
        width < LEAST_BOXES + BRACKETS) {
        return;
    }
    size_t room = width - BRACKETS;
    size_t n = resource->limit < room ? (size_t)resource->limit : room;
    text_add(text, "[");
    text_add_repeated(text, '.', n);
    char *boxes = text->bytes + text->length - n;
    if (resource->limit <= room) {
        mark_boxes(boxes, n, resource);
    } else {
        mark_bar(boxes, n, resource);
    }
    text_add(text, "]");
}
