#include "daemon/ledger.h"

#include "base/clock.h"
#include "base/memory.h"
#include "daemon/fleet_names.h"
#include "daemon/server.h"
#include "daemon/storing.h"
#include "journal/journal.h"
#include "journal/record.h"
#include "log/log.h"
#include "wire/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- before ---- */

static bool catch_up_with(struct lease *lease, void *context)
{
    struct server *server = context;
    if (lease->record == RECORD_NONE) {
        ledger_enter(server, lease);
    }
    return lease->record != RECORD_NONE;
}

/* After the journal could not be made at the start: those who had a lease before come first. */
static bool has_caught_up(struct server *server)
{
    if (server->ledger_is_behind) {
        server->ledger_is_behind = !core_for_each_lease(server->core, catch_up_with, server);
    }
    return !server->ledger_is_behind;
}

/* While there was no journal nobody could come back: they have a grace from when there is one. */
static bool owes_a_grace(struct server *server)
{
    if (server->ledger_owes_grace && journal_can_be_made(&server->journal)) {
        server->ledger_owes_grace = false;
        core_begin_grace(server->core, true, clock_now() + server->conf->grace);
    }
    return server->ledger_owes_grace;
}

uint32_t ledger_reserve(struct server *server, const struct ask *ask, size_t longest_grant)
{
    /* The high-water mark in the state directory is always ahead of what is given out. */
    if (!has_caught_up(server) || owes_a_grace(server) || !storing_numbers_are_left(server)) {
        return RECORD_NONE;
    }
    const struct definition *first = core_find_definition(server->core, ask->wants[0].name);
    const char *database = fleet_name_of(&server->databases, first ? first->database : 0);
    return journal_reserve(&server->journal, record_most_bytes(ask, longest_grant, database));
}

void ledger_give_back(struct server *server, uint32_t record)
{
    journal_erase(&server->journal, record);
}

/* ---- after ---- */

static void write_down(struct server *server, struct lease *lease)
{
    struct text *line = &server->record_line;
    line->length = 0;
    record_write(line, lease, fleet_name_of(&server->databases, lease->database));
    lease->is_unwritten = lease->record == RECORD_NONE ||
        !journal_write(&server->journal, lease->record, line->bytes, line->length);
    if (lease->is_unwritten) {
        log_provoked("the journal cannot be written: %s", strerror(errno));
    }
}

/* ---- units at rest ---- */

struct rest {
    struct order_node node; /* in server->rests */
    uint32_t record;
};

static struct rest *first_rest(const struct server *server)
{
    struct order_node *node = order_first(&server->rests);
    return node ? container_of(node, struct rest, node) : NULL;
}

void ledger_rest(struct server *server, uint32_t record, nanoseconds until)
{
    struct rest *rest = memory_new(sizeof *rest);
    rest->record = record;
    order_insert(&server->rests, &rest->node, (uint64_t)until, record);
}

static void rest_is_over(struct server *server, struct rest *rest)
{
    order_remove(&server->rests, &rest->node);
    free(rest);
}

static void end_rests(struct server *server)
{
    struct rest *rest = first_rest(server);
    nanoseconds now = rest ? clock_now() : 0;
    while (rest && (nanoseconds)rest->node.major <= now) {
        journal_erase(&server->journal, rest->record);
        rest_is_over(server, rest);
        rest = first_rest(server);
    }
}

/* The lease is over, but not what its units are in need of. */
static bool is_kept_for_rest(struct server *server, const struct lease *lease)
{
    char bytes[JOURNAL_MOST_BYTES];
    size_t length = lease->rests_until == 0
        ? 0
        : journal_read(&server->journal, lease->record, bytes, sizeof bytes);
    if (length == 0) {
        return false;
    }
    struct text *line = &server->record_line;
    line->length = 0;
    text_add_bytes(line, bytes, length);
    record_add_rest(line, clock_now());
    if (!journal_write(&server->journal, lease->record, line->bytes, line->length)) {
        return false;
    }
    ledger_rest(server, lease->record, lease->rests_until);
    return true;
}

void ledger_deinit(struct server *server)
{
    while (first_rest(server)) {
        rest_is_over(server, first_rest(server));
    }
}

/* ---- all of it ---- */

static void end_record(struct server *server, struct lease *lease)
{
    if (!is_kept_for_rest(server, lease)) {
        journal_erase(&server->journal, lease->record);
    }
    lease->record = RECORD_NONE;
}

void ledger_commit(struct server *server)
{
    struct effects *effects = &server->effects;
    bool is_written = !server->stopping;
    end_rests(server);
    for (struct lease *lease = effects->ended; lease && is_written; lease = lease->next_ended) {
        if (lease->record != RECORD_NONE) {
            end_record(server, lease);
        }
    }
    for (struct lease *lease = effects->changed; lease && is_written;
         lease = lease->next_changed) {
        if (lease->state != LEASE_ENDED) {
            write_down(server, lease);
        }
    }
    effects_clear_changed(effects);
}

/* ---- at the start ---- */

/* A bound from the lease itself: it only gets shorter from there. */
void ledger_enter(struct server *server, struct lease *lease)
{
    struct text *line = &server->record_line;
    line->length = 0;
    record_write(line, lease, fleet_name_of(&server->databases, lease->database));
    size_t most = line->length + (lease->state == LEASE_WAITING ? LINE_BYTES : 512);
    lease->record = journal_reserve(&server->journal, most);
    if (lease->record == RECORD_NONE) {
        server->ledger_is_behind = true;
    } else {
        write_down(server, lease);
    }
}

void ledger_note_complete(struct server *server)
{
    bool complete = !server->ledger_is_behind && !owes_a_grace(server) &&
        !core_is_closed(server->core);
    if (complete && !server->ledger_is_complete) {
        server->ledger_is_complete = true;
        journal_set_complete(&server->journal);
    }
}
