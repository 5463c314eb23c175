#include "conn/disk_wait.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "log/log.h"
#include "record/journal_log.h"
#include "record/request_log.h"
#include "status/answer_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE_AT_THE_END_MS = 5000, /* less than a service manager's, which would kill */
};

#define NUMBERS_AGAIN NANOSECONDS_PER_SECOND

/* ---- requests that are held back ---- */

struct held_request {
    TAILQ_ENTRY(held_request) link;
    struct held_requests *list;
    struct conn *conn;
    struct request_log *log; /* NULL: it is not logged; owned */
    uint64_t room; /* the number of its request for room */
    const char *when_late;
};

static void held_free(void *state)
{
    struct held_request *held = state;
    TAILQ_REMOVE(held->list, held, link);
    request_log_end(held->log, false,
        held->conn->server->turn.stopping ? ": refused, berthd ends" : ": refused");
    free(held);
}

static void refuse_held(struct held_request *held, const char *why)
{
    answer_error_saying(conn_answers(held->conn), CODE_NO_SPACE, "%s", why);
    parked_end(held->conn);
}

static void held_late(struct conn *conn)
{
    struct held_request *held = parked_state(conn);
    refuse_held(held, held->when_late);
}

static struct held_request *hold_back(
    struct call *call, struct held_requests *list, const char *when_late)
{
    static const struct parked_ops ops = {
        .late = held_late, .free = held_free, .outlives_peer = true};
    struct held_request *held = memory_new(sizeof *held);
    *held = (struct held_request){
        .list = list,
        .conn = call->conn,
        .log = call_log(call, 0),
        .when_late = when_late,
    };
    TAILQ_INSERT_TAIL(list, held, link);
    parked_hold_back(call->conn, call->line, &ops, held);
    call->is_logged_later = true;
    return held;
}

/* Each in its turn: one that comes too late for what there is, is held back again. */
static void carry_out_again(struct held_requests *list)
{
    struct held_request *held;
    while ((held = TAILQ_FIRST(list))) {
        held->log = request_log_free(held->log);
        parked_again(held->conn);
    }
}

/* ---- room ---- */

bool disk_wait_has_room(struct call *call)
{
    struct disk_wait *disk_wait = call->server->disk_wait;
    if (state_writer_has_room(&disk_wait->writer)) {
        return true;
    }
    struct held_request *held = hold_back(
        call, &disk_wait->for_room, "not changed: the disk of the state directory does not answer");
    held->room = state_writer_request_room(&disk_wait->writer);
    return false;
}

static void refuse_room(struct disk_wait *disk_wait, uint64_t request, int error)
{
    struct held_request *held;
    char why[512];
    const char *path = disk_wait->server->state.path;
    snprintf(why, sizeof why, "not changed: %s: %s", path ? path : "there is no state directory",
        strerror(error));
    while ((held = TAILQ_FIRST(&disk_wait->for_room)) && held->room <= request) {
        refuse_held(held, why);
    }
}

static void on_room(void *context, uint64_t request, int error)
{
    struct disk_wait *disk_wait = context;
    if (error == 0) {
        carry_out_again(&disk_wait->for_room);
    } else {
        refuse_room(disk_wait, request, error);
    }
    if (!disk_wait->server->turn.stopping) {
        loop_iteration_end(&disk_wait->server->turn);
    }
}

/* ---- changes that were made ---- */

struct made_change {
    TAILQ_ENTRY(made_change) link;
    struct conn *conn; /* NULL: gone, or answered */
    storing_answer *answer;
    const char *was; /* for answer() */
    struct request_log *log; /* owned */
    uint64_t change; /* its number */
};

static const char *const logged[N_STORED] = {
    [STORED] = "",
    [STORED_UNSYNCED] = ": in force, but a power failure may undo it",
    [STORED_UNKNOWN] = ": in force, and perhaps stored",
    [STORED_NOT] = ": in force, but not stored",
};

static const char *const answered[N_STORED] = {
    [STORED_UNSYNCED] =
        "in force and written, but its directory cannot be synced, and a power failure may undo it",
    [STORED_UNKNOWN] = "in force, and perhaps stored",
    [STORED_NOT] = "in force, but it could not be stored, and may be lost when berthd restarts",
};

/* The client has gone, or has waited long enough: the log still gets the result. */
static void made_let_go(void *state)
{
    struct made_change *made = state;
    made->conn = NULL;
}

static void made_late(struct conn *conn)
{
    answer_error_saying(conn_answers(conn), CODE_NO_SPACE,
        "in force, but not stored yet: the disk does not respond; see the log for the outcome");
    parked_end(conn);
}

static void answer_later(
    struct conn *conn, storing_answer *answer, const char *was, struct request_log *log)
{
    static const struct parked_ops ops = {
        .late = made_late, .free = made_let_go, .holds_events = true};
    struct disk_wait *disk_wait = conn->server->disk_wait;
    struct made_change *made = memory_new(sizeof *made);
    *made = (struct made_change){
        .conn = conn,
        .answer = answer,
        .was = was,
        .log = log,
        .change = disk_wait->runtime_change,
    };
    TAILQ_INSERT_TAIL(&disk_wait->made, made, link);
    parked_begin(conn, &ops, made);
}

void disk_wait_answer_later(struct call *call, storing_answer *answer, const char *was)
{
    answer_later(call->conn, answer, was, call_log(call, 0));
    call->is_logged_later = true;
}

void disk_wait_answer_reload(struct conn *conn, storing_answer *answer)
{
    const struct disk_wait *disk_wait = conn->server->disk_wait;
    if (disk_wait->reload_change <= disk_wait->settled) {
        answer(conn, NULL);
    } else {
        answer_later(conn, answer, NULL, NULL);
    }
}

static void answer_made(struct made_change *made, enum stored stored)
{
    struct conn *conn = made->conn;
    if (conn && stored == STORED) {
        made->answer(conn, made->was);
    } else if (conn) {
        answer_error_saying(conn_answers(conn), CODE_NO_SPACE, "%s", answered[stored]);
    }
    if (conn) {
        parked_end(conn);
    }
}

static void settle_made(struct disk_wait *disk_wait, uint64_t up_to, enum stored stored)
{
    struct made_change *made;
    while ((made = TAILQ_FIRST(&disk_wait->made)) && made->change <= up_to) {
        answer_made(made, stored);
        request_log_end(made->log, true, logged[stored]);
        TAILQ_REMOVE(&disk_wait->made, made, link);
        free(made);
    }
}

/* ---- numbers ---- */

enum { NUMBERS_PER_REQUEST = 64 }; /* more ids or tokens than one request can use up */

/* Waiters take tokens later, when nobody can be held back any more: these are left for them. */
static uint64_t numbers_needed(const struct server *server)
{
    uint64_t n_waiting = core_n_waiting(server->core);
    return core_next_number(server->core) + NUMBERS_PER_REQUEST +
        n_waiting * MAX_RESOURCES_PER_LEASE;
}

/* The next image of the state has a mark well above `next`. */
static bool want_numbers(struct server *server, uint64_t next)
{
    bool are_there = state_want_numbers(&server->state, next);
    if (!are_there) {
        state_log_no_numbers(&server->state);
    }
    return are_there;
}

void disk_wait_reserve_numbers(struct disk_wait *disk_wait)
{
    struct server *server = disk_wait->server;
    if (want_numbers(server, core_next_number(server->core))) {
        int error;
        enum stored stored = state_store(&server->state, &error);
        state_log_stored(&server->state, stored, error);
        disk_wait->numbers_are_kept = stored == STORED;
    }
}

/* If none could be stored at the start, that is no reason to refuse: recovery.c has logged it. */
static bool has_numbers(const struct disk_wait *disk_wait)
{
    const struct server *server = disk_wait->server;
    return !disk_wait->numbers_are_kept ||
        state_has_numbers(&server->state, numbers_needed(server));
}

bool disk_wait_has_numbers(struct call *call, bool *hasp)
{
    struct disk_wait *disk_wait = call->server->disk_wait;
    bool has_just_failed = call->now < disk_wait->numbers_again_at;
    *hasp = has_numbers(disk_wait);
    if (*hasp || has_just_failed) {
        return true;
    }
    hold_back(call, &disk_wait->for_numbers,
        "numbers for leases cannot be stored: the disk of the "
        "state directory does not answer");
    return false;
}

/* So early that nobody has to wait for them. */
static void ask_for_numbers(struct disk_wait *disk_wait)
{
    struct server *server = disk_wait->server;
    uint64_t needed = numbers_needed(server);
    if (disk_wait->numbers_are_kept && state_is_short_of_numbers(&server->state, needed) &&
        (disk_wait->numbers_again_at == 0 || clock_now() >= disk_wait->numbers_again_at) &&
        want_numbers(server, needed)) {
        state_writer_change(&disk_wait->writer);
    }
}

static void settle_numbers(struct disk_wait *disk_wait, enum stored stored)
{
    disk_wait->numbers_again_at = stored == STORED ? 0 : clock_now() + NUMBERS_AGAIN;
    if (has_numbers(disk_wait) || stored != STORED) {
        carry_out_again(&disk_wait->for_numbers);
    }
}

/* ---- what has been stored ---- */

void disk_wait_note_changes(struct disk_wait *disk_wait)
{
    disk_wait->runtime_change = state_writer_change(&disk_wait->writer);
}

void disk_wait_note_reload(struct disk_wait *disk_wait, bool has_ended_changes)
{
    if (has_ended_changes || disk_wait->has_failed) {
        disk_wait_note_changes(disk_wait);
        disk_wait->reload_change = disk_wait->runtime_change;
    }
}

void disk_wait_note_fleet_changes(struct disk_wait *disk_wait)
{
    disk_wait->fleet_change = state_writer_change(&disk_wait->writer);
}

/* Whether the newest change is among them; else a later result decides. */
static bool is_within(uint64_t change, uint64_t from, uint64_t to)
{
    return change > from && change <= to;
}

static void log_changes_not_stored(const struct disk_wait *disk_wait, uint64_t from, uint64_t to)
{
    if (is_within(disk_wait->runtime_change, from, to)) {
        log_error(
            "runtime changes could not be stored: they are in force, but may not outlive this "
            "berthd");
    }
    if (is_within(disk_wait->fleet_change, from, to)) {
        log_error("operators' changes of the fleet could not be stored: should Redis lose them, "
                  "this berthd may not know them any more");
    }
}

static void on_written(void *context, uint64_t from, uint64_t to, enum stored stored)
{
    struct disk_wait *disk_wait = context;
    if (stored == STORED_NOT) {
        log_changes_not_stored(disk_wait, from, to);
    }
    disk_wait->settled = to;
    disk_wait->has_failed = stored != STORED;
    settle_made(disk_wait, to, stored);
    if (!disk_wait->server->turn.stopping) {
        settle_numbers(disk_wait, stored);
        loop_iteration_end(&disk_wait->server->turn);
    }
}

/* ---- life ---- */

void disk_wait_end_turn(struct disk_wait *disk_wait)
{
    if (!disk_wait->server->turn.stopping) {
        ask_for_numbers(disk_wait);
    }
    state_writer_begin(&disk_wait->writer);
}

bool disk_wait_end(struct disk_wait *disk_wait)
{
    return state_writer_end(&disk_wait->writer, PATIENCE_AT_THE_END_MS);
}

void disk_wait_init(struct disk_wait *disk_wait, struct server *server)
{
    static const struct state_writer_events events = {
        .on_room = on_room, .on_written = on_written};
    *disk_wait = (struct disk_wait){.server = server};
    TAILQ_INIT(&disk_wait->for_room);
    TAILQ_INIT(&disk_wait->for_numbers);
    TAILQ_INIT(&disk_wait->made);
    state_writer_init(
        &disk_wait->writer, &server->loop, &server->state, &events, disk_wait);
}
