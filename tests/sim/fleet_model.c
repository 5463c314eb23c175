/* fleet_model.c - the data of the simulated database, and the frame of a call. */
#include "fleet_model_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- replies ---- */

void say(struct call *call, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_add_bytes(call->reply, line, strlen(line) + 1);
    call->n++;
}

uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* ---- sessions ---- */

uint32_t find_session(const struct model *data, const char *name)
{
    uint32_t i = 0;
    while (i < N_MODEL_SESSIONS &&
        !(data->sessions[i].is_known && strcmp(data->sessions[i].name, name) == 0)) {
        i++;
    }
    return i;
}

void emit(struct call *call, uint32_t session, const char *text)
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

void forget_events(struct model *data, uint32_t session, uint64_t up_to)
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

struct model_lease *find_lease(struct model *data, uint32_t session, const char *id)
{
    for (size_t i = 0; i < data->n_leases; i++) {
        if (data->leases[i].session == session && strcmp(data->leases[i].id, id) == 0) {
            return &data->leases[i];
        }
    }
    return NULL;
}

void drop(struct model *data, struct model_lease *lease)
{
    size_t i = (size_t)(lease - data->leases);
    memmove(lease, lease + 1, (--data->n_leases - i) * sizeof *lease);
}

struct model_lease *add(struct model *data, const struct model_lease *lease)
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

bool wants(const struct model_lease *lease, uint32_t resource)
{
    bool any = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        any |= lease->claims[i].resource == resource;
    }
    return any;
}

bool is_before(const struct model_lease *a, const struct model_lease *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->ticket < b->ticket;
}

bool is_first(const struct model *data, const struct model_lease *lease)
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

bool take_units(struct call *call, struct model_lease *lease)
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

void write_claims(struct text *out, const struct model_lease *lease)
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

void settle(struct call *call)
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
    data->sequence++;
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

void answer(struct call *call, const char *word)
{
    const struct model *data = call->data;
    int64_t grace = data->grace == 0 ? 0
        : data->grace > data->clock  ? data->grace - data->clock
                                     : 1;
    say(call, "%s", word);
    say(call, "%lld", (long long)due(data));
    say(call, "%lld", (long long)grace);
    say(call, "%ju", (uintmax_t)data->sequence);
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
    } else {
        run(&call, script, now);
    }
    *np = call.n;
}
