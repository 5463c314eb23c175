#include "redis/tls.h"

#include "base/memory.h"
#include "redis/tls_internal.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

/* A server that asks for new keys again and again, and reads none of the answers. */
enum { MAX_ANSWERS = 16 * 1024 };

/* ---- bytes in and out: nothing is copied in, and nothing waits between the library and us ---- */

static int on_bio_read(BIO *bio, char *out, int size)
{
    struct tls *tls = BIO_get_data(bio);
    size_t n = size > 0 && (size_t)size < tls->n_input ? (size_t)size : tls->n_input;
    BIO_clear_retry_flags(bio);
    if (size <= 0 || n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(out, tls->input, n);
    tls->input += n;
    tls->n_input -= n;
    return (int)n;
}

static int on_bio_write(BIO *bio, const char *in, int n)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (n > 0) {
        text_add_bytes(&tls->output, in, (size_t)n);
    }
    return n;
}

static long on_bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth");
    if (method) {
        BIO_meth_set_read(method, on_bio_read);
        BIO_meth_set_write(method, on_bio_write);
        BIO_meth_set_ctrl(method, on_bio_control);
    }
    return method;
}

/* ---- beginning and end ---- */

/* Without an IPv6 address' zone and a name's last dot, neither of which a certificate has. */
static char *name_of(const char *host)
{
    char *name = memory_string(host);
    size_t n = strlen(name);
    if (strchr(name, ':')) {
        name[strcspn(name, "%")] = '\0';
    } else if (n > 0 && name[n - 1] == '.') {
        name[n - 1] = '\0';
    }
    return name;
}

static bool is_address(const char *name)
{
    struct in6_addr address;
    return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

/* False: nothing may be sent. For the library, an empty name is any, and one with a dot in front
 * all below it. */
static bool expect_name(SSL *ssl, const char *name)
{
    X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (name[0] == '\0' || name[0] == '.') {
        return false;
    }
    return is_address(name)
        ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name) == 1
        : SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

static bool tls_init(struct tls *tls)
{
    BIO *bio = BIO_new(tls->context->bio);
    tls->ssl = SSL_new(tls->context->ssl);
    if (!tls->ssl || !bio) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_connect_state(tls->ssl);
    return SSL_set_app_data(tls->ssl, tls) == 1 && expect_name(tls->ssl, tls->name);
}

struct tls *tls_new(struct tls_context *context, const char *host)
{
    struct tls *tls = memory_new(sizeof *tls);
    tls->context = tls_context_ref(context);
    tls->name = name_of(context->server_name ? context->server_name : host);
    if (!tls_init(tls)) {
        format_one_line(
            tls->why, sizeof tls->why, "cannot use TLS with the host name \"%s\"", tls->name);
    }
    return tls;
}

struct tls *tls_free(struct tls *tls)
{
    if (tls) {
        SSL_free(tls->ssl);
        tls_context_unref(tls->context);
        text_deinit(&tls->output);
        free(tls->name);
        free(tls);
    }
    return NULL;
}

/* ---- in ---- */

void tls_feed(struct tls *tls, const char *bytes, size_t n)
{
    tls->input = bytes;
    tls->n_input = n;
}

static enum tls_next tls_fail(struct tls *tls)
{
    tls_say_failure(tls);
    return TLS_FAILED;
}

/* What a result other than success means. */
static enum tls_next tls_judge(struct tls *tls, int result)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_ENDED;
    default:
        return tls_fail(tls);
    }
}

/* The library has verified it; this is for mistakes in how it was told to. */
static bool is_verified(const struct tls *tls)
{
    return SSL_get0_peer_certificate(tls->ssl) && SSL_get_verify_mode(tls->ssl) & SSL_VERIFY_PEER &&
        SSL_get_verify_result(tls->ssl) == X509_V_OK;
}

static enum tls_next tls_shake_hands(struct tls *tls)
{
    int result = SSL_do_handshake(tls->ssl);
    if (result != 1) {
        return tls_judge(tls, result);
    }
    if (!is_verified(tls)) {
        return tls_fail(tls);
    }
    tls->is_ready = true;
    return TLS_READY;
}

/* `before`: how long the output was before this step. */
static bool is_flooded(struct tls *tls, size_t before)
{
    size_t left = tls->n_answers < before ? tls->n_answers : before; /* not taken away yet */
    tls->n_answers = left + tls->output.length - before;
    return tls->n_answers > MAX_ANSWERS;
}

enum tls_next tls_next(struct tls *tls, char *plain, size_t size, size_t *np)
{
    if (tls->why[0]) {
        return TLS_FAILED;
    }
    ERR_clear_error();
    if (!tls->is_ready) {
        return tls_shake_hands(tls);
    }
    size_t before = tls->output.length;
    int result = SSL_read_ex(tls->ssl, plain, size, np);
    if (is_flooded(tls, before)) {
        format_one_line(
            tls->why, sizeof tls->why, "TLS: the server asks for new keys, and reads none");
        return TLS_FAILED;
    }
    return result == 1 ? TLS_PLAIN : tls_judge(tls, result);
}

/* ---- out ---- */

void tls_send(struct tls *tls, const char *bytes, size_t n)
{
    size_t written;
    if (tls->why[0] || n == 0) {
        return;
    }
    ERR_clear_error();
    if (SSL_write_ex(tls->ssl, bytes, n, &written) != 1) {
        tls_say_failure(tls);
    }
}

void tls_end(struct tls *tls)
{
    if (!tls->why[0]) {
        ERR_clear_error();
        SSL_shutdown(tls->ssl);
    }
}

struct text *tls_output(struct tls *tls)
{
    return &tls->output;
}

const char *tls_why(const struct tls *tls)
{
    return tls->why[0] ? tls->why : NULL;
}
