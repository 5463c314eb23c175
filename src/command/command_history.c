/* command_history.c - `history`: leases and waits that are over, oldest first, some at a time. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/follow_source.h"
#include "record/history.h"
#include "status/answer_lines.h"
#include "status/ended_line.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOOKED_AT = 512 }; /* entries, for the oldest lease, in one piece */

struct history_answer {
    struct long_answer answer;
    struct server *server;
    struct ended_filter filter;
    bool has_head; /* the first line is made */
    uint64_t position; /* in the ring */
};

/* The first line, which names the lease that ended first of those that are still kept. False: it
 * has not been found yet. */
static bool add_head(
    struct history_answer *history, struct text *out, const struct answer_moment *moment)
{
    struct history_entry oldest;
    uint64_t position = history->position;
    unsigned n_left = MAX_LOOKED_AT;
    bool is_any = history_next_ended(history->server->history, &position, &n_left, &oldest);
    if (!is_any && n_left == 0) {
        history->position = position; /* so far there is none */
        return false;
    }
    text_add(out, "ok");
    text_add_number_key(out, "now", wall_milliseconds(moment->now, moment));
    if (is_any) {
        text_add_number_key(out, "since", wall_milliseconds(oldest.ended_at, moment));
    }
    uint64_t overwritten = history_ring_overwritten(&history->server->history->ring);
    if (overwritten > 0) {
        text_add_number_key(out, "overwritten", overwritten);
    }
    text_add(out, "\n");
    return true;
}

static bool command_history_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct history_answer *history = container_of(answer, struct history_answer, answer);
    history->has_head = history->has_head || add_head(history, out, moment);
    return !history->has_head ||
        ended_lines_write(history->server, &history->filter, &history->position, UINT64_MAX, moment,
            out, enough);
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
static bool take_keys(struct call *call, struct ended_filter *filter)
{
    const char *const *keys = call->request->keys;
    const char *since = keys[KEY_INDEX_since], *user = keys[KEY_INDEX_user];
    const char *lease = keys[KEY_INDEX_lease];
    uint64_t milliseconds = 0, uid = 0;
    filter->has_user = user;
    filter->has_lease = lease;
    const char *wrong = since && !number_parse(since, NEVER / 1000000, &milliseconds) ? "since"
        : user && !number_parse(user, UINT32_MAX, &uid)                               ? "user"
        : lease && !remote_is_elsewhere(call->server, lease) &&
                !remote_parse_own(call->server, lease, &filter->lease)
            ? "lease"
                                                                                      : NULL;
    if (wrong) {
        call_refuse(call, CODE_BAD_VALUE, wrong);
        return false;
    }
    nanoseconds span = (nanoseconds)milliseconds * 1000000;
    filter->user = (uint32_t)uid;
    filter->since = since && span < call->now ? call->now - span : 0;
    return true;
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
    struct history_answer asked = {.answer = {.kind = &history_kind}, .server = call->server};
    if (!take_keys(call, &asked.filter) || !call_check_asked_names(call)) {
        return;
    }
    if (lease && remote_is_elsewhere(call->server, lease)) {
        remote_look_up(call, lease, answer_whose);
        return;
    }
    struct history_answer *history = memory_new(sizeof *history);
    *history = asked;
    asked_names_init(&history->filter.asked, request->arguments, request->n_arguments);
    conn_begin_long(call->conn, &history->answer);
}
