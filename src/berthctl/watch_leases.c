/* watch_leases.c - what `berthctl watch` says of leases. */
#include "table/cell_text.h"
#include "berthctl/watch_events.h"
#include "view/printable.h"

#include <string.h>

/* "alice on web1 (train, 3f9k)" */
static void add_who(struct text *text, const struct status_lease *lease, bool is_elsewhere)
{
    struct text program = TEXT_INIT;
    text_add_program(&program, lease);
    text_add_user(text, lease->uid);
    if (is_elsewhere && lease->host) {
        text_add_safe(text, " on %s", lease->host);
    }
    text_add_format(text, " (%s%s", program.bytes, program.length > 0 ? ", " : "");
    text_add_safe(text, "%s)", lease->id);
    text_deinit(&program);
}

/* What it holds, or waits for. */
static void add_object(
    struct text *text, const struct status_lease *lease, bool holds, bool is_pool)
{
    if (!holds) {
        text_add_safe(text, "%llu unit%s", (unsigned long long)lease->wants,
            lease->wants == 1 ? "" : "s");
    } else if (lease->units.n > 0) {
        text_add_units(text, &lease->units, is_pool);
    } else {
        text_add(text, "units");
    }
}

/* WORD, WHAT [OBJECT], and the sentence WHO DOES OBJECT of RESOURCE. */
struct lease_words {
    const char *word, *what, *does;
    bool has_object; /* in the column */
};

static void print_lease(struct watch_events *events, const struct live_lease *live, bool holds,
    const struct lease_words *words)
{
    const struct status_resource *resource = &live->resource->shown;
    struct status_lease lease = live->shown; /* borrows all */
    bool is_pool = status_is_pool(resource);
    size_t place = live_lease_place(live);
    if (!watch_is_named(&events->choice, resource->name)) {
        return;
    }
    lease.position = place;
    lease.is_held = holds;
    if (events->choice.find_program && live->state != LIVE_ABSENT) {
        events->choice.find_program(&lease);
    }
    struct watch_line line = {
        .json = {.event = words->word,
            .resource = resource->name,
            .database = resource->database,
            .lease = &lease,
            .is_pool = is_pool},
    };
    text_add_escaped(&line.name, resource->name);
    text_add(&line.what, words->what);
    if (words->has_object) {
        text_add(&line.what, " ");
        add_object(&line.what, &lease, holds, is_pool);
    }
    if (place > 0) {
        text_add_format(&line.what, ", place %zu", place);
    }
    add_who(&line.who, &lease, live->is_elsewhere);
    text_add_format(&line.sentence, "%s %s ", line.who.bytes, words->does);
    add_object(&line.sentence, &lease, holds, is_pool);
    text_add_format(&line.sentence, " of %s", line.name.bytes);
    watch_line_print(events, &line);
}

static void tell_stopping(struct watch_events *events, const struct live_lease *lease)
{
    const char *why = lease->shown.stopping, *before = lease->before.stopping;
    struct text what = TEXT_INIT, does = TEXT_INIT;
    if (!why || (before && strcmp(before, why) == 0)) {
        return;
    }
    text_add_safe(&what, "stopping (%s)", why);
    text_add_safe(&does, "is being stopped (%s), but still holds", why);
    const struct lease_words words = {"stopping", what.bytes, does.bytes, false};
    print_lease(events, lease, true, &words);
    text_deinit(&what);
    text_deinit(&does);
}

void watch_lease(void *context, const struct live_lease *lease)
{
    static const struct lease_words
        granted = {"granted", "granted", "was granted", true},
        waits = {"waits", "waits for", "waits for", true},
        given_back = {"given-back", "given back", "no longer holds", true},
        left = {"left", "left the queue", "no longer waits for", false};
    struct watch_events *events = context;
    bool held = lease->previous_state == LIVE_HOLDS;
    if (lease->state == lease->previous_state) {
        tell_stopping(events, lease);
    } else if (lease->state != LIVE_ABSENT) {
        bool holds = lease->state == LIVE_HOLDS;
        print_lease(events, lease, holds, holds ? &granted : &waits);
    } else if (!events->choice.with_ended || lease->is_elsewhere) { /* else its end follows */
        print_lease(events, lease, held, held ? &given_back : &left);
    }
}

/* ---- how leases have ended ---- */

static bool is_of_named(const struct watch_choice *choice, const struct past_lease *lease)
{
    bool is_named = choice->n_names == 0;
    for (size_t i = 0; i < lease->n_claims && !is_named; i++) {
        is_named = watch_is_named(choice, lease->claims[i].name);
    }
    return is_named;
}

void watch_ended(void *context, const struct past_lease *lease)
{
    struct watch_events *events = context;
    bool is_one = lease->n_claims == 1 && !lease->has_more_claims, held = lease->held.is_given;
    struct watch_line line = {
        .json = {.event = "ended",
            .resource = is_one ? lease->claims[0].name : NULL,
            .time = (int64_t)lease->ended,
            .database = lease->database,
            .ended = lease},
    };
    if (!events->choice.with_ended || !is_of_named(&events->choice, lease)) {
        return;
    }
    text_add_claims(&line.name, lease);
    text_add(&line.what, held ? "ended: " : "got nothing: ");
    text_add_how(&line.what, lease);
    text_add_who(&line.who, &lease->user, &lease->login);
    const char *program = lease->shown[SHOWN_program];
    text_add_safe(&line.who, " (%s%s%s)", program, program ? ", " : "", lease->id);
    text_add_format(&line.sentence, "%s %s %s: ", line.who.bytes,
        held ? "no longer holds anything of" : "got nothing of", line.name.bytes);
    text_add_how(&line.sentence, lease);
    watch_line_print(events, &line);
}

void watch_missed(void *context)
{
    watch_line_print_host(context, "missed", "more leases have ended",
        "more leases have ended than are shown here");
}
