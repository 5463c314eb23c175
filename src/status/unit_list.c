#include "status/unit_list.h"

#include "base/words.h"
#include "status/fleet_rows.h"

#include <stdio.h>

enum { RESERVATIONS_BYTES = 1000 };

void unit_list_add(struct unit_list *list, const char *unit)
{
    struct text *text = &list->text;
    if (list->is_cut) {
        return;
    }
    text_add(text, text->length > 0 ? "," : "");
    list->is_cut = text->length + ITEM_BYTES + sizeof ",..." > list->max;
    text_add(text, list->is_cut ? "..." : unit);
}

void unit_list_add_slots(struct unit_list *list, uint64_t first, uint64_t last)
{
    char word[48];
    int n = snprintf(word, sizeof word, "%llu", (unsigned long long)first);
    if (last > first) {
        snprintf(word + n, sizeof word - (size_t)n, "-%llu", (unsigned long long)last);
    }
    unit_list_add(list, word);
}

/* ---- from text ---- */

/* Adjacent slots; empty if first > last. */
struct run {
    uint64_t first, last;
};

static void add_run(struct unit_list *list, const struct run *run)
{
    if (run->first <= run->last) {
        unit_list_add_slots(list, run->first, run->last);
    }
}

static void add_slots(struct unit_list *list, struct run *run, const char *word)
{
    struct run next;
    if (!range_parse(word, strlen(word), FLEET_NUMBER_MAX, &next.first, &next.last)) {
        return;
    }
    if (run->first <= run->last && next.first == run->last + 1) {
        run->last = next.last;
    } else {
        add_run(list, run);
        *run = next;
    }
}

void unit_list_add_all(struct unit_list *list, const char *units, bool is_pool)
{
    char word[ITEM_BYTES + 1];
    struct run run = {1, 0}; /* none */
    while (!list->is_cut && (units = fleet_take_word(units, ',', word, sizeof word))) {
        if (!is_pool) {
            add_slots(list, &run, word);
        } else if (item_is_valid(word)) {
            unit_list_add(list, word);
        }
    }
    add_run(list, &run);
}

/* ---- reasons ---- */

void reserve_list_add(struct reserve_list *list, const char *unit, const char *reason)
{
    struct text *words = &list->words;
    size_t max = sizeof " reserve=," + ITEM_BYTES + percent_encode(NULL, 0, reason);
    list->is_full = list->is_full || words->length + max > RESERVATIONS_BYTES;
    if (!list->is_full) {
        text_add_key(words, "reserve", unit);
        text_add(words, ",");
        text_add_encoded(words, reason);
    }
}
