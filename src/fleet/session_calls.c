/* session_calls.c - what an answer means: to the kind of call that it is the answer to. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kind_row {
    call_is_answered *answered;
    call_has_failed *failed;
};

static const struct kind_row kind_table[N_CALL_KINDS] = {
    [CALL_BEGIN] = {begin_is_answered, hello_has_failed},
    [CALL_NEWS] = {news_are_answered, hello_has_failed},
    [CALL_CHANGE] = {change_is_answered, hello_has_failed},
    [CALL_DEFINE] = {define_is_answered, hello_has_failed},
    [CALL_LIST] = {list_is_answered, hello_has_failed},
    [CALL_END] = {end_is_answered, hello_has_failed},
    [CALL_RENEW] = {renewal_is_answered, renewal_has_failed},
    [CALL_ACQUIRE] = {acquire_is_answered, acquire_has_failed},
    [CALL_RELEASE] = {release_is_answered, release_has_failed},
    [CALL_ADMIN] = {admin_is_answered, request_has_failed},
    [CALL_SNAPSHOT] = {snapshot_is_answered, request_has_failed},
};

/* ---- answers ---- */

static void take_times(struct session *session, const struct answer *answer)
{
    session->grace_until = answer->grace == 0 ? NEVER : session->now + answer->grace;
    session->is_new = session->is_new && answer->grace != 0;
    session->renewal.due_at = answer->due == NEVER ? NEVER : session->now + answer->due;
    session->renewal.is_wanted |= answer->due == 0; /* the call has left work */
}

static const char *is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    take_times(session, answer);
    session->reached.sequence =
        answer->sequence > session->reached.sequence ? answer->sequence : session->reached.sequence;
    return kind_table[call->kind].answered(session, call, answer);
}

static const char *is_error(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    if (error_needs_reset(answer->text)) {
        return answer->text;
    }
    session_say(session, "%s: %s", script_words[inflight_call_script(call)], answer->text);
    snprintf(session->notices.trouble, sizeof session->notices.trouble, "%.*s",
        (int)sizeof session->notices.trouble - 1, answer->text);
    kind_table[call->kind].failed(session, call, answer);
    return NULL;
}

void call_is_undone(struct session *session, struct inflight_call *call)
{
    for (size_t i = 0; i < call->n; i++) {
        call->entries[i]->is_there &= call->kind != CALL_ACQUIRE;
        entry_is_undone(session, call->entries[i]);
    }
    if (call->request) {
        request_put_back(session, call);
    }
}

static const char *is_unknown(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    call_is_undone(session, call);
    listing_begin(session);
    return NULL;
}

static const char *is_stale(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    call_is_undone(session, call);
    snprintf(session->link.why, sizeof session->link.why,
        "another berthd uses this one's identity: the same host, socket and runtime directory");
    session_set_unusable(session, SESSION_REPLACED);
    return NULL;
}

/* Nothing was touched. An operator has finished an upgrade, or this is the first call, or older
 * data have come back. */
static const char *is_other_layout(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    uint64_t layout;
    call_is_undone(session, call);
    if (number_parse(answer->text, session->layouts.to, &layout) &&
        layout >= session->layouts.from) {
        if (session->state == SESSION_UP) {
            session_say(session, "its data have layout %u now", (unsigned)layout);
        }
        session->layout = (unsigned)layout;
        listing_begin(session);
        return NULL;
    }
    snprintf(session->link.why, sizeof session->link.why,
        "its data has layout %.40s, this berthd knows %u to %u", answer->text,
        session->layouts.from, session->layouts.to);
    session_set_unusable(session, SESSION_DOWN);
    return NULL;
}

static call_is_answered *const answer_table[] = {
    [REPLY_OK] = is_answered,
    [REPLY_REFUSED] = is_answered,
    [REPLY_HELLO] = is_unknown,
    [REPLY_STALE] = is_stale,
    [REPLY_LAYOUT] = is_other_layout,
    [REPLY_ERROR] = is_error,
};

void session_reply(struct session *session, uint64_t tag, const struct resp *reply, nanoseconds now,
    struct effects *effects)
{
    session_at(session, now, effects);
    struct inflight_call *call = inflight_call_take(session, tag);
    struct answer answer;
    if (!call) {
        return;
    }
    session->calls.heard_at = session->now;
    crowd_answers(session, call);
    const char *wrong = answer_read(reply, &answer);
    if (!wrong) {
        wrong = answer_table[answer.kind](session, call, &answer);
    }
    if (wrong) {
        session_reset(session, "%s: %s", script_words[inflight_call_script(call)], wrong);
    }
    free(call);
}
