#include "web/past_answer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "view/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void add_member(struct text *out, const char *key, json_t *value)
{
    text_add(out, out->bytes[out->length - 1] == '{' ? "\"" : ",\"");
    text_add(out, key);
    text_add(out, "\":");
    json_add(value, out);
}

/* ---- who has told ---- */

static json_t *word_value(const char *word)
{
    return word[0] ? text_value(word) : json_null();
}

static json_t *databases_told(const struct past_ask *ask, bool *all_toldp)
{
    json_t *array = json_array();
    for (size_t i = 1; i < ask->n_tellers; i++) {
        const struct past_teller *teller = &ask->tellers[i];
        json_t *object = json_object();
        json_object_set_new(object, "name", text_value(teller->database));
        json_object_set_new(object, "since_ms", optional_value(&teller->past.since));
        json_object_set_new(object, "why", word_value(teller->why));
        json_array_append_new(array, object);
        *all_toldp &= teller->has_told;
    }
    return array;
}

static void add_tellers(const struct past_ask *ask, struct text *out)
{
    const struct past_teller *host = &ask->tellers[0];
    bool is_whole = ask->n_tellers > 1;
    json_t *databases = databases_told(ask, &is_whole);
    add_member(out, "whose", text_value(is_whole ? "database" : "host"));
    add_member(out, "since_ms", optional_value(&host->past.since));
    add_member(out, "kept_by",
        text_value(!host->has_told             ? NULL
                : host->is_berth_history ? "berth-history"
                                         : "berthd"));
    add_member(out, "why", word_value(host->has_told ? host->history_why : host->why));
    add_member(out, "databases", databases);
}

/* ---- what was told ---- */

/* By their ends, the newest first; what several have told stays together. */
static int compare_ends(const void *left, const void *right)
{
    const struct past_lease *a = *(const struct past_lease *const *)left;
    const struct past_lease *b = *(const struct past_lease *const *)right;
    return a->ended != b->ended ? (a->ended < b->ended) - (a->ended > b->ended)
                                : strcmp(b->id, a->id);
}

/* All leases: *np pointers; the caller frees them. */
static const struct past_lease **leases_told(const struct past_ask *ask, size_t *np)
{
    const struct past_lease **leases = NULL;
    for (size_t i = 0; i < ask->n_tellers; i++) {
        const struct past *past = &ask->tellers[i].past;
        leases = memory_resize(leases, *np + past->n + 1, sizeof *leases);
        for (size_t j = 0; j < past->n; j++) {
            leases[(*np)++] = &past->leases[j];
        }
    }
    qsort(leases, *np, sizeof *leases, compare_ends);
    return leases;
}

/* Returns whether some have been left out. */
static bool add_leases(const struct past_ask *ask, struct text *out)
{
    size_t n = 0, n_added = 0, i = 0;
    const struct past_lease **leases = leases_told(ask, &n);
    text_add(out, ",\"leases\":[");
    for (; i < n && n_added < ask->question->limit; i++) {
        if (i == 0 || strcmp(leases[i]->id, leases[i - 1]->id) != 0) {
            text_add(out, n_added++ > 0 ? "," : "");
            json_add(past_lease_value(leases[i]), out);
        }
    }
    text_add(out, "]");
    free(leases);
    return i < n;
}

/* ---- the answer ---- */

static bool add_why_not(const struct past_ask *ask, struct text *out)
{
    const struct past_teller *host = &ask->tellers[0];
    text_add_format(out, "berthd: %s", host->why);
    if (host->history_why[0]) {
        text_add_format(out, "; berth-history: %s", host->history_why);
    }
    return false;
}

bool past_answer_print(const struct past_ask *ask, const char *host, struct text *out)
{
    bool has_any = false;
    for (size_t i = 0; i < ask->n_tellers; i++) {
        has_any |= ask->tellers[i].has_told;
    }
    if (!has_any) {
        return add_why_not(ask, out);
    }
    uint64_t now = milliseconds(clock_wall_now()), until = ask->question->until;
    text_add(out, "{");
    add_member(out, "version", json_integer(1));
    add_member(out, "host", text_value(host));
    add_member(out, "now_ms", number_value(now));
    add_member(out, "from_ms", number_value(ask->question->from));
    add_member(out, "until_ms", number_value(until < now ? until : now));
    add_tellers(ask, out);
    bool is_cut = add_leases(ask, out);
    add_member(out, "truncated", json_boolean(is_cut));
    text_add(out, "}\n");
    return true;
}
