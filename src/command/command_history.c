/* command_history.c - `history`: leases and waits that are over, oldest first, some at a time. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "command/fleet_past.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/follow_source.h"
#include "record/history.h"
#include "status/answer_lines.h"
#include "status/ended_line.h"

#include <stdlib.h>
#include <string.h>

struct history_answer {
    struct long_answer answer;
    struct server *server;
    struct ended_filter filter;
    uint64_t limit; /* the newest so many; 0: all */
    bool has_head; /* .position is where to begin, and the first line is made */
    bool has_older; /* that are left out */
    uint64_t position, ahead, end; /* in the ring: where lines are made, how far it is searched */
    uint64_t n_ahead; /* that are asked for, between .position and .ahead */
};

/* Moves .position on, until so many as are wanted are before the end: it follows .ahead at that
 * distance. An entry that is overwritten meanwhile may have been one. False: much has been looked
 * at. */
static bool find_start(struct history_answer *history)
{
    struct ended_budget budget = ENDED_BUDGET;
    bool is_full, goes_on = history->limit > 0;
    while (goes_on) {
        is_full = history->n_ahead > history->limit;
        goes_on = ended_pass(history->server, &history->filter,
            is_full ? &history->position : &history->ahead, history->end, &budget);
        history->n_ahead = is_full ? history->n_ahead - goes_on : history->n_ahead + goes_on;
        history->has_older |= is_full;
    }
    return ended_budget_is_left(&budget);
}

/* The first line, which says since when nothing is missing: the oldest entry that is kept, or the
 * begin of the ring. */
static void add_head(
    struct history_answer *history, struct text *out, const struct answer_moment *moment)
{
    struct history_entry oldest;
    uint64_t position = 0;
    nanoseconds since = history_ring_whole_since(&history->server->history->ring);
    if (since == 0 && history_next(history->server->history, &position, &oldest)) {
        since = oldest.ended_at;
    }
    text_add(out, "ok");
    text_add_number_key(out, "now", wall_milliseconds(moment->now, moment));
    if (since > 0) {
        text_add_number_key(out, "since", wall_milliseconds(since, moment));
    }
    uint64_t overwritten = history_ring_overwritten(&history->server->history->ring);
    if (overwritten > 0) {
        text_add_number_key(out, "overwritten", overwritten);
    }
    text_add(out, history->has_older ? " more=1" : "");
    text_add(out, " whose=host\n");
    history->has_head = true;
}

static bool command_history_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct history_answer *history = container_of(answer, struct history_answer, answer);
    if (!history->has_head && !find_start(history)) {
        return true;
    }
    if (!history->has_head) {
        add_head(history, out, moment);
    }
    return ended_lines_write(history->server, &history->filter, &history->position, history->end,
        moment, out, enough);
}

static void free_answer(struct long_answer *answer)
{
    struct history_answer *history = container_of(answer, struct history_answer, answer);
    asked_names_deinit(&history->filter.asked);
    free(history);
}

static const struct long_answer_kind history_kind = {
    .more = command_history_make_piece, .free = free_answer};

/* ---- the request ---- */

/* False, after an answer, if a key has no good value. */
static bool take_keys(struct call *call, struct ended_filter *filter, uint64_t *limitp)
{
    const char *lease = call->request->keys[KEY_INDEX_lease];
    struct past_filter keys;
    const char *wrong = past_take_keys(call, &keys);
    *filter = (struct ended_filter){
        .since = keys.since,
        .until = keys.until,
        .has_user = keys.has_user,
        .has_lease = lease,
        .has_did = true,
        .user = keys.user,
    };
    *limitp = keys.limit;
    if (!wrong && lease && !remote_is_elsewhere(call->server, lease) &&
        !remote_parse_own(call->server, lease, &filter->lease)) {
        wrong = "lease";
    }
    if (wrong) {
        call_refuse(call, CODE_BAD_VALUE, wrong);
    }
    return !wrong;
}

/* A lease of another host: nothing has ended, or that host's history has it. */
static void answer_whose(struct conn *conn, const struct elsewhere *elsewhere, struct text *out)
{
    (void)conn;
    if (elsewhere->database != 0) {
        text_add(out, "ok");
        text_add_number_key(out, "now", milliseconds(clock_wall_now()));
        text_add(out, "\nend\n");
    } else if (elsewhere->host[0]) {
        answer_error_saying(out, CODE_UNKNOWN,
            "%s: the history of %s has it: there, berthctl history --lease %s", elsewhere->key,
            elsewhere->host, elsewhere->id);
    } else {
        answer_error_saying(out, CODE_UNKNOWN,
            "%s: a lease of another host, which is not known any more", elsewhere->key);
    }
}

void command_history(struct call *call)
{
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease];
    if (request->keys[KEY_INDEX_failed]) {
        call_refuse(call, CODE_BAD_VALUE, "failed"); /* only berth-history knows that */
        return;
    }
    if (request->keys[KEY_INDEX_database]) {
        past_history(call);
        return;
    }
    struct history_answer asked = {.answer = {.kind = &history_kind}, .server = call->server};
    if (!take_keys(call, &asked.filter, &asked.limit) || !call_check_asked_names(call)) {
        return;
    }
    if (lease && remote_is_elsewhere(call->server, lease)) {
        remote_look_up(call, lease, answer_whose);
        return;
    }
    struct history_answer *history = memory_new(sizeof *history);
    *history = asked;
    history->end =
        asked.limit > 0 ? history_ring_end(&call->server->history->ring) : UINT64_MAX;
    asked_names_init(&history->filter.asked, request->arguments, request->n_arguments);
    conn_begin_long(call->conn, &history->answer);
}
