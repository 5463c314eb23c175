/* fleet_model_calls.c - what each script does. */
#include "fleet_model_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 100, LISTED = 10, ASKED = 5 };

/* ---- hello ---- */

static void say_begun(struct call *call, uint64_t incarnation, uint64_t newest, bool is_new)
{
    answer(call, "ok");
    say(call, "%ju", (uintmax_t)incarnation);
    say(call, "%lld", (long long)call->data->ttl);
    say(call, "%ju", (uintmax_t)newest);
    say(call, "%d", is_new);
}

void begin(struct call *call)
{
    struct model *data = call->data;
    const char *const *argv = call->argv;
    uint64_t token = number(argv[8]), ticket = number(argv[9]);
    uint32_t i = find_session(data, argv[2]);
    bool is_new = i == N_MODEL_SESSIONS;
    for (i = is_new ? 0 : i; data->sessions[i].is_known && is_new; i++) {
    }
    struct model_session *session = &data->sessions[i];
    uint64_t incarnation = number(argv[3]);
    if (!is_new && session->incarnation >= incarnation) {
        say_begun(call, session->incarnation + 1, 0, false);
        return;
    }
    data->number = data->number > token ? data->number : token;
    data->ticket = data->ticket > ticket ? data->ticket : ticket;
    if (is_new) {
        *session = (struct model_session){.is_known = true};
        snprintf(session->name, sizeof session->name, "%s", argv[2]);
    }
    session->incarnation = incarnation;
    session->epoch = data->epoch;
    session->expiry = data->clock + data->ttl;
    settle(call);
    say_begun(call, incarnation, session->n_events, is_new);
}

static void define(struct call *call)
{
    answer(call, "ok");
    for (size_t i = HEAD + 1; i < call->argc; i += 3) {
        say(call, "%s", call->argv[i]);
        say(call, "same");
        say(call, "%s", call->argv[i + 2]);
    }
}

/* "r0 2 17 0,1|..." */
static void read_claims(struct model_lease *lease, const char *text)
{
    char copy[512], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", text);
    while ((word = strsep(&rest, "|"))) {
        struct model_claim *claim = &lease->claims[lease->n_claims++];
        char *name = strsep(&word, " "), *count = strsep(&word, " "), *token = strsep(&word, " ");
        *claim = (struct model_claim){.resource = (uint32_t)number(name + 1),
            .count = (uint32_t)number(count),
            .token = number(token)};
        for (char *unit; strcmp(word ? word : "-", "-") != 0 && (unit = strsep(&word, ","));) {
            claim->units |= UINT32_C(1) << number(unit);
        }
    }
}

/* Of two who say that they have a unit, the one who got it later has it. */
static bool put_back(struct call *call, struct model_lease *lease)
{
    struct model *data = call->data;
    char text[32];
    for (size_t i = data->n_leases; i-- > 0;) {
        struct model_lease *other = &data->leases[i];
        for (size_t k = 0; k < lease->n_claims * other->n_claims; k++) {
            const struct model_claim *mine = &lease->claims[k / other->n_claims];
            const struct model_claim *theirs = &other->claims[k % other->n_claims];
            if (!other->is_held || mine->resource != theirs->resource ||
                !(mine->units & theirs->units)) {
                continue;
            }
            if (theirs->token >= mine->token) {
                return false;
            }
            snprintf(text, sizeof text, "lost %s", other->id);
            emit(call, other->session, text);
            drop(data, other);
            break;
        }
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        data->number =
            data->number > lease->claims[i].token ? data->number : lease->claims[i].token;
    }
    lease->is_held = true;
    add(data, lease);
    return true;
}

static const char *list_one(struct call *call, struct model_lease *lease, bool said_held)
{
    struct model *data = call->data;
    struct model_lease *stored = find_lease(data, lease->session, lease->id);
    if (stored && (stored->is_held || !said_held)) {
        stored->incarnation = lease->incarnation;
        *lease = *stored;
        return stored->is_held ? "held" : "waiting";
    }
    if (stored) {
        drop(data, stored);
    }
    if (said_held) {
        return data->grace != 0 && put_back(call, lease) ? "held" : "lost";
    }
    data->ticket = data->ticket > lease->ticket ? data->ticket : lease->ticket;
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].units = 0;
    }
    add(data, lease);
    return "waiting";
}

static void list(struct call *call)
{
    struct text claims = TEXT_INIT;
    settle(call);
    answer(call, "ok");
    for (size_t i = HEAD + 1; i < call->argc; i += LISTED) {
        const char *const *row = call->argv + i;
        struct model_lease lease = {.session = call->me,
            .incarnation = call->data->sessions[call->me].incarnation,
            .priority = (int32_t)strtol(row[2], NULL, 10),
            .ticket = number(row[3])};
        snprintf(lease.id, sizeof lease.id, "%s", row[0]);
        read_claims(&lease, row[8]);
        const char *word = list_one(call, &lease, strcmp(row[1], "held") == 0);
        claims.length = 0;
        text_add(&claims, "");
        write_claims(&claims, &lease);
        say(call, "%s", lease.id);
        say(call, "%s", word);
        say(call, "%ju", (uintmax_t)lease.ticket);
        say(call, "%s", strcmp(word, "held") == 0 ? claims.bytes : "-");
    }
    text_deinit(&claims);
    settle(call);
}

static void end_listing(struct call *call)
{
    struct model *data = call->data;
    for (size_t i = data->n_leases; i-- > 0;) {
        struct model_lease *lease = &data->leases[i];
        if (lease->session == call->me &&
            lease->incarnation != data->sessions[call->me].incarnation) {
            drop(data, lease);
        }
    }
    settle(call);
    answer(call, "ok");
    say(call, "%s", "");
}

void hello(struct call *call)
{
    const char *phase = call->argv[HEAD];
    call->data->sessions[call->me].expiry = call->data->clock + call->data->ttl;
    if (strcmp(phase, "define") == 0) {
        define(call);
    } else if (strcmp(phase, "lease") == 0) {
        list(call);
    } else {
        assert(strcmp(phase, "end") == 0);
        end_listing(call);
    }
}

/* ---- the others ---- */

static void say_lease(struct call *call, const struct model_lease *lease)
{
    struct text claims = TEXT_INIT;
    if (lease->is_held) {
        write_claims(&claims, lease);
        say(call, "granted");
        say(call, "%ju", (uintmax_t)lease->ticket);
        say(call, "%s", claims.bytes);
    } else {
        uint32_t position = 1;
        for (size_t i = 0; i < call->data->n_leases; i++) {
            const struct model_lease *other = &call->data->leases[i];
            position += !other->is_held && wants(other, lease->claims[0].resource) &&
                is_before(other, lease);
        }
        say(call, "waiting");
        say(call, "%ju", (uintmax_t)lease->ticket);
        say(call, "%u", position);
    }
    text_deinit(&claims);
}

/* ID NOWAIT PRIORITY TICKET UID SHAREDUID HOLDER INFO N {...}*N; returns how many words that is. */
static size_t read_asked(struct call *call, const char *const *argv, struct model_lease *lease)
{
    size_t n = number(argv[8]);
    *lease = (struct model_lease){.session = call->me,
        .incarnation = number(call->argv[3]),
        .priority = (int32_t)strtol(argv[2], NULL, 10),
        .ticket = number(argv[3])};
    snprintf(lease->id, sizeof lease->id, "%s", argv[0]);
    for (size_t i = 0; i < n; i++) {
        const char *const *row = argv + 9 + i * ASKED;
        lease->claims[lease->n_claims++] = (struct model_claim){
            .resource = (uint32_t)number(row[0] + 1), .count = (uint32_t)number(row[2])};
    }
    return 9 + n * ASKED;
}

static void acquire_one(struct call *call, struct model_lease *lease, bool wants_now)
{
    struct model *data = call->data;
    struct model_lease *known = find_lease(data, call->me, lease->id);
    if (known) {
        say_lease(call, known);
        return;
    }
    settle(call);
    if (lease->ticket == 0) {
        lease->ticket = ++data->ticket;
    } else if (lease->ticket > data->ticket) {
        data->ticket = lease->ticket;
    }
    bool granted = data->grace == 0 && is_first(data, lease) && take_units(call, lease);
    if (!granted && wants_now) {
        say(call, "refused");
        say(call, "%s", data->grace != 0 ? "grace" : "would-wait");
        say(call, "r%u", lease->claims[0].resource);
        return;
    }
    say_lease(call, add(data, lease));
}

void acquire(struct call *call)
{
    answer(call, "ok");
    for (size_t i = HEAD; i < call->argc;) {
        struct model_lease lease;
        bool wants_now = strcmp(call->argv[i + 1], "1") == 0;
        i += read_asked(call, call->argv + i, &lease);
        acquire_one(call, &lease, wants_now);
    }
}

void release(struct call *call)
{
    for (size_t i = HEAD; i < call->argc; i++) {
        struct model_lease *lease = find_lease(call->data, call->me, call->argv[i]);
        if (lease) {
            drop(call->data, lease);
        }
    }
    settle(call);
    answer(call, "ok");
}

void renew(struct call *call)
{
    struct model *data = call->data;
    size_t n = 0;
    data->sessions[call->me].expiry = data->clock + data->ttl;
    forget_events(data, call->me, number(call->argv[HEAD]));
    settle(call);
    for (size_t i = 0; i < data->n_events; i++) {
        n += data->events[i].session == call->me;
    }
    answer(call, "ok");
    say(call, "%d", n > MOST_EVENTS);
    for (size_t i = 0, said = 0; i < data->n_events && said < MOST_EVENTS; i++) {
        if (data->events[i].session == call->me) {
            say(call, "%ju", (uintmax_t)data->events[i].number);
            say(call, "%s", data->events[i].text);
            said++;
        }
    }
}
