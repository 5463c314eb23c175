#include "history/drain.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "journal/history_entry.h"
#include "journal/record.h"
#include "log/log.h"
#include "status/ended_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROWS = 500, MAX_BYTES = 512 << 10 }; /* in one batch */

void drain_init(struct drain *drain, struct days *days)
{
    *drain = (struct drain){.days = days, .next_fd = -1};
    drain->batch.ring = days->ring;
    drain->ended = days->ring.ended;
}

void drain_deinit(struct drain *drain)
{
    batch_empty(&drain->batch);
    history_reader_detach(&drain->reader);
    if (drain->next_fd >= 0) {
        close(drain->next_fd);
    }
}

static int64_t wall_now(void)
{
    return (int64_t)milliseconds(clock_wall_now());
}

/* Of an instant of CLOCK_BOOTTIME, as the time of day is set now. */
static int64_t wall_of(nanoseconds instant)
{
    nanoseconds span = clock_now() - instant;
    return (clock_wall_now() - span) / NANOSECONDS_PER_MILLISECOND;
}

/* ---- one entry ---- */

/* The row's strings are in one piece of memory: the line, how and claims, each with a NUL. */
static void own_strings(struct day_row *row, const char *how, struct text *claims, struct text *line)
{
    struct text all = TEXT_INIT;
    size_t n_line = line->length, n_how = strlen(how);
    text_add_bytes(&all, line->bytes, n_line);
    text_add_bytes(&all, "", 1);
    text_add_bytes(&all, how, n_how + 1);
    text_add_bytes(&all, claims->bytes, claims->length + 1);
    row->owned = text_take(&all);
    row->line = row->owned;
    row->how = row->owned + n_line + 1;
    row->claims = row->how + n_how + 1;
    text_deinit(claims);
    text_deinit(line);
}

static void add_row(
    struct drain *drain, const struct history_entry *entry, const struct saved_lease *lease)
{
    const struct ended_lease ended = {entry, lease, record_database(lease)};
    struct text claims = TEXT_INIT, line = TEXT_INIT;
    int64_t at = wall_of(entry->ended_at), held = (int64_t)ended_held(&ended);
    struct day_row row = {
        .kind = ROW_ENDED,
        .ended = at,
        .asked = at - held - (int64_t)ended_waited(&ended),
        .granted = lease->is_held ? at - held : 0,
        .uid = entry->uid,
        .hiding = entry->hiding,
        .lease = entry->lease,
        .ring = drain->reader.id,
        .serial = drain->reader.serial,
    };
    text_add(&claims, "");
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct saved_claim *claim = &lease->claims[i];
        text_add_format(&claims, "%s%s %u", i > 0 ? "," : "", claim->name, claim->count);
    }
    ended_line_write(&line, &ended, (uint64_t)at, true);
    line.bytes[--line.length] = '\0'; /* its LF */
    own_strings(&row, entry->how, &claims, &line);
    batch_add(&drain->batch, &row);
    drain->ended = at;
}

/* ---- what is missing ---- */

/* What is missing before that entry. */
static void count_missing(struct drain *drain, const struct history_copy *copy)
{
    bool is_known = drain->days->ring.id != 0 || !drain->is_first;
    drain->n_damaged += copy->n_damaged;
    if (copy->n_overwritten > 0 && is_known) { /* else they ended before all that is kept */
        drain->n_overwritten += copy->n_overwritten;
        drain->why = drain->has_failed ? "disk-full"
            : drain->is_first          ? "not-running"
                                       : "overwritten";
    }
    drain->is_first = drain->has_failed = false;
}

static void add_missing(struct drain *drain, int64_t until)
{
    int64_t from = drain->ended > 0 ? drain->ended : until;
    if (drain->n_damaged > 0) {
        batch_add_gap(&drain->batch, from, until, "damaged", drain->n_damaged);
    }
    if (drain->n_overwritten > 0) {
        batch_add_gap(&drain->batch, from, until, drain->why, drain->n_overwritten);
    }
    drain->n_damaged = drain->n_overwritten = 0;
}

/* What ended after the last look at an earlier ring is not in this one. */
static void note_other_ring(struct drain *drain, const struct ring_state *before, bool was_read)
{
    int64_t from = before->seen > before->ended ? before->seen : before->ended;
    bool is_boot = strcmp(before->boot, drain->batch.ring.boot) != 0;
    if (before->id == 0 || before->id == drain->reader.id || (was_read && !drain->is_lost)) {
        return;
    }
    batch_add_gap(&drain->batch, from, is_boot ? wall_of(0) : wall_now(),
        is_boot              ? "reboot"
            : drain->is_lost ? "damaged"
                             : "not-running",
        0);
}

/* ---- rings ---- */

/* All of the one before has been read, or is lost, and written. */
static void attach_next(struct drain *drain)
{
    struct ring_state before = drain->batch.ring;
    bool was_read = drain->reader.head;
    struct history_reader next;
    history_reader_detach(&drain->reader);
    bool is_ring = history_reader_attach(&next, drain->next_fd, 0);
    bool is_same = is_ring && next.id == before.id;
    history_reader_detach(&next);
    is_ring = is_ring &&
        history_reader_attach(&drain->reader, drain->next_fd, is_same ? before.serial : 0);
    close(drain->next_fd);
    drain->next_fd = -1;
    if (is_ring && drain->reader.layout != HISTORY_LAYOUT) {
        log_error("berthd's history has layout %llu: this berth-history is another version's",
            (unsigned long long)drain->reader.layout);
        history_reader_detach(&drain->reader);
        is_ring = false;
    }
    if (!is_ring) {
        return;
    }
    struct ring_state *ring = &drain->batch.ring;
    *ring = (struct ring_state){
        .id = drain->reader.id, .serial = drain->reader.serial, .ended = drain->ended};
    snprintf(ring->boot, sizeof ring->boot, "%.*s", (int)sizeof ring->boot - 1,
        drain->reader.head->boot_id);
    ring->seen = is_same ? before.seen : wall_now();
    note_other_ring(drain, &before, was_read);
    if (drain->batch.n == 0) {
        drain->days->ring = *ring;
        days_note_seen(drain->days, ring->seen);
    }
    drain->is_first = !(is_same && was_read);
    drain->is_lost = false;
}

void drain_pass(struct drain *drain, int fd)
{
    if (drain->next_fd >= 0) {
        close(drain->next_fd);
    }
    drain->next_fd = fd;
}

/* ---- steps ---- */

/* It was the newest one, and its lease goes on. */
static void take_back(struct drain *drain, uint64_t serial)
{
    struct batch *batch = &drain->batch;
    struct day_row *last = batch->n > 0 ? &batch->rows[batch->n - 1] : NULL;
    if (last && last->serial == serial) {
        free(last->owned);
        batch->n--;
    } else {
        days_take_back(drain->days, drain->reader.id, serial);
    }
}

static void take_entry(struct drain *drain, const struct history_copy *copy)
{
    struct history_entry entry;
    if (copy->withdrawn > 0) {
        take_back(drain, copy->withdrawn);
    }
    count_missing(drain, copy);
    drain->batch.ring.serial = copy->serial;
    if (!history_entry_read(&entry, copy->bytes, copy->n)) {
        return; /* another version's */
    }
    if (entry.kind != HISTORY_ENDED) {
        return; /* the end that follows says it as well */
    }
    struct saved_lease *lease = record_read(entry.record, entry.record_length);
    add_missing(drain, wall_of(entry.ended_at));
    if (lease) {
        add_row(drain, &entry, lease);
    }
    record_free(lease);
}

/* Fills the batch. False: nothing more is there. */
static bool read_some(struct drain *drain)
{
    struct history_copy copy;
    while (drain->batch.n < MAX_ROWS && drain->batch.bytes < MAX_BYTES) {
        enum history_read read = history_reader_next(&drain->reader, &copy);
        drain->is_lost |= read == HISTORY_CUT;
        if (read != HISTORY_READ) {
            return false;
        }
        take_entry(drain, &copy);
    }
    return true;
}

enum drain_result drain_step(struct drain *drain)
{
    bool has_more = drain->reader.head && !drain->is_lost && drain->batch.n == 0 &&
        read_some(drain);
    drain->batch.ring.ended = drain->ended;
    drain->batch.ring.seen = wall_now();
    if (!days_write(drain->days, &drain->batch)) {
        drain->has_failed = true;
        return DRAIN_FAILS;
    }
    bool has_written = drain->batch.n > 0;
    batch_empty(&drain->batch);
    if (!has_more && drain->next_fd >= 0) {
        attach_next(drain);
        return DRAIN_MORE;
    }
    return has_more || has_written ? DRAIN_MORE : DRAIN_DONE;
}
