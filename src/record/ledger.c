#include "record/ledger.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/units.h"
#include "journal/record.h"
#include "log/log.h"
#include "record/fleet_names.h"
#include "record/history.h"
#include "record/loop_iteration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- before ---- */

static bool catch_up_with(struct lease *lease, void *context)
{
    struct ledger *ledger = context;
    if (lease->record == RECORD_NONE) {
        ledger_enter(ledger, lease);
    }
    return lease->record != RECORD_NONE;
}

/* When the journal could not be made at the start: earlier holders come first. */
static bool has_caught_up(struct ledger *ledger)
{
    if (ledger->is_behind) {
        ledger->is_behind = !core_for_each_lease(ledger->core, catch_up_with, ledger);
    }
    return !ledger->is_behind;
}

/* While there was no journal, no client could come back: they have a grace from when there is
 * one. */
static bool owes_a_grace(struct ledger *ledger)
{
    if (ledger->owes_grace && journal_can_be_made(&ledger->journal)) {
        ledger->owes_grace = false;
        core_begin_grace(ledger->core, true, clock_now() + ledger->grace);
    }
    return ledger->owes_grace;
}

uint32_t ledger_reserve(struct ledger *ledger, const struct acquire_request *ask, size_t units)
{
    if (!has_caught_up(ledger) || owes_a_grace(ledger)) {
        return RECORD_NONE;
    }
    uint8_t database = ask->wants[0].definition->database;
    const char *name = fleet_name_of(ledger->databases, database);
    return journal_reserve(
        &ledger->journal, record_max_bytes(&ask->attributes, name, ask->n_wants, units));
}

void ledger_give_back(struct ledger *ledger, uint32_t record)
{
    journal_erase(&ledger->journal, record);
}

/* ---- after ---- */

static size_t max_bytes_of_units(struct ledger *ledger, const struct lease *lease)
{
    if (lease->state != LEASE_HELD) {
        return units_max_bytes_of(ledger->core, lease);
    }
    struct text units = TEXT_INIT;
    for (size_t i = 0; i < lease->n_claims; i++) {
        units_write_of(&units, &lease->claims[i]);
    }
    size_t length = units.length + lease->n_claims * UNITS_RATE_BYTES +
        lease->n_shares * sizeof " uses=,10000," + LEASE_ID_SIZE +
        strlen(" all=65535 levels=16");
    text_deinit(&units);
    return length;
}

static uint32_t reserve_for(struct ledger *ledger, const struct lease *lease)
{
    const char *database = fleet_name_of(ledger->databases, lease->database);
    size_t units = max_bytes_of_units(ledger, lease);
    size_t kept = lease->kept ? strlen(lease->kept) : 0;
    return journal_reserve(&ledger->journal,
        record_max_bytes(&lease->attributes, database, lease_n_all(lease), units) + kept);
}

/* A reload may have given the units longer names than there was room for. Until the first record is
 * erased there are two, and nobody has heard of the second one: a start may take either. */
static bool write_where_it_fits(struct ledger *ledger, struct lease *lease)
{
    struct journal *journal = &ledger->journal;
    size_t length = ledger->line.length;
    if (length <= journal_room(journal, lease->record)) {
        return journal_write(journal, lease->record, ledger->line.bytes, length);
    }
    uint32_t roomier = reserve_for(ledger, lease);
    bool is_written =
        roomier != RECORD_NONE && journal_write(journal, roomier, ledger->line.bytes, length);
    if (roomier != RECORD_NONE) {
        journal_erase(journal, is_written ? lease->record : roomier);
    }
    lease->record = is_written ? roomier : lease->record;
    return is_written;
}

static void write_down(struct ledger *ledger, struct lease *lease)
{
    struct text *line = &ledger->line;
    const char *database = fleet_name_of(ledger->databases, lease->database);
    size_t rest = database ? 0 : record_rest_bytes(lease_n_all(lease));
    line->length = 0;
    record_write(line, lease, database, true);
    if (lease_stop_reason(lease) && lease->record != RECORD_NONE &&
        line->length + rest > journal_room(&ledger->journal, lease->record)) {
        line->length = 0;
        record_write(line, lease, database, false);
    }
    lease->is_unwritten = lease->record == RECORD_NONE || !write_where_it_fits(ledger, lease);
    if (lease->is_unwritten) {
        log_ratelimited("the journal cannot be written: %s", strerror(errno));
    }
}

/* ---- units at rest ---- */

static bool write_rest(
    struct ledger *ledger, uint32_t record, const struct saved_lease *ended)
{
    size_t length = 0;
    const char *bytes = journal_look(&ledger->journal, record, &length);
    struct text *line = &ledger->line;
    line->length = 0;
    text_add_bytes(line, bytes, length);
    record_add_rest(line, ended);
    return bytes && journal_write(&ledger->journal, record, line->bytes, line->length);
}

static void begin_rest(struct ledger *ledger, uint32_t record, nanoseconds until)
{
    struct sorted_set_node *rest = memory_new(sizeof *rest);
    sorted_set_insert(&ledger->rests, rest, (uint64_t)until, record);
}

bool ledger_rest(struct ledger *ledger, uint32_t record, const struct saved_lease *ended,
    nanoseconds until)
{
    bool is_written = !ended || write_rest(ledger, record, ended);
    if (is_written) {
        begin_rest(ledger, record, until);
    }
    return is_written;
}

static void rest_is_over(struct ledger *ledger, struct sorted_set_node *rest)
{
    sorted_set_remove(&ledger->rests, rest);
    free(rest);
}

/* A reload may have made what a rate has let go cost more time. */
static nanoseconds owes_until(struct ledger *ledger, uint32_t record)
{
    size_t length;
    const char *bytes = journal_look(&ledger->journal, record, &length);
    struct saved_lease *ended = bytes ? record_read(bytes, length) : NULL;
    nanoseconds until = ended ? core_owes_until(ledger->core, ended) : 0;
    record_free(ended);
    return until;
}

static void end_rests(struct ledger *ledger)
{
    struct sorted_set_node *rest = sorted_set_first(&ledger->rests);
    nanoseconds now = rest ? clock_now() : 0;
    while (rest && (nanoseconds)rest->major <= now) {
        uint32_t record = (uint32_t)rest->minor;
        nanoseconds until = owes_until(ledger, record);
        rest_is_over(ledger, rest);
        if (until > now) {
            begin_rest(ledger, record, until);
        } else {
            journal_erase(&ledger->journal, record);
        }
        rest = sorted_set_first(&ledger->rests);
    }
}

void ledger_deinit(struct ledger *ledger)
{
    while (!sorted_set_is_empty(&ledger->rests)) {
        rest_is_over(ledger, sorted_set_first(&ledger->rests));
    }
    journal_close(&ledger->journal);
    text_deinit(&ledger->line);
}

/* ---- all of it ---- */

static void end_record(struct ledger *ledger, struct lease *lease)
{
    if (lease->database != 0 && !lease->has_said_end) {
        lease->has_said_end = true;
        lease->ending = history_ending(lease);
    }
    if (lease->record == RECORD_NONE) {
        history_ended(ledger->history, lease, NULL, 0);
        return;
    }
    size_t length;
    const char *record = journal_look(&ledger->journal, lease->record, &length);
    history_ended(ledger->history, lease, record, length);
    struct saved_lease ended = {.n_claims = 0};
    nanoseconds until = core_note_rest(lease, &ended);
    if (until == 0 || !ledger_rest(ledger, lease->record, &ended, until)) {
        journal_erase(&ledger->journal, lease->record);
    }
    lease->record = RECORD_NONE;
}

/* ---- numbers ---- */

enum { NUMBERS_PER_RECORD = 1024 };

void ledger_take_numbers(struct ledger *ledger, uint32_t record, uint64_t mark, uint64_t of)
{
    ledger->numbers_record = record;
    ledger->numbers_mark = mark;
    ledger->numbers_of = of;
}

/* Without a record, the next start begins at the mark of the state directory. */
static void forget_numbers(struct ledger *ledger)
{
    if (ledger->numbers_record != RECORD_NONE) {
        journal_erase(&ledger->journal, ledger->numbers_record);
    }
    ledger_take_numbers(ledger, RECORD_NONE, 0, ledger->numbers_of);
}

/* So far ahead that it is seldom written; before anybody hears of a number. */
static void write_numbers(struct ledger *ledger)
{
    uint64_t next = core_next_number(ledger->core);
    if (next <= ledger->numbers_mark || ledger->numbers_of == 0) {
        return;
    }
    uint32_t record = ledger->numbers_record;
    if (record == RECORD_NONE) {
        record = journal_reserve(&ledger->journal, RECORD_NUMBERS_BYTES);
    }
    struct text *line = &ledger->line;
    line->length = 0;
    const struct record_numbers numbers = {next + NUMBERS_PER_RECORD, ledger->numbers_of,
        (uint64_t)core_rates_begun(ledger->core)};
    record_write_numbers(line, &numbers);
    ledger_take_numbers(ledger, record, numbers.mark, numbers.of);
    if (record != RECORD_NONE &&
        !journal_write(&ledger->journal, record, line->bytes, line->length)) {
        forget_numbers(ledger);
    }
}

/* ---- after each operation ---- */

void ledger_commit(struct ledger *ledger)
{
    struct effects *effects = ledger->effects;
    bool is_written = !ledger->turn->stopping;
    if (is_written && (effects->changed || effects->ended)) {
        write_numbers(ledger);
    }
    end_rests(ledger);
    for (struct lease *lease = effects->ended; lease && is_written; lease = lease->next_ended) {
        end_record(ledger, lease);
    }
    for (struct lease *lease = effects->changed; lease && is_written;
         lease = lease->next_changed) {
        if (lease->state != LEASE_ENDED) {
            write_down(ledger, lease);
        }
    }
    effects_clear_changed(effects);
}

/* ---- at the start ---- */

void ledger_enter(struct ledger *ledger, struct lease *lease)
{
    lease->record = reserve_for(ledger, lease);
    if (lease->record == RECORD_NONE) {
        ledger->is_behind = true;
    } else {
        write_down(ledger, lease);
    }
}

void ledger_note_complete(struct ledger *ledger)
{
    bool complete = !ledger->is_behind && !owes_a_grace(ledger) &&
        !core_is_closed(ledger->core);
    if (complete && !ledger->is_complete) {
        ledger->is_complete = true;
        journal_set_complete(&ledger->journal);
    }
}
