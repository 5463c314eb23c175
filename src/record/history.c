#include "record/history.h"

#include "base/memory.h"
#include "journal/paths.h"
#include "status/answer_lines.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- entries ---- */

static void say_if_cut(struct history *history)
{
    if (history->ring.was_cut && !history->has_said_cut) {
        history->has_said_cut = true;
        log_warning("the history file was truncated: its contents are lost, and the next berthd "
                    "will start a new history");
    }
}

static void history_add(struct history *history, const struct history_entry *entry)
{
    void *room = history_ring_room(&history->ring, history_entry_size(entry));
    say_if_cut(history);
    if (room) {
        history_entry_write(entry, room);
        history_ring_add(&history->ring);
    }
}

static void add_ended(struct history *history, const struct history_entry *entry)
{
    history_add(history, entry);
    history->n_ended++;
}

/* Deserted while it was being stopped, it has ended by that. */
static const char *how_of(enum outcome why, bool ended_unreleased)
{
    return why == OUTCOME_RELEASED && ended_unreleased ? HISTORY_GONE
                                                       : code_table[outcome_code(why)].word;
}

void history_say_end(const struct lease *lease, struct text *out)
{
    enum outcome why = (enum outcome)lease->ended_why;
    bool knows_status = lease->job_end != HISTORY_STATUS_UNKNOWN;
    if (why != OUTCOME_OK && !(knows_status && why == OUTCOME_RELEASED)) {
        text_add(out, how_of(why, lease->ended_unreleased));
        text_add(out, knows_status ? ", " : "");
    }
    if (knows_status) {
        text_add_job_status(out, lease->job_end == HISTORY_SIGNALLED, lease->job_status);
    }
}

/* A request that was not to wait is none, although its database was asked. */
static bool is_entry(const struct lease *lease)
{
    bool was_refused_at_once = lease->wants_now && lease->granted_at == 0;
    return lease->ended_why != OUTCOME_OK && !was_refused_at_once;
}

void history_ended(
    struct history *history, const struct lease *lease, const char *record, size_t length)
{
    struct history_entry entry = {
        .kind = HISTORY_ENDED,
        .lease = lease->id,
        .ended_at = lease->ended_at,
        .uid = lease->uid,
        .hiding = lease->hiding,
        .how = how_of((enum outcome)lease->ended_why, lease->ended_unreleased),
        .status = (enum history_status)lease->job_end,
        .number = lease->job_status,
        .by = lease->taken ? lease->taken->by : (struct actor){.is_known = false},
        .why = lease_stop_reason(lease),
        .record = record,
        .record_length = length,
    };
    if (lease->origin) {
        entry.origin = *(const struct process_origin *)lease->origin;
        entry.origin.args = lease->shows_arguments ? entry.origin.args : NULL;
    }
    if (history->ring.head && record && is_entry(lease)) {
        add_ended(history, &entry);
    }
}

/* As many bytes of the reason as fit, none of them half. */
static void add_why(struct text *out, const char *why)
{
    enum { MAX_ENDING = 256 }; /* as in 16-history.lua */
    text_add_key(out, "why", why);
    if (out->length > MAX_ENDING) {
        size_t n = MAX_ENDING;
        n -= out->bytes[n - 1] == '%' ? 1 : out->bytes[n - 2] == '%' ? 2 : 0;
        out->bytes[n] = '\0';
        out->length = n;
    }
}

char *history_ending(const struct lease *lease)
{
    const struct taken *taken = lease->taken;
    bool was_held = lease->granted_at != 0;
    struct text out = TEXT_INIT;
    if (!is_entry(lease)) {
        return NULL;
    }
    text_add(&out, "how=");
    text_add(&out, how_of((enum outcome)lease->ended_why, lease->ended_unreleased));
    text_add_number_key(&out, "waited",
        milliseconds((was_held ? lease->granted_at : lease->ended_at) - lease->asked_at));
    if (was_held) {
        text_add_number_key(&out, "held", milliseconds(lease->ended_at - lease->granted_at));
    }
    if (lease->job_end != HISTORY_STATUS_UNKNOWN) {
        text_add_number_key(
            &out, lease->job_end == HISTORY_SIGNALLED ? "signal" : "exit", lease->job_status);
    }
    if (taken && taken->by.is_known) {
        text_add_number_key(&out, "by", taken->by.uid);
        if (taken->by.has_login) {
            text_add_number_key(&out, "by_login", taken->by.login);
        }
    }
    add_why(&out, lease_stop_reason(lease));
    return text_take(&out);
}

void history_add_did(struct history *history, const struct did *did, nanoseconds at)
{
    struct text record = TEXT_INIT;
    const struct history_entry entry = did_entry(did, at, &record);
    history_add(history, &entry);
    text_deinit(&record);
}

bool history_next(
    const struct history *history, uint64_t *positionp, struct history_entry *entry)
{
    const void *bytes;
    size_t n;
    while (history_ring_next(&history->ring, positionp, &bytes, &n)) {
        if (history_entry_read(entry, bytes, n)) {
            return true;
        }
    }
    return false;
}

/* ---- an earlier run ---- */

/* A resource that is in the file no more may have hidden it. */
static uint16_t hiding(struct core *core, const struct saved_lease *saved)
{
    uint16_t bits = 0;
    for (size_t i = 0; i < saved->n_claims; i++) {
        const struct definition *definition = core_find_definition(core, saved->claims[i].name);
        bits |= (uint16_t)((!definition || definition->shows_to_owner_only) << i);
    }
    return bits;
}

void history_add_earlier(struct history *history, struct core *core,
    const struct saved_lease *saved, const struct earlier_end *end, const char *record,
    size_t length)
{
    struct history_entry entry = {
        .kind = HISTORY_ENDED,
        .lease = saved->id,
        .ended_at = end->at,
        .uid = saved->uid,
        .hiding = hiding(core, saved),
        .how = how_of(end->why, true),
        .was_unseen = end->was_unseen,
        .by = saved->by,
        .why = saved->stop_reason,
        .record = record,
        .record_length = length,
    };
    if (history->ring.head && (saved->is_held || !saved->wants_now)) {
        add_ended(history, &entry);
    }
}

/* ---- which leases are over ---- */

static void learn_ends(struct history *history)
{
    struct history_entry entry;
    while (history_next(history, &history->looked_at, &entry)) {
        if (entry.kind == HISTORY_ENDED) {
            struct sorted_set_node *over = memory_new(sizeof *over);
            sorted_set_insert(&history->over, over, entry.lease, history->looked_at);
        }
    }
}

bool history_has_end(struct history *history, uint64_t lease)
{
    learn_ends(history);
    const struct sorted_set_node *over = sorted_set_from(&history->over, lease, 0);
    return over && over->major == lease;
}

static void forget_ends(struct history *history)
{
    while (!sorted_set_is_empty(&history->over)) {
        struct sorted_set_node *over = sorted_set_first(&history->over);
        sorted_set_remove(&history->over, over);
        free(over);
    }
}

/* ---- life ---- */

void history_begin(
    struct history *history, const char *socket_path, const char *boot_id, size_t size)
{
    char path[PATH_MAX] = "";
    path_at_runtime(socket_path, ".history", path, sizeof path); /* "": cannot be opened */
    *history = (struct history){.over = SORTED_SET_INIT};
    history_ring_open(&history->ring, path, boot_id, HISTORY_LAYOUT, size);
    if (history->ring.error != 0) {
        log_warning("cannot use the history file (%s): the next berthd will start a new history",
            strerror(history->ring.error));
    }
}

void history_end(struct history *history)
{
    forget_ends(history);
    history_ring_close(&history->ring);
}
