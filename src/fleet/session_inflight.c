/* session_inflight.c - the calls whose answers are waited for. */
#include "fleet/session_internal.h"

#include <stdlib.h>

const char *const script_words[N_SCRIPTS] = {
    [SCRIPT_HELLO] = "hello",
    [SCRIPT_ACQUIRE] = "acquire",
    [SCRIPT_RELEASE] = "release",
    [SCRIPT_RENEW] = "renew",
    [SCRIPT_SNAPSHOT] = "snapshot",
    [SCRIPT_ADMIN] = "admin",
};

static const enum script scripts[N_CALL_KINDS] = {
    [CALL_BEGIN] = SCRIPT_HELLO,
    [CALL_NEWS] = SCRIPT_HELLO,
    [CALL_CHANGE] = SCRIPT_HELLO,
    [CALL_DEFINE] = SCRIPT_HELLO,
    [CALL_LIST] = SCRIPT_HELLO,
    [CALL_END] = SCRIPT_HELLO,
    [CALL_RENEW] = SCRIPT_RENEW,
    [CALL_ACQUIRE] = SCRIPT_ACQUIRE,
    [CALL_RELEASE] = SCRIPT_RELEASE,
    [CALL_ADMIN] = SCRIPT_ADMIN,
    [CALL_SNAPSHOT] = SCRIPT_SNAPSHOT,
};

enum script inflight_call_script(const struct inflight_call *call)
{
    return scripts[call->kind];
}

bool inflight_call_is_request(const struct inflight_call *call)
{
    return call->kind >= CALL_ACQUIRE;
}

bool is_in_flight(const struct session *session, enum call_kind first, enum call_kind last)
{
    size_t n = 0;
    for (enum call_kind kind = first; kind <= last; kind++) {
        n += session->calls.n_of_kind[kind];
    }
    return n > 0;
}

struct inflight_call *inflight_call_new(enum call_kind kind, size_t n_entries)
{
    struct inflight_call *call = memory_new(sizeof *call + n_entries * sizeof call->entries[0]);
    call->kind = kind;
    return call;
}

bool inflight_call_takes(struct inflight_call *call, struct entry *entry, size_t max)
{
    if (call->n == max || (call->n > 0 && call->weight + entry->weight > MAX_WEIGHT)) {
        return false;
    }
    call->weight += entry->weight;
    call->entries[call->n++] = entry;
    return true;
}

struct arguments *inflight_call_arguments(struct session *session)
{
    struct arguments *arguments = &session->calls.arguments;
    const uint64_t layouts[] = {session->layouts.from, session->layouts.to};
    const uint64_t reached[] = {session->reached.sequence, session->reached.event,
        (uint64_t)(session->now / NANOSECONDS_PER_MILLISECOND)};
    arguments_clear(arguments);
    arguments_add_numbers(arguments, 2, layouts);
    arguments_add_numbers(arguments, 3, reached);
    arguments_add(arguments, session->id);
    arguments_add_number(arguments, session->tenure.incarnation);
    return arguments;
}

bool inflight_call_send(
    struct session *session, struct inflight_call *call, struct session_call *out)
{
    struct arguments *arguments = &session->calls.arguments;
    call->tag = ++session->calls.last_tag;
    call->sent_at = session->now;
    call->is_of_hello = session->state == SESSION_LISTING && call->kind <= CALL_END;
    TAILQ_INSERT_TAIL(&session->calls.in_flight, call, link);
    table_insert(&session->calls.by_tag, &call->by_tag, hash_number(call->tag));
    session->calls.n_in_flight++;
    session->calls.n_of_kind[call->kind]++;
    session->calls.n_requests += inflight_call_is_request(call);
    session->calls.n_sent++;
    arguments_finish(arguments);
    *out = (struct session_call){
        .script = inflight_call_script(call),
        .layout = session->layout,
        .argc = arguments->n,
        .argv = arguments->argv,
        .lengths = arguments->lengths,
        .tag = call->tag,
    };
    return true;
}

static void inflight_call_unlink(struct session *session, struct inflight_call *call)
{
    TAILQ_REMOVE(&session->calls.in_flight, call, link);
    table_remove(&session->calls.by_tag, &call->by_tag);
    session->calls.n_in_flight--;
    session->calls.n_of_kind[call->kind]--;
    session->calls.n_requests -= inflight_call_is_request(call);
}

void inflight_calls_forget(struct session *session)
{
    struct inflight_call *call;
    while ((call = TAILQ_FIRST(&session->calls.in_flight))) {
        inflight_call_unlink(session, call);
        free(call);
    }
    table_deinit(&session->calls.by_tag);
}

struct inflight_call *inflight_call_take(struct session *session, uint64_t tag)
{
    struct table_node *node = table_find_number(&session->calls.by_tag, tag);
    struct inflight_call *call = node ? container_of(node, struct inflight_call, by_tag) : NULL;
    if (call) {
        inflight_call_unlink(session, call);
    }
    return call;
}
