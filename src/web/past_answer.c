#include "web/past_answer.h"

#include "view/json.h"

/* The first one that has told, with what all have told; NULL: none has. */
static struct past *merge(struct past_ask *ask, const char *host)
{
    struct past *all = NULL;
    for (size_t i = 0; i < ask->n_tellers; i++) {
        struct past_teller *teller = &ask->tellers[i];
        if (teller->has_told && all) {
            past_merge(all, &teller->past, host);
        } else if (teller->has_told) {
            all = &teller->past;
        }
    }
    return all;
}

static void add_string(struct text *out, const char *key, const char *string)
{
    text_add_format(out, "\"%s\":", key);
    json_add(text_value(string), out);
    text_add(out, ",");
}

/* The databases that have not told. Returns whether there are any. */
static bool add_failed(const struct past_ask *ask, struct text *out)
{
    bool has_any = false;
    text_add(out, "\"failed\":[");
    for (size_t i = 1; i < ask->n_tellers; i++) {
        const struct past_teller *teller = &ask->tellers[i];
        if (!teller->has_told) {
            text_add(out, has_any ? ",{" : "{");
            add_string(out, "database", teller->database);
            text_add(out, "\"why\":");
            json_add(text_value(teller->why), out);
            text_add(out, "}");
            has_any = true;
        }
    }
    text_add(out, "],");
    return has_any;
}

static void add_tellers(const struct past_ask *ask, struct text *out)
{
    const struct past_teller *host = &ask->tellers[0];
    const char *why = host->has_told ? host->history_why : host->why;
    add_string(out, "kept_by",
        !host->has_told            ? NULL
            : host->is_berth_history ? "berth-history"
                                     : "berthd");
    add_string(out, "why", why[0] ? why : NULL);
    bool is_whole = !add_failed(ask, out) && ask->n_tellers > 1;
    add_string(out, "whose", is_whole ? "database" : "host");
}

static void add_why_not(const struct past_teller *host, struct text *out)
{
    text_add_format(out, "berthd: %s", host->why);
    if (host->history_why[0]) {
        text_add_format(out, "; berth-history: %s", host->history_why);
    }
}

bool past_answer_print(struct past_ask *ask, const char *host, struct text *out)
{
    struct past *all = merge(ask, host);
    if (!all) {
        add_why_not(&ask->tellers[0], out);
        return false;
    }
    struct text json = TEXT_INIT;
    past_cut(all, ask->question->limit);
    past_json_print(all, &json);
    text_add(out, "{");
    add_string(out, "host", host);
    add_tellers(ask, out);
    text_add_bytes(out, json.bytes + 1, json.length - 1); /* its members are members of this one */
    text_deinit(&json);
    return true;
}
