#include "daemon/recovery.h"

#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/changes.h"
#include "daemon/clock.h"
#include "daemon/ledger.h"
#include "daemon/log.h"
#include "daemon/paths.h"
#include "daemon/process.h"
#include "daemon/record.h"
#include "daemon/server.h"
#include "wire/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what is written down ---- */

struct found {
    struct remembered *remembered;
    uint32_t slot;
};

struct findings {
    struct found *list;
    size_t n, size;
    bool has_nonsense; /* a record with a good checksum that says nothing */
};

static void find_record(void *context, uint32_t slot, const char *bytes, size_t length)
{
    struct findings *findings = context;
    if (findings->n == findings->size) {
        findings->size = findings->size == 0 ? 64 : findings->size * 2;
        findings->list = memory_resize(findings->list, findings->size, sizeof *findings->list);
    }
    struct found found = {.remembered = record_read(bytes, length), .slot = slot};
    findings->has_nonsense |= !found.remembered;
    findings->list[findings->n++] = found;
}

static void findings_deinit(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        record_free(findings->list[i].remembered);
    }
    free(findings->list);
}

/* Holders in the order of their grants, then waiters; nonsense last. */
static int compare(const void *a, const void *b)
{
    const struct remembered *x = ((const struct found *)a)->remembered;
    const struct remembered *y = ((const struct found *)b)->remembered;
    if (!x || !y) {
        return !x - !y;
    }
    if (x->is_held != y->is_held) {
        return x->is_held ? -1 : 1;
    }
    if (x->is_held && x->granted_at != y->granted_at) {
        return x->granted_at < y->granted_at ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* ---- back into the core ---- */

/* Its main process is dead, but who stops the rest of the job may be about to come back. */
static bool is_being_stopped(const struct remembered *remembered)
{
    return remembered->stopping != OUTCOME_OK && remembered->binding == BOUND_PROCESS &&
        !process_is_alive(&remembered->process);
}

/* When it ended while nobody looked; 0 if it did not. */
static nanoseconds ended_at(const struct remembered *remembered, nanoseconds now)
{
    if (remembered->binding == BOUND_PROCESS && !process_is_alive(&remembered->process)) {
        return now; /* or before: its units rest longer rather than shorter */
    }
    bool is_over =
        remembered->binding == BOUND_TIME && remembered->is_held && remembered->until <= now;
    return is_over ? remembered->until : 0;
}

/* As with a reload: what is in use cannot become another kind of resource meanwhile. */
static void say_kind_conflict(const struct server *server, const struct remembered *remembered)
{
    log_error("%s: %s is in use (by process %d), and cannot become another kind of resource "
              "meanwhile: start with the old file, or when it is free",
        server->conf->path, remembered->claims[0].name, (int)remembered->pid);
}

static struct lease *restore_lease(struct server *server, const struct remembered *remembered,
    nanoseconds now, enum outcome *outcomep)
{
    struct lease *lease;
    enum outcome outcome =
        core_restore(server->core, remembered, now, &server->store->effects, &lease);
    *outcomep = outcome;
    if (outcome == OUTCOME_KIND) {
        say_kind_conflict(server, remembered);
    } else if (!lease) {
        char id[LEASE_ID_SIZE];
        lease_id_format(id, remembered->id);
        log_warning("lease %s (%s) is not taken over: %s", id, remembered->claims[0].name,
            code_table[outcome_code(outcome)].meaning);
    }
    return lease;
}

/* What ended lately: whether its units still rest, so that the record has to stay. */
static bool restore_rest(struct server *server, const struct found *found, nanoseconds now)
{
    nanoseconds until =
        core_restore_rest(server->core, found->remembered, now, &server->store->effects);
    if (until != 0 && found->slot != RECORD_NONE) {
        ledger_rest(server, found->slot, until);
    }
    return until != 0;
}

/* False if the file is not to be started with; then nothing is changed in the journal. */
static bool restore(struct server *server, const struct found *found, nanoseconds now)
{
    struct remembered *remembered = found->remembered;
    struct lease *lease = NULL;
    enum outcome outcome = OUTCOME_OK;
    bool stays = false;
    if (remembered && is_being_stopped(remembered)) {
        remembered->binding = BOUND_CONNECTION;
        remembered->until = NEVER; /* it has the grace */
    }
    if (remembered && remembered->rested_at == 0) {
        remembered->rested_at = ended_at(remembered, now);
    }
    if (remembered && remembered->rested_at != 0) {
        stays = restore_rest(server, found, now);
    } else if (remembered) {
        lease = restore_lease(server, remembered, now, &outcome);
    }
    if (outcome == OUTCOME_KIND) {
        return false;
    }
    if (lease) {
        lease->record = found->slot;
        if (found->slot == RECORD_NONE) {
            ledger_enter(server, lease);
        }
    } else if (found->slot != RECORD_NONE && !stays) {
        journal_erase(&server->journal, found->slot);
    }
    server_carry_out(server);
    return true;
}

static bool leases_may_be_missing(
    const struct server *server, enum journal_found found, const struct findings *findings)
{
    switch (found) {
    case JOURNAL_MISSING: /* at the first start ever, or of this boot, nothing is missing */
    case JOURNAL_OF_OTHER_BOOT:
        return !server->state_works || server->state.found == STATE_DAMAGED ||
            (server->state.found == STATE_READ && server->state.same_boot);
    case JOURNAL_INTACT:
        return findings->has_nonsense;
    case JOURNAL_INCOMPLETE:
    case JOURNAL_DAMAGED:
        break;
    }
    return true;
}

static void begin_grace(struct server *server, bool closed, nanoseconds now)
{
    nanoseconds grace = server->conf->grace;
    core_begin_grace(server->core, closed, now + grace);
    if (closed) {
        log_warning("the journal was lost or damaged: for %lld ms only those who had a lease "
                    "before may have one",
            (long long)grace / 1000000);
    }
}

/* Of this boot and this socket; a journal of any other says nothing about us. */
static void journal_owner(
    char out[17], const struct server *server, const char *socket_path)
{
    uint64_t boot = hash_string(server->state.boot_id, 0);
    snprintf(out, 17, "%016" PRIx64, hash_string(socket_path, boot));
}

static bool restore_all(struct server *server, const char *socket_path)
{
    struct findings findings = {0};
    nanoseconds now = clock_now();
    char path[PATH_MAX] = "";
    if (!path_at_runtime(server->listener.path, ".journal", path, sizeof path)) {
        log_error("the journal's path is too long"); /* it cannot be made: nothing is granted */
    }
    char whose[17];
    journal_owner(whose, server, socket_path);
    enum journal_found found =
        journal_open(&server->journal, path, whose, find_record, &findings);
    bool closed = leases_may_be_missing(server, found, &findings);
    if (findings.n > 0) {
        qsort(findings.list, findings.n, sizeof *findings.list, compare);
    }
    begin_grace(server, closed, now);
    bool fits = true;
    for (size_t i = 0; fits && i < findings.n; i++) {
        fits = restore(server, &findings.list[i], now);
    }
    server->ledger_owes_grace = closed && !journal_can_be_made(&server->journal);
    findings_deinit(&findings);
    return fits;
}

bool recovery_run(struct server *server, const char *socket_path)
{
    char *changes = memory_string(server->state.changes);
    changes_apply(server->store, server->core, changes, clock_now());
    free(changes);
    server_carry_out(server);
    server->state_works =
        state_reserve_numbers(&server->state, core_next_number(server->core));
    if (!server->state_works) {
        log_warning("until berthd is started with a state directory that it can write, fencing "
                    "tokens depend on the clock, and runtime changes are refused");
    }
    if (!restore_all(server, socket_path)) {
        return false;
    }
    ledger_note_complete(server);
    size_t n_held = core_n_held(server->core), n_waiting = core_n_waiting(server->core);
    if (n_held + n_waiting > 0) {
        log_info("leases taken over: %zu held, %zu waiting", n_held, n_waiting);
    }
    return true;
}
