/* tls_internal.h - shared by tls_context.c (what all connections to a database share), tls.c (one
 * connection) and tls_words.c (what is wrong, in words). */
#pragma once

#include "redis/one_line.h"
#include "redis/tls.h"

#include <openssl/ssl.h>

struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *bio; /* of tls.c */
    char *server_name; /* or NULL */
    size_t n_references;
};

struct tls {
    struct tls_context *context;
    SSL *ssl;
    char *name; /* that the certificate must have */
    const char *input; /* lent */
    size_t n_input;
    struct text output;
    size_t n_answers; /* bytes of it that only answer the server, at most */
    bool is_ready;
    char why[ONE_LINE_BYTES]; /* "": it has not failed */
};

/* For SSL_CTX_set_verify(): keeps the first thing that is wrong with a certificate in `why`. */
int tls_on_verify(int is_good, X509_STORE_CTX *store);
/* What OpenSSL has just said, if tls_on_verify() has said nothing. */
void tls_say_failure(struct tls *tls);
/* One line about what the library has refused: of a file. */
void tls_say_last_error(char *out, size_t size);

/* In tls.c; NULL: no memory. */
BIO_METHOD *tls_bio_method(void);
