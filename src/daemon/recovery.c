/* recovery.c - at the start: what an earlier berthd knew comes back. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "core/fleet.h"
#include "daemon/findings.h"
#include "daemon/serve.h"
#include "database/fleet_sessions.h"
#include "job/process.h"
#include "journal/paths.h"
#include "journal/record.h"
#include "log/log.h"
#include "record/changes.h"
#include "record/journal_log.h"
#include "record/lease_log.h"
#include "record/log_subject.h"
#include "status/answer_lines.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- back into the core ---- */

/* When it ended while nobody looked; 0 if it did not. In fleet scope it has ended for all when it
 * was good no longer, as far as that is known. */
static nanoseconds ended_at(
    const struct server *server, const struct saved_lease *saved, nanoseconds now)
{
    const char *name = record_database(saved);
    uint8_t database = name ? fleet_find(&server->databases, name) : 0;
    nanoseconds good_until = database != 0 ? core_fleet_deadline(server->core, database) : 0;
    if (saved_ended_unreleased(saved)) { /* or before: its units rest longer rather than shorter */
        return saved->is_held && good_until != 0 ? earlier(now, good_until) : now;
    }
    bool is_over = saved->binding == BOUND_TIME && saved->is_held && saved->until <= now;
    return is_over ? saved->until : 0;
}

/* Counts the end, and adds it to the history. */
static void note_gone(
    struct server *server, const struct found *found, const struct earlier_end *end)
{
    size_t length;
    const char *record = found->slot == RECORD_NONE
        ? NULL
        : journal_look(&server->ledger.journal, found->slot, &length);
    core_count_ended_earlier(server->core, found->saved, end->why, end->at);
    if (record) {
        history_add_earlier(server->history, server->core, found->saved, end, record, length);
    }
}

static void note_unseen_end(struct server *server, const struct found *found)
{
    const struct saved_lease *saved = found->saved;
    const struct earlier_end end = {
        .why = !saved->is_held              ? OUTCOME_CANCELLED
            : saved->stopping != OUTCOME_OK ? saved->stopping
            : saved->binding == BOUND_TIME  ? OUTCOME_EXPIRED
                                            : OUTCOME_RELEASED,
        .at = saved->rested_at,
        .was_unseen = saved_ended_unreleased(saved),
    };
    if (end.at != 0) {
        note_gone(server, found, &end);
    }
}

/* As in a reload: what is in use cannot become another kind of resource, or lose its database. */
static void say_conflict(
    const struct server *server, const struct saved_lease *saved, const char *why)
{
    struct log_subject subject = {.event = "refused", .database = record_database(saved)};
    log_subject_saved_lease(&subject, saved);
    log_message_on(LOG_LEVEL_ERROR, &subject,
        "%s: %s is in use (by process %d), %s: start with the old file, or wait until it is free",
        server->conf->path, saved->claims[0].name, (int)saved->pid, why);
}

/* *conflictp: the daemon must not start, and has said why. */
static struct lease *restore_lease(struct server *server, const struct found *found,
    nanoseconds now, bool *conflictp)
{
    const struct saved_lease *saved = found->saved;
    struct lease *lease;
    enum outcome outcome = core_restore(server->core, saved, now, &server->effects, &lease);
    *conflictp = outcome == OUTCOME_KIND && saved->is_held;
    if (*conflictp) {
        say_conflict(server, saved, "so its kind cannot change");
    } else if (!lease) {
        const struct earlier_end end = {saved->is_held ? OUTCOME_LOST : outcome, now, false};
        note_gone(server, found, &end);
        lease_log_not_taken_over(saved, code_table[outcome_code(outcome)].meaning);
    } else if (lease->database != 0) {
        session_restore(fleet_session(server->fleet, lease->database), lease);
    }
    return lease;
}

/* The same in fleet scope; the database must be in the file. */
static struct lease *restore_of_fleet(struct server *server, const struct found *found,
    nanoseconds now, bool *conflictp)
{
    struct saved_lease *saved = found->saved;
    saved->database = fleet_find(&server->databases, record_database(saved));
    if (saved->database != 0) {
        return restore_lease(server, found, now, conflictp);
    }
    *conflictp = saved->is_held;
    if (*conflictp) {
        char why[NAME_BYTES + 64];
        snprintf(why, sizeof why, "and its database, [redis %s], is not there any more",
            record_database(saved));
        say_conflict(server, saved, why);
    } else {
        note_gone(server, found, &(struct earlier_end){OUTCOME_UNKNOWN, now, false});
        lease_log_not_taken_over(saved, "its database is no longer in the file");
    }
    return NULL;
}

/* For leases that have ended: whether units still rest, so that the record has to stay. One that
 * nobody saw end has ended for the next berthd, too. */
static bool restore_rest(struct server *server, const struct found *found,
    bool was_seen, nanoseconds now)
{
    struct saved_lease saved = *found->saved;
    if (record_database(found->saved)) {
        saved.n_claims = 0; /* resting units are the database's matter */
    }
    nanoseconds until = core_restore_cooldown(server->core, &saved, now, &server->effects);
    return until != 0 && found->slot != RECORD_NONE &&
        ledger_rest(&server->ledger, found->slot, was_seen ? NULL : &saved, until);
}

/* False if the file must not be used; then the journal is unchanged. */
static bool restore(struct server *server, const struct found *found, nanoseconds now)
{
    struct saved_lease *saved = found->saved;
    struct lease *lease = NULL;
    bool is_conflict = false, stays = false, was_seen = saved->rested_at != 0 && !found->is_over;
    if (saved_is_being_stopped(saved)) {
        saved->binding = BOUND_CONNECTION;
        saved->until = NEVER; /* it has the grace */
    }
    if (saved->rested_at == 0) {
        saved->rested_at = ended_at(server, saved, now);
        if (saved->rested_at != 0 && found->has_shares) {
            saved->rested_at = 0;
            saved->stopping = OUTCOME_RELEASED; /* its units wait for its shares */
        }
        note_unseen_end(server, found);
    }
    if (saved->rested_at != 0) {
        stays = restore_rest(server, found, was_seen, now);
    } else if (saved->is_opaque && !saved->is_held) {
        stays = true;
        lease_log_not_taken_over(saved, "a later version of berthd has queued it");
    } else {
        lease = (record_database(saved) ? restore_of_fleet : restore_lease)(
            server, found, now, &is_conflict);
    }
    if (is_conflict) {
        return false;
    }
    if (lease) {
        job_origin_want(&server->origins, lease);
        lease->record = found->slot;
        if (found->slot == RECORD_NONE) {
            ledger_enter(&server->ledger, lease);
        }
    } else if (found->slot != RECORD_NONE && !stays) {
        ledger_give_back(&server->ledger, found->slot);
    }
    apply_effects(&server->turn);
    return true;
}

/* ---- of the databases ---- */

static void restore_tenures(
    struct server *server, const struct findings *findings, nanoseconds now)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct found *found = &findings->list[i];
        if (found->tenure) {
            fleet_restore_tenure(server->fleet_journal, found->slot, found->tenure,
                strlen(found->tenure), now, &server->effects);
        }
    }
    apply_effects(&server->turn);
}

/* Tenures of databases that are not in the file any more; nobody holds anything there. */
static void forget_tenures(struct server *server, const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct found *found = &findings->list[i];
        if (found->tenure && found->slot != RECORD_NONE) {
            fleet_forget_tenure(
                server->fleet_journal, found->slot, found->tenure, strlen(found->tenure));
        }
    }
}

/* There are records of leases, but not of their database: they may be over at any time. */
static void limit_leases(struct server *server, nanoseconds now)
{
    for (size_t i = 1; i <= server->databases.n; i++) {
        uint8_t database = (uint8_t)i;
        if (core_fleet_deadline(server->core, database) == 0 &&
            core_fleet_has_holders(server->core, database)) {
            const char *name = fleet_name_of(&server->databases, database);
            const struct log_subject subject = {.database = name};
            log_message_on(LOG_LEVEL_WARNING, &subject,
                "the journal does not say until when the leases of [redis %s] are valid: they end",
                name);
            core_fleet_good_until(server->core, database, now, now, &server->effects);
            apply_effects(&server->turn);
        }
    }
}

/* ---- the whole recovery ---- */

static bool leases_may_be_missing(
    struct server *server, enum journal_found found, const struct findings *findings)
{
    switch (found) {
    case JOURNAL_MISSING: /* at the first start ever, or in this boot, nothing is missing */
    case JOURNAL_OF_OTHER_BOOT:
        return !server->disk_wait->numbers_are_kept || server->state.found == STATE_DAMAGED ||
            (server->state.found == STATE_READ && server->state.same_boot);
    case JOURNAL_INTACT:
        return findings->has_nonsense;
    case JOURNAL_INCOMPLETE:
    case JOURNAL_DAMAGED:
    case JOURNAL_OF_LATER_VERSION:
        break;
    }
    return true;
}

/* `lead`: how far numbers are ahead of the clock. Nothing new is granted until it has caught up:
 * the next berthd may find neither file, and begins with the clock. */
static void begin_grace(struct server *server, bool closed, nanoseconds lead, nanoseconds now)
{
    nanoseconds grace = closed ? later(server->ledger.grace, lead) : server->ledger.grace;
    if (server->state.found == STATE_UNREADABLE) {
        core_close(server->core, server->state.why_unreadable);
    }
    core_begin_grace(server->core, closed, now + grace);
    if (closed) {
        log_warning("the journal was lost or damaged: for %lld ms only earlier leases can be "
                    "reclaimed",
            (long long)grace / 1000000);
    }
}

/* Above all that earlier runs have given out: above what the journal says and, if both files are
 * lost, at the wall clock's microseconds. A killed berthd has left most numbers up to the mark of
 * the state directory unused: it does not count where the journal goes on from it. Returns how far
 * that is ahead of the clock; 0 if the clock was set back. */
static nanoseconds begin_numbers(
    struct server *server, enum journal_found found, const struct findings *findings)
{
    const struct state *state = &server->state;
    struct record_numbers recorded = findings->numbers;
    bool is_whole = found == JOURNAL_INTACT || found == JOURNAL_INCOMPLETE;
    uint64_t own = state->found == STATE_UNREADABLE ? recorded.of : state_fingerprint(state);
    bool goes_on = is_whole && recorded.of == own;
    uint64_t clock = (uint64_t)clock_wall_now() / 1000, first = clock;
    first = first < recorded.mark ? recorded.mark : first;
    first = first < state->mark && !goes_on ? state->mark : first;
    ledger_take_numbers(&server->ledger, findings->numbers_slot, goes_on ? recorded.mark : 0, own);
    core_begin_numbers(server->core, first);
    disk_wait_reserve_numbers(server->disk_wait);
    if (!server->disk_wait->numbers_are_kept && server->state.found != STATE_UNREADABLE) {
        log_warning("no writable state directory: until berthd is restarted with one, fencing "
                    "tokens depend on the clock, and runtime changes are refused");
    }
    return first - clock <= NUMBERS_AHEAD ? (nanoseconds)(first - clock) * 1000 : 0;
}

/* The records say what rates have let go since then, unless one of them is missing. */
static void begin_rates(struct server *server, enum journal_found found,
    struct findings *findings, nanoseconds now)
{
    bool is_whole = (found == JOURNAL_INTACT || found == JOURNAL_INCOMPLETE) &&
        !findings->has_nonsense;
    if (!is_whole && findings->numbers_slot != RECORD_NONE) {
        ledger_give_back(&server->ledger, findings->numbers_slot);
        findings->numbers_slot = RECORD_NONE;
    }
    uint64_t begun = is_whole ? findings->numbers.rates_begun : 0;
    core_begin_rates(server->core, begun != 0 ? (nanoseconds)begun : now);
}

/* This boot and this socket; a journal of any other says nothing about us. */
static void journal_owner(char out[17], const struct server *server, const char *socket_path)
{
    uint64_t boot = hash_string(server->state.boot_id, 0);
    snprintf(out, 17, "%016" PRIx64, hash_string(socket_path, boot));
}

static bool restore_all(struct serving *serving, const char *socket_path)
{
    struct server *server = &serving->server;
    struct findings findings = {0};
    nanoseconds now = clock_now();
    char path[PATH_MAX] = "";
    if (!path_at_runtime(server->listener.path, ".journal", path, sizeof path)) {
        log_error("the journal's path is too long"); /* it cannot be made: nothing is granted */
    }
    char whose[17];
    journal_owner(whose, server, socket_path);
    enum journal_found found =
        journal_open(&server->ledger.journal, path, whose, journal_log, findings_add, &findings);
    if (found == JOURNAL_OF_LATER_VERSION || findings.has_unreadable) {
        log_error(
            "%s: a later version of berthd has written it, and this one cannot read it: start "
            "that one; nothing has been changed",
            path);
        findings_deinit(&findings);
        return false;
    }
    begin_rates(server, found, &findings, now);
    nanoseconds lead = begin_numbers(server, found, &findings);
    bool closed = leases_may_be_missing(server, found, &findings);
    findings_sort(server, &findings);
    begin_grace(server, closed, lead, now);
    restore_tenures(server, &findings, now);
    history_log_begin(&serving->history_log);
    bool fits = true;
    for (size_t i = 0; fits && i < findings.n; i++) {
        fits = findings.list[i].tenure || restore(server, &findings.list[i], now);
    }
    if (fits) {
        core_end_restoring(server->core, now, &server->effects);
        apply_effects(&server->turn);
        forget_tenures(server, &findings);
        limit_leases(server, now);
    }
    server->ledger.owes_grace = closed && !journal_can_be_made(&server->ledger.journal);
    findings_deinit(&findings);
    return fits;
}

/* Changes that the file has ended do not come back with an older file; if berthd may not start with
 * this one, they do. */
static void store_changes(struct state *state, const struct core *core)
{
    int error;
    if (changes_note(state, core)) {
        enum stored stored = state_store(state, &error);
        state_log_stored(state, stored, error);
    }
}

bool recovery_run(struct serving *serving, const char *socket_path)
{
    struct server *server = &serving->server;
    char *changes = memory_string(server->state.changes);
    changes_apply(server->core, changes, clock_now(), &server->effects);
    free(changes);
    fleet_restore_changes(server->fleet_journal);
    apply_effects(&server->turn);
    if (!restore_all(serving, socket_path)) {
        return false;
    }
    store_changes(&server->state, server->core);
    ledger_note_complete(&server->ledger);
    size_t n_held = core_n_held(server->core), n_waiting = core_n_waiting(server->core);
    if (n_held + n_waiting > 0) {
        log_info("leases restored: %zu held, %zu waiting", n_held, n_waiting);
    }
    return true;
}
