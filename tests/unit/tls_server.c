#include "tls_server.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

/* ---- certificates ---- */

static void write_pem(const char *name, X509 *certificate, EVP_PKEY *key)
{
    FILE *file = fopen(scratch_path(name), "w");
    cr_assert(file);
    if (certificate) {
        cr_assert(PEM_write_X509(file, certificate));
    }
    if (key) {
        cr_assert(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
    }
    fclose(file);
}

static void add_extension(X509 *certificate, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
    cr_assert(extension && X509_add_ext(certificate, extension, -1));
    X509_EXTENSION_free(extension);
}

static X509 *issue(const char *name, const char *names, EVP_PKEY *key, X509 *issuer, EVP_PKEY *by)
{
    X509 *made = X509_new();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), names ? 2 : 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_NAME_add_entry_by_txt(
        X509_get_subject_name(made), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made));
    X509_set_pubkey(made, key);
    add_extension(made, NID_basic_constraints, names ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (names) {
        add_extension(made, NID_subject_alt_name, names);
    }
    cr_assert(X509_sign(made, by, EVP_sha256()));
    return made;
}

void tls_server_files(void)
{
    EVP_PKEY *authority_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
    X509 *authority = issue("authority", NULL, authority_key, NULL, authority_key);
    X509 *certificate =
        issue("server", "DNS:localhost,DNS:*.example.org,DNS:p*.example.com,IP:127.0.0.1", key,
            authority, authority_key);
    write_pem("ca.pem", authority, NULL);
    write_pem("cert.pem", certificate, NULL);
    write_pem("key.pem", NULL, key);
    X509_free(authority);
    X509_free(certificate);
    EVP_PKEY_free(authority_key);
    EVP_PKEY_free(key);
}

/* ---- the server ---- */

struct tls_server tls_server_new(int version)
{
    struct tls_server server = {.context = SSL_CTX_new(TLS_server_method())};
    SSL_CTX_set_min_proto_version(server.context, version);
    SSL_CTX_set_max_proto_version(server.context, version);
    SSL_CTX_use_certificate_chain_file(server.context, scratch_path("cert.pem"));
    cr_assert(
        SSL_CTX_use_PrivateKey_file(server.context, scratch_path("key.pem"), SSL_FILETYPE_PEM));
    server.ssl = SSL_new(server.context);
    SSL_set_bio(server.ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(server.ssl);
    return server;
}

void tls_server_free(struct tls_server *server)
{
    SSL_free(server->ssl);
    SSL_CTX_free(server->context);
    *server = (struct tls_server){.ssl = NULL};
}

void tls_server_flush(struct tls_server *server, struct text *out)
{
    char *bytes;
    long n = BIO_get_mem_data(SSL_get_wbio(server->ssl), &bytes);
    text_add_bytes(out, n > 0 ? bytes : "", n > 0 ? (size_t)n : 0);
    BIO_reset(SSL_get_wbio(server->ssl));
}

void tls_server_take(
    struct tls_server *server, const char *bytes, size_t n, struct text *out, struct text *plain)
{
    char some[4096];
    size_t length;
    BIO_write(SSL_get_rbio(server->ssl), bytes, (int)n);
    ERR_clear_error();
    if (!SSL_is_init_finished(server->ssl)) {
        SSL_do_handshake(server->ssl);
    }
    while (plain && SSL_is_init_finished(server->ssl) &&
        SSL_read_ex(server->ssl, some, sizeof some, &length)) {
        text_add_bytes(plain, some, length);
    }
    tls_server_flush(server, out);
}

void tls_server_say(struct tls_server *server, const char *bytes, size_t n, struct text *out)
{
    size_t written;
    cr_assert(SSL_write_ex(server->ssl, bytes, n, &written));
    tls_server_flush(server, out);
}
