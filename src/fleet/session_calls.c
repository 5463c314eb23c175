/* session_calls.c - which calls are in flight, and whose answers come. */
#include "fleet/session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kind_row {
    enum script script;
    /* The answer's word comes with times. Returns NULL, or what is wrong with the answer. */
    const char *(*answered)(struct session *session, struct flight *call,
        const struct answer *answer, nanoseconds now, struct effects *effects);
    /* The server returned an error, but the link goes on: whether the call took effect is
     * unknown. */
    void (*failed)(struct session *session, struct flight *call, const struct answer *answer,
        nanoseconds now, struct effects *effects);
    /* The call had no effect; everything is listed again before it is repeated. */
    void (*undone)(struct session *session, struct flight *call);
};

static const struct kind_row kind_table[N_CALL_KINDS] = {
    [CALL_BEGIN] = {SCRIPT_HELLO, begin_is_answered, hello_has_failed, hello_is_undone},
    [CALL_NEWS] = {SCRIPT_HELLO, news_are_answered, hello_has_failed, hello_is_undone},
    [CALL_CHANGE] = {SCRIPT_HELLO, change_is_answered, hello_has_failed, hello_is_undone},
    [CALL_DEFINE] = {SCRIPT_HELLO, define_is_answered, hello_has_failed, hello_is_undone},
    [CALL_LIST] = {SCRIPT_HELLO, list_is_answered, hello_has_failed, hello_is_undone},
    [CALL_END] = {SCRIPT_HELLO, end_is_answered, hello_has_failed, hello_is_undone},
    [CALL_RENEW] = {SCRIPT_RENEW, renewal_is_answered, renewal_has_failed, renewal_is_undone},
    [CALL_ACQUIRE] = {SCRIPT_ACQUIRE, acquire_is_answered, acquire_has_failed, acquire_is_undone},
    [CALL_RELEASE] = {SCRIPT_RELEASE, release_is_answered, release_has_failed, release_is_undone},
    [CALL_ADMIN] = {SCRIPT_ADMIN, admin_is_answered, request_has_failed, request_is_undone},
    [CALL_SNAPSHOT] = {SCRIPT_SNAPSHOT, snapshot_is_answered, request_has_failed,
        request_is_undone},
};

enum script flight_script(const struct flight *call)
{
    return kind_table[call->kind].script;
}

/* ---- sending ---- */

struct flight *flight_new(enum call_kind kind, size_t n_entries)
{
    struct flight *call = memory_new(sizeof *call + n_entries * sizeof call->entries[0]);
    call->kind = kind;
    return call;
}

bool flight_takes(struct flight *call, struct entry *entry, size_t most)
{
    if (call->n == most || (call->n > 0 && call->weight + entry->weight > MOST_WEIGHT)) {
        return false;
    }
    call->weight += entry->weight;
    call->entries[call->n++] = entry;
    return true;
}

struct arguments *flight_arguments(struct session *session)
{
    struct arguments *arguments = &session->calls.arguments;
    arguments_clear(arguments);
    arguments_add_numbers(arguments, LAYOUT_FROM, LAYOUT_TO);
    arguments_add_numbers(arguments, session->reached.sequence, session->reached.event);
    arguments_add(arguments, session->id);
    arguments_add_number(arguments, session->tenure.incarnation);
    return arguments;
}

void flight_send(
    struct session *session, struct flight *call, nanoseconds now, struct session_call *out)
{
    struct arguments *arguments = &session->calls.arguments;
    call->tag = ++session->calls.last_tag;
    call->sent_at = now;
    TAILQ_INSERT_TAIL(&session->calls.in_flight, call, link);
    table_insert(&session->calls.by_tag, &call->by_tag, hash_number(call->tag));
    session->calls.n_in_flight++;
    session->calls.n_sent++;
    arguments_finish(arguments);
    *out = (struct session_call){
        .script = flight_script(call),
        .argc = arguments->n,
        .argv = arguments->argv,
        .lengths = arguments->lengths,
        .tag = call->tag,
    };
}

static void flight_unlink(struct session *session, struct flight *call)
{
    TAILQ_REMOVE(&session->calls.in_flight, call, link);
    table_remove(&session->calls.by_tag, &call->by_tag);
    session->calls.n_in_flight--;
}

void flights_forget(struct session *session)
{
    struct flight *call;
    while ((call = TAILQ_FIRST(&session->calls.in_flight))) {
        flight_unlink(session, call);
        free(call);
    }
    table_deinit(&session->calls.by_tag);
}

static struct flight *flight_find(const struct session *session, uint64_t tag)
{
    struct table_node *node = table_find(&session->calls.by_tag, hash_number(tag));
    for (; node; node = table_find_next(node)) {
        struct flight *call = container_of(node, struct flight, by_tag);
        if (call->tag == tag) {
            return call;
        }
    }
    return NULL;
}

/* ---- answers ---- */

static void take_times(struct session *session, const struct answer *answer, nanoseconds now)
{
    session->grace_until = answer->grace == 0 ? NEVER : now + answer->grace;
    session->renewal.due_at = answer->due == NEVER ? NEVER : now + answer->due;
    session->renewal.is_wanted |= answer->due == 0; /* the call has left work */
}

static const char *is_answered(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    take_times(session, answer, now);
    session->reached.sequence =
        answer->sequence > session->reached.sequence ? answer->sequence : session->reached.sequence;
    return kind_table[call->kind].answered(session, call, answer, now, effects);
}

static const char *is_error(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    if (error_classify(answer->text) == ERROR_RESET) {
        return answer->text;
    }
    session_say(session, "%s: %s", script_words[flight_script(call)], answer->text);
    snprintf(session->notices.trouble, sizeof session->notices.trouble, "%.*s",
        (int)sizeof session->notices.trouble - 1, answer->text);
    kind_table[call->kind].failed(session, call, answer, now, effects);
    return NULL;
}

static const char *is_unknown(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    (void)answer, (void)now, (void)effects;
    kind_table[call->kind].undone(session, call);
    listing_begin(session);
    return NULL;
}

static const char *is_stale(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    (void)answer;
    kind_table[call->kind].undone(session, call);
    snprintf(session->link.why, sizeof session->link.why,
        "another berthd uses this one's identity: the same host, socket and runtime directory");
    session_set_useless(session, SESSION_REPLACED, now, effects);
    return NULL;
}

static const char *is_other_layout(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    kind_table[call->kind].undone(session, call);
    snprintf(session->link.why, sizeof session->link.why,
        "its data has layout %.40s, this berthd knows %d to %d", answer->text, LAYOUT_FROM,
        LAYOUT_TO);
    session_set_useless(session, SESSION_DOWN, now, effects);
    return NULL;
}

static const char *(*const answer_table[])(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects) = {
    [ANSWER_OK] = is_answered,
    [ANSWER_REFUSED] = is_answered,
    [ANSWER_HELLO] = is_unknown,
    [ANSWER_STALE] = is_stale,
    [ANSWER_LAYOUT] = is_other_layout,
    [ANSWER_ERROR] = is_error,
};

void session_reply(struct session *session, uint64_t tag, const struct resp *reply, nanoseconds now,
    struct effects *effects)
{
    struct flight *call = flight_find(session, tag);
    struct answer answer;
    if (!call) {
        return;
    }
    flight_unlink(session, call);
    const char *wrong = answer_read(reply, &answer);
    if (!wrong) {
        wrong = answer_table[answer.kind](session, call, &answer, now, effects);
    }
    if (wrong) {
        session_reset(session, "%s: %s", script_words[flight_script(call)], wrong);
    }
    free(call);
}
