/* fleet_net.c - the simulated network: late, lossy, in order while a connection lasts. What was
 * sent before a connection broke may still be executed. */
#include "fleet_internal.h"

#include <string.h>

enum { CALL_WORDS = 4 }; /* which every call begins with */

static nanoseconds latency(struct fleet *fleet, const struct host *host)
{
    bool is_slow = fleet->now < host->slow_until;
    return is_slow ? chance(fleet, 0, 3 * SECOND)
                   : chance(fleet, MILLISECOND / 10, 3 * MILLISECOND);
}

static struct packet *packet_new(
    struct fleet *fleet, struct host *host, enum packet_kind kind, nanoseconds *last_at)
{
    if (fleet->n_packets == MAX_PACKETS) {
        fail("too many packets");
    }
    struct packet *packet = &fleet->packets[fleet->n_packets++];
    nanoseconds at = fleet->now + latency(fleet, host);
    *last_at = at > *last_at ? at : *last_at;
    *packet = (struct packet){.kind = kind,
        .at = *last_at,
        .serial = ++fleet->serial,
        .host = host->index,
        .connection = host->connection,
        .run = fleet->server.run};
    return packet;
}

static void packet_free(struct fleet *fleet, struct packet *packet)
{
    text_deinit(&packet->bytes);
    *packet = fleet->packets[--fleet->n_packets];
}

static void trace_call(
    struct fleet *fleet, const struct host *host, const struct script_call *call)
{
    struct text words = TEXT_INIT;
    if (is_traced) {
        for (size_t i = CALL_WORDS; i < call->argc; i++) {
            text_add_format(&words, " %s", call->argv[i]);
        }
        trace(fleet, "%s: %s%.500s", host->name, script_words[call->script], words.bytes);
    }
    text_deinit(&words);
}

void net_send(struct fleet *fleet, struct host *host, const struct script_call *call)
{
    struct packet *packet = packet_new(fleet, host, PACKET_COMMAND, &host->last_command_at);
    packet->script = call->script;
    packet->tag = call->tag;
    packet->call = host->known_call;
    packet->n = call->argc;
    for (size_t i = 0; i < call->argc; i++) {
        text_add_bytes(&packet->bytes, call->argv[i], call->lengths[i] + 1);
    }
    trace_call(fleet, host, call);
}

void net_break(struct fleet *fleet, struct host *host, const char *why)
{
    trace(fleet, "%s: link down: %s", host->name, why);
    host->is_connected = false;
    host->connection++;
    host->connects_at = fleet->now + chance(fleet, 50 * MILLISECOND, SECOND);
    if (random_percent(&fleet->random, 50)) { /* packets on their way may still arrive */
        for (size_t i = fleet->n_packets; i-- > 0;) {
            if (fleet->packets[i].host == host->index && fleet->packets[i].kind == PACKET_COMMAND) {
                packet_free(fleet, &fleet->packets[i]);
            }
        }
    }
    if (host->core) {
        session_disconnected(host->session, why, host_now(fleet, host));
    }
}

void net_connect(struct fleet *fleet, struct host *host)
{
    if (!server_is_there(fleet) || fleet->now < host->cut_until) {
        net_break(fleet, host, "no way to it");
        return;
    }
    host->is_connected = true;
    host->last_command_at = host->last_reply_at = host->last_message_at = fleet->now;
    trace(fleet, "%s: link up, server %ju", host->name, (uintmax_t)fleet->server.run);
    session_connected(host->session, host_now(fleet, host));
}

static void publish_to(struct fleet *fleet, struct host *host, struct bytes message)
{
    if (!host->is_connected || host->connection == host->mute_connection ||
        (fleet->has_faults && random_percent(&fleet->random, 3))) {
        return;
    }
    struct packet *packet = packet_new(fleet, host, PACKET_MESSAGE, &host->last_message_at);
    text_add_bytes(&packet->bytes, message.at, message.n);
}

/* A host's own channel ends in its session's name; everybody hears the other one. */
static bool hears(const struct host *host, struct bytes channel)
{
    size_t n = SESSION_ID_SIZE - 1;
    return channel.at[channel.n - 1] == 'l' ||
        (channel.n > n && memcmp(channel.at + channel.n - n, host->name, n) == 0);
}

void net_publish(void *context, struct bytes channel, struct bytes message)
{
    struct fleet *fleet = context;
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        if (fleet->hosts[i].is_there && hears(&fleet->hosts[i], channel)) {
            publish_to(fleet, &fleet->hosts[i], message);
        }
    }
}

/* ---- arriving ---- */

/* A stopped process reads nothing. */
static nanoseconds arrival(const struct fleet *fleet, const struct packet *packet)
{
    const struct host *host = &fleet->hosts[packet->host];
    bool waits = packet->kind != PACKET_COMMAND && packet->at < host->frozen_until;
    return waits ? host->frozen_until : packet->at;
}

struct packet *net_next(struct fleet *fleet, nanoseconds *atp)
{
    struct packet *first = NULL;
    for (size_t i = 0; i < fleet->n_packets; i++) {
        struct packet *packet = &fleet->packets[i];
        nanoseconds at = arrival(fleet, packet);
        if (!first || at < *atp || (at == *atp && packet->serial < first->serial)) {
            first = packet;
            *atp = at;
        }
    }
    return first;
}

static void execute(struct fleet *fleet, const struct packet *packet)
{
    struct text reply = TEXT_INIT;
    struct host *host = &fleet->hosts[packet->host];
    if (packet->run != fleet->server.run || !server_is_there(fleet)) {
        return;
    }
    server_execute(fleet, packet, &reply);
    if (packet->connection != host->connection || host->connection == host->mute_connection) {
        text_deinit(&reply);
        return;
    }
    struct packet *answer = packet_new(fleet, host, PACKET_REPLY, &host->last_reply_at);
    answer->tag = packet->tag;
    answer->call = fleet->server.n_executed;
    answer->bytes = reply;
}

/* Only these have the call's number ("hello", "stale" and errors do not). */
static bool has_number(const struct resp *answer)
{
    enum { N_HEAD = 4 };
    return answer->type == RESP_ARRAY && answer->n >= N_HEAD;
}

static void reply(struct fleet *fleet, struct host *host, const struct packet *packet)
{
    const struct resp *answer;
    resp_reader_feed(fleet->reader, packet->bytes.bytes, packet->bytes.length);
    if (resp_reader_next(fleet->reader, &answer) != RESP_REPLY) {
        fail("%s: no answer", host->name);
    }
    trace(fleet, "%s: answer: %s", host->name,
        answer->type == RESP_ERROR ? answer->text : answer->elements[0].text);
    host->known_call = has_number(answer) ? packet->call : host->known_call;
    session_reply(host->session, packet->tag, answer, host_now(fleet, host), &host->effects);
}

void net_deliver(struct fleet *fleet, struct packet *packet)
{
    struct packet taken = *packet;
    struct host *host = &fleet->hosts[taken.host];
    packet->bytes = (struct text)TEXT_INIT;
    packet_free(fleet, packet);
    if (taken.kind == PACKET_COMMAND) {
        execute(fleet, &taken);
    } else if (host->core && taken.connection == host->connection) {
        if (taken.kind == PACKET_REPLY) {
            reply(fleet, host, &taken);
        } else {
            session_message(host->session, taken.bytes.bytes, taken.bytes.length,
                host_now(fleet, host), &host->effects);
        }
        host_turn(fleet, host);
    }
    text_deinit(&taken.bytes);
}

void net_forget_commands(struct fleet *fleet)
{
    for (size_t i = fleet->n_packets; i-- > 0;) {
        if (fleet->packets[i].kind == PACKET_COMMAND) {
            packet_free(fleet, &fleet->packets[i]);
        }
    }
}

void net_forget_host(struct fleet *fleet, const struct host *host)
{
    for (size_t i = fleet->n_packets; i-- > 0;) {
        if (fleet->packets[i].kind != PACKET_COMMAND && fleet->packets[i].host == host->index) {
            packet_free(fleet, &fleet->packets[i]);
        }
    }
}

void net_clear(struct fleet *fleet)
{
    while (fleet->n_packets > 0) {
        packet_free(fleet, &fleet->packets[0]);
    }
}
