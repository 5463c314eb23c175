#include "redis/link.h"

#include "base/clock.h"
#include "base/memory.h"
#include "redis/link_internal.h"
#include "redis/secret.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PAUSE (100 * NANOSECONDS_PER_MILLISECOND)
#define LONGEST_PAUSE (5 * NANOSECONDS_PER_SECOND)
/* CLUSTER SLOTS has a row for each range: 16384 at worst, each with some nodes and their names. */
enum { LARGEST_CLUSTER_SLOTS = 16 * 1024 * 1024 };

/* ---- giving up ---- */

/* A Sentinel that is cut off names yesterday's master: the next try asks another one first. */
static void link_judge_sentinel(struct link *link, bool was_right)
{
    if (link->is_named && was_right) {
        sentinel_order_first(&link->order, link->named_by);
    } else if (link->is_named) {
        sentinel_order_last(&link->order, link->named_by);
    }
    link->is_named = false;
}

static void link_drop(struct link *link)
{
    link->load = tls_load_cancel(link->load);
    link->sentinel = sentinel_cancel(link->sentinel);
    link->dial = dial_cancel(link->dial);
    link->commands = stream_close(link->commands);
    link->messages = stream_close(link->messages);
    calls_clear(&link->calls);
    calls_clear(&link->postponed);
    link->n_postponed = 0;
    link->loading = NULL;
    link->same.is_asked = false;
}

static void link_on_timer(uv_timer_t *timer);

void link_fail(struct link *link, const char *why)
{
    if (link->state != LINK_CONNECTING && link->state != LINK_UP) {
        return;
    }
    if (link->state == LINK_UP &&
        (uv_now(link->loop) - link->up_since) * 1000000 >=
            (uint64_t)link->longest_pause) {
        backoff_reset(&link->backoff);
    }
    link->was_up = link->state == LINK_UP;
    link_judge_sentinel(link, false);
    if (link->database->is_cluster) {
        route_failed(&link->route, link->state == LINK_UP);
    }
    format_one_line(link->why, sizeof link->why, "%s: %s", link->info.address, why);
    link->refused = false;
    link_drop(link);
    link->state = LINK_FAILED;
    uv_timer_start(&link->timer, link_on_timer, 0, 0);
}

void link_spread(struct link *link, nanoseconds span)
{
    link->spread = span;
}

static void on_broken(void *context, const char *why)
{
    link_fail(context, why);
}

static void on_step_timer(void *context)
{
    link_fail(context, "no answer in time");
}

/* ---- making a connection ready ---- */

/* Reads the password file, if there is one. False: the link has failed. */
static bool read_password(
    struct link *link, const char *file, const char *otherwise, char **passwordp)
{
    char why[ONE_LINE_BYTES];
    if (!file) {
        *passwordp = memory_string(otherwise);
        return true;
    }
    bool good = secret_read(file, passwordp, why, sizeof why);
    if (!good) {
        link_fail(link, why);
    }
    return good;
}

static void handshake_send(struct link *link, struct stream *stream)
{
    struct text out = TEXT_INIT;
    struct handshake_wish wish = {
        .user = link->database->url.user,
        .client_name = link->client_name,
        .db = link->database->url.db,
        .may_fail_over = link->database->url.scheme == REDIS_SENTINEL,
        .acknowledged = link->database->acknowledged,
        .keys = &link->keys,
        .known = &link->known,
        .cluster = link->database->is_cluster ? &link->route : NULL,
        .set = link->set,
    };
    char *password;
    if (!read_password(
            link, link->database->password_file, link->database->url.password, &password)) {
        return;
    }
    wish.password = password;
    if (link->database->is_cluster) {
        stream_set_bound(stream, LARGEST_CLUSTER_SLOTS);
    }
    if (stream == link->commands) {
        handshake_commands(&link->ready, &wish, &out);
    } else {
        handshake_messages(&link->ready, &wish, &out);
    }
    secret_free(password);
    stream_send_text(stream, &out);
    stream_set_timer(stream, link->timeout);
}

/* True: the connection is ready. */
static bool handshake_take(struct link *link, struct stream *stream, const struct resp *reply)
{
    struct text out = TEXT_INIT;
    enum handshake_result result = handshake_reply(&link->ready, reply, &out);
    if (link->ready.map.n > 0) {
        link->route.map = link->ready.map;
    }
    if (result == HANDSHAKE_FAILED && link->ready.redirection.kind != REDIRECTION_NONE) {
        link_redirected(link, &link->ready.redirection, link->ready.why);
    } else if (result == HANDSHAKE_FAILED) {
        link_fail(link, link->ready.why);
        link->refused = link->ready.refused;
    } else {
        stream_send_text(stream, &out);
        stream_set_timer(stream, link->timeout);
    }
    return result == HANDSHAKE_DONE;
}

/* ---- the connection for messages, the second one ---- */

static void on_messages_connected(void *context)
{
    struct link *link = context;
    handshake_send(link, link->messages);
}

static void link_is_up(struct link *link)
{
    link->state = LINK_UP;
    link_judge_sentinel(link, true);
    link->up_since = uv_now(link->loop);
    stream_set_bound(link->commands, RESP_MAX_BYTES);
    stream_set_bound(link->messages, RESP_MAX_BYTES);
    link_heartbeat_begin(link);
    link->events->on_ready(link->context, &link->info);
}

static void messages_are_ready(struct link *link)
{
    struct text out = TEXT_INIT;
    uint64_t random = 0;
    if (link->known.run_id[0]) {
        link_is_up(link);
        return;
    }
    uv_random(NULL, NULL, &random, sizeof random, 0, NULL);
    same_server_ask(&link->same, link->keys.channels[CHANNEL_OWN], random, &out);
    stream_send_text(link->commands, &out); /* the timer of the other connection runs */
}

static void link_settle(struct link *link, enum same_result result)
{
    if (result == SAME_FAILED) {
        link_fail(link, link->same.why);
    } else if (result == SAME_YES) {
        link_is_up(link);
    }
}

static void on_messages_reply(void *context, const struct resp *reply)
{
    struct link *link = context;
    if (link->state == LINK_UP) {
        link_take_message(link, reply);
    } else if (link->same.is_asked) {
        link_settle(link, same_server_message(&link->same, reply));
    } else if (handshake_take(link, link->messages, reply)) {
        messages_are_ready(link);
    }
}

static void on_messages_timer(void *context)
{
    struct link *link = context;
    if (link->state == LINK_UP) {
        link_heartbeat_tick(link);
    } else if (link->same.is_asked) {
        link_fail(link, "the two connections reach different servers: a message is lost");
    } else {
        on_step_timer(link);
    }
}

static const struct stream_events messages_events = {
    .on_connected = on_messages_connected,
    .on_reply = on_messages_reply,
    .on_timer = on_messages_timer,
    .on_broken = on_broken,
};

/* ---- the connection for commands ---- */

static void note_lacking(struct link *link)
{
    struct text words = TEXT_INIT;
    abilities_add_lacking(&link->known.abilities, &words);
    format_one_line(
        link->info.lacks, sizeof link->info.lacks, "%s", words.length > 0 ? words.bytes : "");
    text_deinit(&words);
}

static void commands_are_ready(struct link *link)
{
    const struct server_check *guard = &link->ready.guard;
    link->known = link->ready.server;
    link->has_library = link->ready.loading == LOADING_HAS_LIBRARY;
    memcpy(link->info.run_id, guard->run_id, sizeof link->info.run_id);
    memcpy(link->info.version, guard->version, sizeof link->info.version);
    memcpy(link->info.warning, guard->warning, sizeof link->info.warning);
    link->info.unwritable = link->ready.unwritable;
    link->info.lacks_history = abilities_lack(&link->known.abilities, ABILITY_script_history);
    note_lacking(link);
    stream_set_timer(link->commands, 0);
    link->messages = stream_again(link->commands, &messages_events, link);
    stream_set_timer(link->messages, link->timeout);
}

static void on_commands_reply(void *context, const struct resp *reply)
{
    struct link *link = context;
    if (link->state == LINK_UP) {
        link_take_reply(link, reply);
    } else if (link->same.is_asked) {
        link_settle(link, same_server_reply(&link->same, reply));
    } else if (link->messages) {
        link_fail(link, "an unexpected reply");
    } else if (handshake_take(link, link->commands, reply)) {
        commands_are_ready(link);
    }
}

static const struct stream_events commands_events = {
    .on_reply = on_commands_reply,
    .on_timer = on_step_timer,
    .on_broken = on_broken,
};

static void on_dialed(void *context, struct stream *stream, const char *why)
{
    struct link *link = context;
    link->dial = NULL;
    if (!stream) {
        link_fail(link, why);
        return;
    }
    link->commands = stream;
    stream_hand_over(stream, &commands_events, link);
    handshake_send(link, stream);
}

/* ---- trying ---- */

static void dial_host(struct link *link, const char *host, uint16_t port)
{
    format_one_line(link->info.address, sizeof link->info.address,
        strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    link->dial = dial_tcp(link->loop, host, port, link->tls, link->timeout, on_dialed, link);
}

static void dial_node(struct link *link)
{
    const struct cluster_node *node = route_choose(&link->route);
    dial_host(link, node->host, node->port);
}

void link_redirected(struct link *link, const struct redirection *redirection, const char *error)
{
    char why[ONE_LINE_BYTES], trouble[ONE_LINE_BYTES / 2];
    struct route *route = &link->route;
    enum route_step step = route_take(route, redirection, clock_wall_now());
    if (step == ROUTE_FOLLOW && link->state == LINK_CONNECTING) {
        link_drop(link); /* nobody has heard of this try */
        dial_node(link);
        return;
    }
    if (step == ROUTE_STAY) {
        route_trouble(route, trouble, sizeof trouble);
        format_one_line(why, sizeof why, "%s: %s", trouble, error);
    } else {
        format_one_line(why, sizeof why, "%s: %s", error,
            step == ROUTE_FOLLOW      ? "its keys are at that node now"
                : step == ROUTE_ROUND ? "redirections lead to no node that serves it"
                                      : "no node says where that is");
    }
    link_fail(link, why);
}

static void on_master_named(void *context, const struct sentinel_answer *answer, const char *why)
{
    struct link *link = context;
    link->sentinel = NULL;
    if (!answer) {
        link_fail(link, why);
        return;
    }
    link->is_named = true;
    link->named_by = answer->index;
    dial_host(link, answer->host, answer->port);
}

static void ask_sentinels(struct link *link)
{
    char *password;
    format_one_line(link->info.address, sizeof link->info.address, "Sentinel, master %s",
        link->database->url.master);
    if (read_password(link, link->database->sentinel_password_file, NULL, &password)) {
        link->sentinel = sentinel_ask(link->loop, link->database, &link->order, link->tls, password,
            link->timeout, on_master_named, link);
        secret_free(password);
    }
}

static void link_connect(struct link *link)
{
    const struct redis_url *url = &link->database->url;
    if (url->scheme == REDIS_UNIX) {
        format_one_line(link->info.address, sizeof link->info.address, "%s", url->path);
        link->dial = dial_unix(link->loop, url->path, link->timeout, on_dialed, link);
    } else if (url->scheme == REDIS_SENTINEL) {
        ask_sentinels(link);
    } else if (link->database->is_cluster) {
        dial_node(link);
    } else {
        dial_host(link, url->hosts[0].host, url->hosts[0].port);
    }
}

void link_use_tls(struct link *link, struct tls_context *tls)
{
    tls_context_unref(link->tls);
    link->tls = tls_context_ref(tls);
}

static void on_tls_loaded(void *context, struct tls_context *tls, const char *why)
{
    struct link *link = context;
    link->load = NULL;
    if (tls && !link->tls) { /* else a reload was faster */
        link_use_tls(link, tls);
    }
    tls_context_unref(tls);
    if (link->tls) {
        link_connect(link);
    } else {
        format_one_line(link->info.address, sizeof link->info.address, "TLS");
        link_fail(link, why);
    }
}

static void link_try(struct link *link)
{
    memset(&link->info, 0, sizeof link->info);
    link->state = LINK_CONNECTING;
    if (link->database->url.is_tls && !link->tls) {
        link->load = tls_load_begin(link->loop, link->database, on_tls_loaded, link);
    } else {
        link_connect(link);
    }
}

/* Until the next try. */
static nanoseconds link_pause(struct link *link)
{
    uint64_t random = 0;
    bool is_with_many = link->was_up && link->spread > FIRST_PAUSE;
    if (route_takes_no_pause(&link->route) && !is_with_many) {
        return 0;
    }
    uv_random(NULL, NULL, &random, sizeof random, 0, NULL);
    return backoff_next_spread(
        &link->backoff, FIRST_PAUSE, link->longest_pause, link->spread, link->was_up, random);
}

static void link_on_timer(uv_timer_t *timer)
{
    struct link *link = container_of(timer, struct link, timer);
    if (link->state == LINK_WAITING) {
        link_try(link);
        return;
    } else if (link->state == LINK_UP) {
        link_send_postponed(link);
        return;
    }
    link->state = LINK_WAITING;
    link->events->on_down(link->context, link->why, link->refused); /* may close the link */
    if (link->state == LINK_WAITING) {
        uv_timer_start(&link->timer, link_on_timer, (uint64_t)link_pause(link) / 1000000, 0);
    }
}

void link_wake_after(struct link *link, uint64_t ms)
{
    if (!uv_is_active((const uv_handle_t *)&link->timer)) {
        uv_timer_start(&link->timer, link_on_timer, ms, 0);
    }
}

/* ---- beginning and end ---- */

struct link *link_new(uv_loop_t *loop, const struct link_options *options,
    const struct link_events *events, void *context)
{
    struct link *link = memory_new(sizeof *link);
    link->loop = loop;
    link->database = options->database;
    link->client_name = options->client_name ? memory_string(options->client_name) : NULL;
    link->timeout = options->timeout;
    link->longest_pause =
        options->timeout > 0 ? earlier(options->timeout, LONGEST_PAUSE) : LONGEST_PAUSE;
    link->events = events;
    link->context = context;
    bool fits = keys_init(&link->keys, options->database->prefix, options->session);
    assert(fits); /* conf bounds the prefix */
    link->set = &script_sets[0];
    STAILQ_INIT(&link->calls);
    STAILQ_INIT(&link->postponed);
    route_init(&link->route, options->database);
    sentinel_order_init(&link->order, options->database->url.n_hosts);
    uv_timer_init(loop, &link->timer);
    link_try(link);
    return link;
}

static void link_on_closed(uv_handle_t *handle)
{
    struct link *link = container_of(handle, struct link, timer);
    free(link->client_name);
    tls_context_unref(link->tls);
    free(link);
}

void link_flush(struct link *link)
{
    if (link->state == LINK_UP) {
        stream_flush(link->commands);
    }
}

void link_close(struct link *link)
{
    if (link->state != LINK_CLOSED) {
        link->state = LINK_CLOSED;
        link_drop(link);
        uv_close((uv_handle_t *)&link->timer, link_on_closed);
    }
}

bool link_is_looking_up(void)
{
    return dial_n_looking() > 0 || tls_load_n_reading() > 0;
}
