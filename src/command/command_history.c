/* command_history.c - `history`: leases and waits that are over, oldest first, some at a time. */
#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "journal/record.h"
#include "record/history.h"
#include "status/status_walk.h"
#include "status/ended_line.h"
#include "status/long_answer.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_LOOKED_AT = 512, /* entries of one piece, whatever becomes of them */
    MAX_READ = 16, /* of these, those taken apart: each costs as much as six lines of status */
};

struct history_answer {
    struct long_answer answer;
    struct server *server;
    struct asked_names asked;
    nanoseconds since; /* only what ended after that */
    bool has_user, has_lease;
    bool has_head; /* the first line is made */
    uint32_t user;
    uint64_t lease;
    uint64_t position; /* in the ring */
};

/* ---- which entries ---- */

static bool is_asked_by_key(
    const struct history_answer *history, const struct history_entry *entry)
{
    return entry->ended_at >= history->since &&
        (!history->has_user || entry->uid == history->user) &&
        (!history->has_lease || entry->lease == history->lease);
}

static bool is_asked_by_name(const struct asked_names *asked, const struct saved_lease *saved)
{
    bool is_asked = false;
    for (size_t i = 0; i < saved->n_claims; i++) {
        is_asked |= asked_names_has(asked, saved->claims[i].name);
    }
    return is_asked;
}

/* ---- lines ---- */

/* `oldest` is the lease that ended first of those that are still kept; NULL: none is. */
static void add_head(struct history_answer *history, struct text *out,
    const struct history_entry *oldest, const struct answer_moment *moment)
{
    if (history->has_head) {
        return;
    }
    history->has_head = true;
    text_add(out, "ok");
    text_add_number_key(out, "now", wall_milliseconds(moment->now, moment));
    if (oldest) {
        text_add_number_key(out, "since", wall_milliseconds(oldest->ended_at, moment));
    }
    text_add(out, "\n");
}

/* Returns whether the entry had to be taken apart. */
static bool add_entry(const struct history_answer *history, struct text *out,
    const struct history_entry *entry, const struct answer_moment *moment)
{
    struct saved_lease *lease =
        is_asked_by_key(history, entry) ? record_read(entry->record, entry->record_length) : NULL;
    if (lease && is_asked_by_name(&history->asked, lease)) {
        const struct ended_lease ended = {entry, lease, record_database(lease)};
        ended_line_write(out, &ended, history->server->core, moment);
    }
    record_free(lease);
    return lease;
}

/* ---- pieces ---- */

static bool command_history_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct history_answer *history = container_of(answer, struct history_answer, answer);
    const struct history *kept = history->server->history;
    unsigned n_left = MAX_LOOKED_AT, n_read = 0;
    struct history_entry entry;
    while (n_read < MAX_READ && out->length < enough &&
        history_next_ended(kept, &history->position, &n_left, &entry)) {
        add_head(history, out, &entry, moment);
        n_read += add_entry(history, out, &entry, moment);
    }
    bool has_more = n_read == MAX_READ || out->length >= enough || n_left == 0;
    if (!has_more) {
        add_head(history, out, NULL, moment);
    }
    return has_more;
}

static void free_answer(struct long_answer *answer)
{
    struct history_answer *history = container_of(answer, struct history_answer, answer);
    asked_names_deinit(&history->asked);
    free(history);
}

static const struct long_answer_kind history_kind = {
    .more = command_history_make_piece, .free = free_answer};

/* ---- the request ---- */

/* False, after an answer, if a key has no good value. */
static bool take_keys(struct call *call, struct history_answer *history)
{
    const char *const *keys = call->request->keys;
    const char *since = keys[KEY_INDEX_since], *user = keys[KEY_INDEX_user];
    const char *lease = keys[KEY_INDEX_lease];
    uint64_t milliseconds = 0, uid = 0;
    history->has_user = user;
    history->has_lease = lease;
    const char *wrong = since && !number_parse(since, NEVER / 1000000, &milliseconds) ? "since"
        : user && !number_parse(user, UINT32_MAX, &uid)                               ? "user"
        : lease && !lease_id_parse(lease, &history->lease)                            ? "lease"
                                                                                      : NULL;
    if (wrong) {
        call_refuse(call, CODE_BAD_VALUE, wrong);
        return false;
    }
    nanoseconds span = (nanoseconds)milliseconds * 1000000;
    history->user = (uint32_t)uid;
    history->since = since && span < call->now ? call->now - span : 0;
    return true;
}

void command_history(struct call *call)
{
    const struct request *request = call->request;
    struct history_answer asked = {.answer = {.kind = &history_kind}, .server = call->server};
    if (!take_keys(call, &asked) || !call_check_asked_names(call)) {
        return;
    }
    struct history_answer *history = memory_new(sizeof *history);
    *history = asked;
    asked_names_init(&history->asked, request->arguments, request->n_arguments);
    conn_begin_long(call->conn, &history->answer);
}
