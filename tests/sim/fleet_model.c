#include "fleet_model.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 100, HEAD = 4, LISTED = 10, ASKED = 5 };

struct call {
    struct model_server *server;
    struct model *data;
    size_t argc;
    const char *const *argv;
    struct text *reply;
    size_t n;
    uint32_t me; /* session; N_MODEL_SESSIONS: not known */
};

/* ---- replies ---- */

__attribute__((format(printf, 2, 3))) static void say(struct call *call, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_add_bytes(call->reply, line, strlen(line) + 1);
    call->n++;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* ---- sessions ---- */

static uint32_t find_session(const struct model *data, const char *name)
{
    uint32_t i = 0;
    while (i < N_MODEL_SESSIONS &&
        !(data->sessions[i].is_known && strcmp(data->sessions[i].name, name) == 0)) {
        i++;
    }
    return i;
}

static void emit(struct call *call, uint32_t session, const char *text)
{
    struct model *data = call->data;
    char message[EVENT_BYTES + 16];
    assert(data->n_events < N_MODEL_EVENTS);
    struct model_event *event = &data->events[data->n_events++];
    event->session = session;
    event->number = ++data->sessions[session].n_events;
    snprintf(event->text, sizeof event->text, "%s", text);
    snprintf(message, sizeof message, "%012ju %s", (uintmax_t)event->number, text);
    call->server->publish(call->server->context, session, message);
}

static void forget_events(struct model *data, uint32_t session, uint64_t up_to)
{
    size_t n = 0;
    for (size_t i = 0; i < data->n_events; i++) {
        if (data->events[i].session != session || data->events[i].number > up_to) {
            data->events[n++] = data->events[i];
        }
    }
    data->n_events = n;
}

/* ---- leases ---- */

static struct model_lease *find_lease(struct model *data, uint32_t session, const char *id)
{
    for (size_t i = 0; i < data->n_leases; i++) {
        if (data->leases[i].session == session && strcmp(data->leases[i].id, id) == 0) {
            return &data->leases[i];
        }
    }
    return NULL;
}

static void drop(struct model *data, struct model_lease *lease)
{
    size_t i = (size_t)(lease - data->leases);
    memmove(lease, lease + 1, (--data->n_leases - i) * sizeof *lease);
}

static struct model_lease *add(struct model *data, const struct model_lease *lease)
{
    assert(data->n_leases < N_MODEL_LEASES);
    data->leases[data->n_leases] = *lease;
    return &data->leases[data->n_leases++];
}

static uint32_t taken(const struct model *data, uint32_t resource)
{
    uint32_t units = 0;
    for (size_t i = 0; i < data->n_leases; i++) {
        const struct model_lease *lease = &data->leases[i];
        for (size_t k = 0; lease->is_held && k < lease->n_claims; k++) {
            units |= lease->claims[k].resource == resource ? lease->claims[k].units : 0;
        }
    }
    return units;
}

static uint32_t pick(uint32_t units, uint32_t limit, uint32_t count)
{
    uint32_t picked = 0;
    for (uint32_t slot = 0; slot < limit && count > 0; slot++) {
        if (!(units >> slot & 1)) {
            picked |= UINT32_C(1) << slot;
            count--;
        }
    }
    return count == 0 ? picked : 0;
}

static bool wants(const struct model_lease *lease, uint32_t resource)
{
    bool any = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        any |= lease->claims[i].resource == resource;
    }
    return any;
}

static bool is_before(const struct model_lease *a, const struct model_lease *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->ticket < b->ticket;
}

/* Nobody who waits for one of its resources is before it. */
static bool is_first(const struct model *data, const struct model_lease *lease)
{
    for (size_t i = 0; i < data->n_leases; i++) {
        const struct model_lease *other = &data->leases[i];
        for (size_t k = 0; !other->is_held && k < lease->n_claims; k++) {
            if (wants(other, lease->claims[k].resource) && is_before(other, lease)) {
                return false;
            }
        }
    }
    return true;
}

static bool take_units(struct call *call, struct model_lease *lease)
{
    struct model *data = call->data;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        uint32_t limit = call->server->limits[claim->resource];
        if (!pick(taken(data, claim->resource), limit, claim->count)) {
            return false;
        }
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        claim->units =
            pick(taken(data, claim->resource), call->server->limits[claim->resource], claim->count);
        claim->token = ++data->number;
    }
    lease->is_held = true;
    return true;
}

static void write_claims(struct text *out, const struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        const char *before = "";
        text_add_format(out, "%sr%u %u %ju ", i > 0 ? "|" : "", claim->resource, claim->count,
            (uintmax_t)claim->token);
        for (uint32_t slot = 0; slot < 32; slot++) {
            if (claim->units >> slot & 1) {
                text_add_format(out, "%s%u", before, slot);
                before = ",";
            }
        }
    }
}

static void emit_granted(struct call *call, const struct model_lease *lease)
{
    struct text out = TEXT_INIT;
    text_add_format(&out, "granted %s %ju ", lease->id, (uintmax_t)lease->ticket);
    write_claims(&out, lease);
    emit(call, lease->session, out.bytes);
    text_deinit(&out);
}

/* Grants all that can be granted, in order. */
static void settle(struct call *call)
{
    struct model *data = call->data;
    bool again = data->grace == 0;
    while (again) {
        again = false;
        for (size_t i = 0; i < data->n_leases && !again; i++) {
            struct model_lease *lease = &data->leases[i];
            if (!lease->is_held && is_first(data, lease) && take_units(call, lease)) {
                emit_granted(call, lease);
                again = true;
            }
        }
    }
}

/* ---- time ---- */

static void begin_grace(struct call *call)
{
    struct model *data = call->data;
    data->epoch++;
    data->grace = data->clock + data->ttl + data->lag;
    data->run = call->server->run;
    data->number += 1000000;
    call->server->publish(call->server->context, UINT32_MAX, "hello");
}

static void purge(struct model *data)
{
    for (uint32_t i = 0; i < N_MODEL_SESSIONS; i++) {
        bool is_dead = data->sessions[i].is_known && data->sessions[i].expiry <= data->clock;
        for (size_t k = data->n_leases; is_dead && k-- > 0;) {
            if (data->leases[k].session == i) {
                drop(data, &data->leases[k]);
            }
        }
        if (is_dead) {
            forget_events(data, i, UINT64_MAX);
            data->sessions[i] = (struct model_session){0};
        }
    }
}

static void catch_up(struct call *call, int64_t now)
{
    struct model *data = call->data;
    int64_t step = now - data->last, most = data->ttl * 16 / 100 + 250;
    data->clock += step < 0 ? 0 : step > most ? most : step;
    data->last = now;
    if (data->run != call->server->run) {
        begin_grace(call);
    } else if (data->grace != 0 && data->clock >= data->grace) {
        data->grace = 0;
        for (uint32_t i = 0; i < N_MODEL_SESSIONS; i++) {
            if (data->sessions[i].epoch != data->epoch) {
                data->sessions[i].expiry = 0;
            }
        }
    }
    if (data->grace == 0) {
        purge(data);
    }
}

static int64_t due(const struct model *data)
{
    int64_t at = INT64_MAX;
    bool any_waits = false;
    if (data->grace != 0) {
        return data->grace > data->clock ? data->grace - data->clock : 1;
    }
    for (size_t i = 0; i < data->n_leases; i++) {
        any_waits |= !data->leases[i].is_held;
    }
    for (size_t i = 0; i < N_MODEL_SESSIONS; i++) {
        const struct model_session *session = &data->sessions[i];
        at = session->is_known && session->expiry < at ? session->expiry : at;
    }
    return !any_waits || at == INT64_MAX ? -1 : at > data->clock ? at - data->clock + 1 : 1;
}

static void answer(struct call *call, const char *word)
{
    const struct model *data = call->data;
    int64_t grace = data->grace == 0 ? 0
        : data->grace > data->clock  ? data->grace - data->clock
                                     : 1;
    say(call, "%s", word);
    say(call, "%lld", (long long)due(data));
    say(call, "%lld", (long long)grace);
}

/* ---- hello ---- */

static void say_begun(struct call *call, uint64_t incarnation, uint64_t newest, bool is_new)
{
    answer(call, "ok");
    say(call, "%ju", (uintmax_t)incarnation);
    say(call, "%lld", (long long)call->data->ttl);
    say(call, "%ju", (uintmax_t)newest);
    say(call, "%d", is_new);
}

static void begin(struct call *call)
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

static void hello(struct call *call)
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

static void acquire(struct call *call)
{
    answer(call, "ok");
    for (size_t i = HEAD; i < call->argc;) {
        struct model_lease lease;
        bool wants_now = strcmp(call->argv[i + 1], "1") == 0;
        i += read_asked(call, call->argv + i, &lease);
        acquire_one(call, &lease, wants_now);
    }
}

static void release(struct call *call)
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

static void renew(struct call *call)
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

/* ---- the frame ---- */

static const char *check_me(struct call *call)
{
    const struct model *data = call->data;
    const struct model_session *me = &data->sessions[call->me];
    uint64_t incarnation = number(call->argv[3]);
    if (call->me == N_MODEL_SESSIONS) {
        return "hello";
    }
    return me->incarnation > incarnation ? "stale"
        : me->incarnation < incarnation || me->epoch != data->epoch || me->expiry <= data->clock
        ? "hello"
        : NULL;
}

static void run(struct call *call, enum script script, int64_t now)
{
    static void (*const table[N_SCRIPTS])(struct call *) = {[SCRIPT_HELLO] = hello,
        [SCRIPT_ACQUIRE] = acquire,
        [SCRIPT_RELEASE] = release,
        [SCRIPT_RENEW] = renew};
    bool is_begin = script == SCRIPT_HELLO && strcmp(call->argv[HEAD], "begin") == 0;
    if (!call->data->exists && !is_begin) {
        say(call, "hello");
        return;
    }
    if (!call->data->exists) {
        *call->data = (struct model){.exists = true,
            .ttl = (int64_t)number(call->argv[5]),
            .lag = (int64_t)number(call->argv[6]),
            .clock = now,
            .last = now,
            .ticket = 0};
        begin_grace(call);
    }
    catch_up(call, now);
    call->me = find_session(call->data, call->argv[2]);
    const char *wrong = is_begin ? NULL : check_me(call);
    if (wrong) {
        settle(call);
        say(call, "%s", wrong);
    } else if (is_begin) {
        begin(call);
    } else {
        table[script](call);
    }
}

void model_call(struct model_server *server, enum script script, size_t argc,
    const char *const argv[], int64_t now, struct text *reply, size_t *np)
{
    struct call call = {
        .server = server, .data = &server->data, .argc = argc, .argv = argv, .reply = reply};
    if (server->refuses_writes && script != SCRIPT_RENEW && script != SCRIPT_RELEASE) {
        say(&call, "-OOM command not allowed when used memory > 'maxmemory'.");
    } else if (strtoull(argv[1], NULL, 10) != server->run) {
        say(&call, "-ERR a call of another server's connection");
    } else {
        run(&call, script, now);
    }
    *np = call.n;
}
