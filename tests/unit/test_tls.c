/* A connection's TLS, against a server in the same process: however its bytes come, and whatever
 * they are. */
#include "../sim/random.h"
#include "base/memory.h"
#include "conf/redis_url.h"
#include "redis/one_line.h"
#include "redis/tls.h"
#include "scratch.h"
#include "seed.h"
#include "tls_server.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void tls_test_init(void)
{
    scratch_begin();
    tls_server_files();
}

TestSuite(tls, .init = tls_test_init, .fini = scratch_end, .timeout = 60);

/* Both ends, and what is on its way between them. */
struct pair {
    struct tls_context *context;
    struct tls *client;
    struct tls_server server;
    struct text to_client;
    struct text heard, said; /* by the client; by the server, of the client */
    enum tls_next last;
    bool is_ready;
};

static struct tls_context *new_context(struct database *database)
{
    char why[ONE_LINE_BYTES];
    char *ca = memory_string(scratch_path("ca.pem"));
    database->ca_file = ca;
    struct tls_context *context = tls_context_new(database, why, sizeof why);
    cr_assert(context, "%s", why);
    free(ca);
    return context;
}

static struct pair pair_new(int version, const char *host)
{
    struct database database = {.tls_min_version = TLS_MIN_1_2};
    struct pair pair = {.server = tls_server_new(version)};
    pair.context = new_context(&database);
    pair.client = tls_new(pair.context, host);
    return pair;
}

static void pair_free(struct pair *pair)
{
    tls_free(pair->client);
    tls_context_unref(pair->context);
    tls_server_free(&pair->server);
    text_deinit(&pair->to_client);
    text_deinit(&pair->heard);
    text_deinit(&pair->said);
}

/* The client takes what there is to take; the last answer. */
static enum tls_next client_steps(struct pair *pair)
{
    char plain[1000];
    size_t n = 0;
    do {
        pair->last = tls_next(pair->client, plain, sizeof plain, &n);
        if (pair->last == TLS_READY) {
            cr_assert_not(pair->is_ready);
            pair->is_ready = true;
        } else if (pair->last == TLS_PLAIN) {
            cr_assert(pair->is_ready && n > 0);
            text_add_bytes(&pair->heard, plain, n);
        }
    } while (pair->last == TLS_READY || pair->last == TLS_PLAIN);
    return pair->last;
}

/* In pieces of so many bytes, each in memory of its own: nothing may be kept of it. */
static enum tls_next client_hears(struct pair *pair, const char *bytes, size_t n, size_t piece)
{
    for (size_t at = 0; at < n && pair->last == TLS_MORE; at += piece) {
        size_t length = n - at < piece ? n - at : piece;
        char *copy = malloc(length);
        memcpy(copy, bytes + at, length);
        tls_feed(pair->client, copy, length);
        client_steps(pair);
        free(copy);
    }
    return pair->last;
}

/* All that is on its way. */
static enum tls_next client_hears_all(struct pair *pair, size_t piece)
{
    struct text arriving = pair->to_client;
    pair->to_client = (struct text)TEXT_INIT;
    client_hears(pair, arriving.bytes, arriving.length, piece);
    text_deinit(&arriving);
    return pair->last;
}

static void client_sends(struct pair *pair, struct text *plain)
{
    struct text *out = tls_output(pair->client);
    tls_server_take(&pair->server, out->bytes, out->length, &pair->to_client, plain);
    out->length = 0;
}

/* Until nothing is on its way. */
static void pair_talk(struct pair *pair, size_t piece)
{
    client_steps(pair);
    do {
        client_sends(pair, &pair->said);
        client_hears_all(pair, piece);
    } while (tls_output(pair->client)->length > 0 && pair->last == TLS_MORE);
}

static struct pair pair_talking(int version)
{
    struct pair pair = pair_new(version, "localhost");
    pair_talk(&pair, 1 << 20);
    cr_assert(pair.is_ready && pair.last == TLS_MORE, "%s", tls_why(pair.client));
    return pair;
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
enum { N_VERSIONS = sizeof versions / sizeof versions[0] };

/* ---- as it should be ---- */

Test(tls, carries_bytes_however_they_come)
{
    static const size_t pieces[] = {1, 2, 5, 6, 1000, 1 << 20};
    static char much[100000];
    memset(much, 'm', sizeof much);
    for (size_t i = 0; i < N_VERSIONS; i++) {
        for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
            struct pair pair = pair_new(versions[i], "localhost");
            pair_talk(&pair, pieces[j]);
            cr_assert(pair.is_ready, "%s", tls_why(pair.client));
            tls_send(pair.client, "ping", 4);
            tls_send(pair.client, much, sizeof much);
            tls_server_say(&pair.server, "pong", 4, &pair.to_client);
            tls_server_say(&pair.server, much, sizeof much, &pair.to_client);
            pair_talk(&pair, pieces[j]);
            cr_expect_eq(pair.said.length, 4 + sizeof much);
            cr_expect_eq(memcmp(pair.said.bytes, "pingm", 5), 0);
            cr_assert_eq(pair.heard.length, 4 + sizeof much);
            cr_expect_eq(memcmp(pair.heard.bytes, "pongm", 5), 0);
            cr_expect_eq(pair.last, TLS_MORE);
            cr_expect_null(tls_why(pair.client));
            pair_free(&pair);
        }
    }
}

/* The server's first flight, split at many a byte; above, at each one. (Signatures vary in
 * length.) */
Test(tls, two_pieces)
{
    for (size_t i = 0; i < N_VERSIONS; i++) {
        for (size_t at = 1, n = 2; at < n; at += 7) {
            struct pair pair = pair_new(versions[i], "localhost");
            client_steps(&pair);
            client_sends(&pair, NULL);
            struct text arriving = pair.to_client;
            pair.to_client = (struct text)TEXT_INIT;
            n = arriving.length;
            size_t first = at < n ? at : n - 1;
            cr_assert_eq(client_hears(&pair, arriving.bytes, first, n), TLS_MORE);
            cr_assert_not(pair.is_ready);
            client_hears(&pair, arriving.bytes + first, n - first, n);
            pair_talk(&pair, n);
            cr_expect(pair.is_ready, "%zu of %zu", first, n);
            text_deinit(&arriving);
            pair_free(&pair);
        }
    }
}

Test(tls, ends_for_both)
{
    for (size_t i = 0; i < N_VERSIONS; i++) {
        struct pair pair = pair_talking(versions[i]);
        tls_end(pair.client);
        client_sends(&pair, &pair.said);
        cr_expect(SSL_get_shutdown(pair.server.ssl) & SSL_RECEIVED_SHUTDOWN);
        pair_free(&pair);

        pair = pair_talking(versions[i]);
        tls_server_say(&pair.server, "last", 4, &pair.to_client);
        SSL_shutdown(pair.server.ssl);
        tls_server_flush(&pair.server, &pair.to_client);
        pair_talk(&pair, 3);
        cr_expect_eq(pair.last, TLS_ENDED);
        cr_expect_eq(pair.heard.length, 4);
        cr_expect_null(tls_why(pair.client));
        pair_free(&pair);
    }
}

Test(tls, a_context_outlives_its_maker)
{
    struct pair pair = pair_new(TLS1_3_VERSION, "localhost");
    pair.context = tls_context_unref(pair.context);
    pair_talk(&pair, 1 << 20);
    cr_expect(pair.is_ready);
    pair_free(&pair);
    cr_expect_null(tls_context_ref(NULL));
}

/* ---- names ---- */

static void expect_name(const char *host, const char *server_name, const char *trouble)
{
    struct database database = {.server_name = (char *)server_name};
    struct pair pair = {.server = tls_server_new(TLS1_3_VERSION)};
    pair.context = new_context(&database);
    pair.client = tls_new(pair.context, host);
    pair_talk(&pair, 1 << 20);
    cr_expect_eq(pair.is_ready, trouble == NULL, "%s", host);
    const char *why = tls_why(pair.client);
    cr_expect(trouble ? why && strstr(why, trouble) : !why, "%s: %s", host, why);
    pair_free(&pair);
}

Test(tls, names)
{
    expect_name("localhost", NULL, NULL);
    expect_name("LOCALHOST", NULL, NULL);
    expect_name("localhost.", NULL, NULL);
    expect_name("127.0.0.1", NULL, NULL);
    expect_name("a.example.org", NULL, NULL);
    expect_name("elsewhere", "localhost", NULL);
    expect_name("10.0.0.5", "127.0.0.1", NULL);
    expect_name("127.0.0.2", NULL,
        "the certificate is for localhost, *.example.org, p*.example.com, ..., not for 127.0.0.2");
    expect_name("::1", NULL, "not for ::1");
    expect_name("fe80::1%eth0", NULL, "not for fe80::1");
    expect_name("localhost", "elsewhere", "not for elsewhere");
    expect_name("a.b.example.org", NULL, "not for a.b.example.org");
    expect_name("example.org", NULL, "not for example.org");
    expect_name("pa.example.com", NULL, "not for pa.example.com");
    expect_name("server", NULL, "not for server"); /* that is its subject */
    expect_name("", NULL, "cannot use TLS with the host name \"\"");
    expect_name(".", NULL, "cannot use TLS with the host name");
    expect_name(".example.org", NULL, "cannot use TLS with the host name \".example.org\"");
}

/* ---- as it should not be ---- */

Test(tls, a_handshake_that_breaks_off_is_never_over)
{
    for (size_t i = 0; i < N_VERSIONS; i++) {
        struct pair pair = pair_new(versions[i], "localhost");
        client_steps(&pair);
        client_sends(&pair, NULL);
        cr_expect_eq(
            client_hears(&pair, pair.to_client.bytes, pair.to_client.length - 1, 11), TLS_MORE);
        cr_expect_not(pair.is_ready);
        cr_expect_null(tls_why(pair.client));
        pair_free(&pair);
    }
}

/* Nothing is heard that was changed on its way. (Of the handshake, a record's version may be.) */
Test(tls, a_changed_byte)
{
    struct random random = {.state = seed_of_test()};
    for (size_t i = 0; i < N_VERSIONS; i++) {
        for (int round = 0; round < 60; round++) {
            struct pair pair =
                round % 2 ? pair_talking(versions[i]) : pair_new(versions[i], "localhost");
            if (round % 2) {
                tls_server_say(&pair.server, "hello", 5, &pair.to_client);
            } else {
                client_steps(&pair);
                client_sends(&pair, NULL);
            }
            size_t at = random_below(&random, (uint32_t)pair.to_client.length);
            pair.to_client.bytes[at] = (char)(pair.to_client.bytes[at] ^ (1 << round % 8));
            client_hears_all(&pair, 50);
            pair_talk(&pair, 50);
            /* A record that claims to be longer is waited for. */
            cr_expect(pair.last == TLS_MORE || tls_why(pair.client));
            cr_expect_eq(pair.heard.length, 0, "%zu", at);
            pair_free(&pair);
        }
    }
}

Test(tls, garbage)
{
    static const struct {
        const char *bytes, *trouble;
    } rows[] = {
        {"-ERR unknown command\r\n", "TLS: what the server sends is not TLS; is that port"},
        {"HTTP/1.1 400 Bad Request\r\n", "TLS: what the server sends is not TLS; is that port"},
        {"\x15\x03\x01\x00\x02\x02\x46", "have no version of TLS in common"},
        {"\x15\x03\x03\x00\x02\x02\x28", "it may require a client certificate"},
        {"\x16\x03\x03\x00\x04\x63\x00\x00\x00", "TLS: unexpected message"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pair pair = pair_new(TLS1_3_VERSION, "localhost");
        size_t n = rows[i].bytes[0] < ' ' ? 5 + (size_t)rows[i].bytes[4] : strlen(rows[i].bytes);
        client_steps(&pair);
        cr_expect_eq(client_hears(&pair, rows[i].bytes, n, 1), TLS_FAILED);
        cr_expect(strstr(tls_why(pair.client), rows[i].trouble), "%s", tls_why(pair.client));
        cr_expect_eq(client_steps(&pair), TLS_FAILED);
        pair_free(&pair);
    }
}

/* Its answers pile up where the server reads nothing: not beyond all bounds. */
Test(tls, new_keys_again_and_again)
{
    struct pair pair = pair_talking(TLS1_3_VERSION);
    size_t n = 0;
    while (pair.last == TLS_MORE && n < 100000) {
        SSL_key_update(pair.server.ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(pair.server.ssl);
        struct text update = TEXT_INIT;
        tls_server_flush(&pair.server, &update);
        client_hears(&pair, update.bytes, update.length, update.length);
        text_deinit(&update);
        n++;
    }
    cr_expect_eq(pair.last, TLS_FAILED);
    cr_expect(strstr(tls_why(pair.client), "asks for new keys"), "%s", tls_why(pair.client));
    cr_expect_lt(tls_output(pair.client)->length, 20000);
    pair_free(&pair);
}

Test(tls, no_second_handshake)
{
    struct pair pair = pair_talking(TLS1_2_VERSION);
    SSL_renegotiate(pair.server.ssl);
    SSL_do_handshake(pair.server.ssl);
    tls_server_flush(&pair.server, &pair.to_client);
    cr_assert_gt(pair.to_client.length, 0);
    cr_expect_eq(client_hears_all(&pair, 1 << 20), TLS_MORE);
    /* An alert that refuses, not a second ClientHello. */
    cr_expect_eq(tls_output(pair.client)->bytes[0], SSL3_RT_ALERT);
    pair_free(&pair);
}
