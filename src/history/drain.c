#include "history/drain.h"

#include "base/clock.h"
#include "history/rows.h"
#include "journal/history_entry.h"
#include "journal/record.h"
#include "log/log.h"
#include "status/ended_line.h"
#include "status/viewer.h"
#include "wire/protocol.h"

#include <string.h>
#include <unistd.h>

enum { MAX_ENTRIES = 500 }; /* in one transaction */

/* Of an instant of CLOCK_BOOTTIME, as the time of day is set now. */
static int64_t wall_of(nanoseconds instant)
{
    nanoseconds span = clock_now() - instant;
    return (clock_wall_now() - span) / NANOSECONDS_PER_MILLISECOND;
}

/* ---- rows ---- */

static const char *without_lf(struct text *line)
{
    line->bytes[--line->length] = '\0';
    return line->bytes;
}

/* Up to where the ring has been read. */
static struct drained position(const struct drain *drain)
{
    return (struct drained){.ring = drain->reader.id, .serial = drain->reader.serial};
}

static bool add_row(
    struct drain *drain, const struct history_entry *entry, const struct saved_lease *lease)
{
    const struct ended_lease ended = {
        .entry = entry, .lease = lease, .database = record_database(lease)};
    const struct drained at = position(drain);
    drain->line.length = drain->claims.length = 0;
    text_add(&drain->claims, "");
    ended_claims(&drain->claims, lease);
    ended_line_write(&drain->line, &ended, (uint64_t)wall_of(entry->ended_at), true);
    return days_add_line(
        drain->days, without_lf(&drain->line), drain->claims.bytes, entry->hiding, &at);
}

static bool add_did(
    struct drain *drain, const struct history_entry *entry, const struct did *did)
{
    const struct drained at = position(drain);
    char name[NAME_BYTES + 1];
    drain->line.length = drain->claims.length = 0;
    text_add(&drain->claims, "");
    for (size_t i = 0; did_resource(did, i, name); i++) {
        text_add_format(&drain->claims, "%s%s 0", i > 0 ? "," : "", name);
    }
    did_line_write(&drain->line, did, (uint64_t)wall_of(entry->ended_at), NULL);
    return days_add_line(
        drain->days, without_lf(&drain->line), drain->claims.bytes, did->hiding, &at);
}

/* From the last row until then. `serial`: of the last entry before it. */
static bool add_gap(
    struct drain *drain, int64_t until, const char *why, uint64_t n, uint64_t serial)
{
    const struct drained at = {.ring = drain->reader.id, .serial = serial};
    return days_add_gap(drain->days, drain->days->added.ended, until, why, n, &at);
}

/* What is missing before that entry. */
static bool add_missing(
    struct drain *drain, const struct history_copy *copy, const struct history_entry *entry)
{
    int64_t until = wall_of(entry->ended_at);
    bool is_known = drain->days->added.ring != 0; /* else they ended before all that is kept */
    const char *why = drain->has_failed ? "disk-full"
        : drain->is_first               ? "not-running"
                                        : "overwritten";
    uint64_t before = copy->serial - 1;
    return (copy->n_damaged == 0 || add_gap(drain, until, "damaged", copy->n_damaged, before)) &&
        (copy->n_overwritten == 0 || !is_known ||
            add_gap(drain, until, why, copy->n_overwritten, before));
}

/* Until then nothing has come but what has been read. */
static void note_seen(struct drain *drain, nanoseconds until)
{
    const struct drained at = position(drain);
    if (drain->reader.head && days_add_seen(drain->days, wall_of(until), &at)) {
        days_commit(drain->days);
    }
}

void drain_note_seen(struct drain *drain)
{
    note_seen(drain, clock_now());
}

/* ---- rings ---- */

/* Of the first ring: if it still has all that was added since it was made, what is kept is complete
 * from then on. Moves its reader. */
static void note_begin(struct drain *drain)
{
    struct history_copy first;
    struct history_reader *reader = &drain->reader;
    enum history_read read = history_reader_next(reader, &first);
    bool is_empty = read == HISTORY_UP_TO_DATE &&
        atomic_load_explicit(&reader->head->added, memory_order_relaxed) == 0;
    bool is_whole = is_empty || (read == HISTORY_READ && first.serial == 1);
    history_reader_seek(reader, 0);
    if (is_whole) {
        note_seen(drain, (nanoseconds)reader->head->made_at);
    }
}

/* What ended after the last look at an earlier ring is not in this one. False: it fails. */
static bool note_other_ring(struct drain *drain, bool was_whole)
{
    const struct drained *before = &drain->days->added;
    int64_t boot = wall_of(0);
    bool is_boot = before->ended < boot;
    if (before->ring == 0) {
        note_begin(drain);
    }
    if (before->ring == 0 || before->ring == drain->reader.id) {
        return true;
    }
    if (was_whole) {
        drain_note_seen(drain);
        return true;
    }
    const char *why = is_boot ? "reboot"
        : drain->is_lost      ? "damaged"
        : drain->had_no_ring  ? "no-history"
                              : "not-running";
    return add_gap(drain, is_boot ? boot : wall_of(clock_now()), why, 0, 0) &&
        days_commit(drain->days);
}

/* All of the one before has been read and written, or is lost. False: it is to be tried again. */
static bool attach_next(struct drain *drain)
{
    bool had_ring = drain->reader.head;
    bool was_whole = had_ring && !drain->is_lost && !drain->had_no_ring;
    history_reader_detach(&drain->reader);
    bool is_ring = history_reader_attach(&drain->reader, drain->next_fd, 0);
    if (is_ring) {
        days_go_on_with(drain->days, drain->reader.id);
    }
    bool is_same = drain->reader.id == drain->days->added.ring;
    if (!is_ring || drain->reader.layout != HISTORY_LAYOUT) {
        log_error("berthd's history has a form that this berth-history does not know");
        history_reader_detach(&drain->reader);
    } else if (note_other_ring(drain, was_whole)) {
        history_reader_seek(&drain->reader, is_same ? drain->days->added.serial : 0);
        drain->is_first = !(is_same && had_ring);
        drain->is_lost = drain->had_no_ring = false;
    } else {
        history_reader_detach(&drain->reader);
        return false;
    }
    close(drain->next_fd);
    drain->next_fd = -1;
    return true;
}

void drain_pass(struct drain *drain, int fd)
{
    if (drain->next_fd >= 0) {
        close(drain->next_fd);
    }
    drain->next_fd = fd;
}

/* ---- steps ---- */

/* False: the days cannot be written. */
static bool take_entry(struct drain *drain, const struct history_copy *copy)
{
    struct history_entry entry;
    if (!history_entry_read(&entry, copy->bytes, copy->n)) {
        return true; /* another version's */
    }
    if (!add_missing(drain, copy, &entry)) {
        return false;
    }
    drain->is_first = drain->has_failed = false;
    struct did did;
    struct saved_lease *lease = entry.kind == HISTORY_ENDED
        ? record_read(entry.record, entry.record_length)
        : NULL;
    bool is_done = lease         ? add_row(drain, &entry, lease)
        : did_read(&did, &entry) ? add_did(drain, &entry, &did)
                                 : true;
    record_free(lease);
    return is_done;
}

enum drain_result drain_step(struct drain *drain)
{
    struct history_copy copy;
    enum history_read read = HISTORY_UP_TO_DATE;
    bool is_done = days_find_drained(drain->days);
    for (unsigned n = 0; is_done && drain->reader.head && !drain->is_lost && n < MAX_ENTRIES; n++) {
        read = history_reader_next(&drain->reader, &copy);
        if (read != HISTORY_READ) {
            break;
        }
        is_done = take_entry(drain, &copy);
    }
    drain->is_lost |= read == HISTORY_CUT;
    if (!is_done || !days_commit(drain->days)) {
        drain->has_failed = true;
        history_reader_seek(&drain->reader, drain->days->committed.ring == drain->reader.id
                ? drain->days->committed.serial
                : 0);
        return DRAIN_FAILS;
    }
    if (read != HISTORY_READ && drain->next_fd >= 0) {
        return attach_next(drain) ? DRAIN_MORE : DRAIN_FAILS;
    }
    return read == HISTORY_READ ? DRAIN_MORE : DRAIN_DONE;
}

/* ---- life ---- */

void drain_init(struct drain *drain, struct days *days)
{
    *drain = (struct drain){.days = days, .next_fd = -1};
}

void drain_deinit(struct drain *drain)
{
    history_reader_detach(&drain->reader);
    text_deinit(&drain->line);
    text_deinit(&drain->claims);
    if (drain->next_fd >= 0) {
        close(drain->next_fd);
    }
}
