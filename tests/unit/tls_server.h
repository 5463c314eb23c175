/* tls_server.h - the other side of tls.h, in the same process: an authority, certificates in
 * scratch files, and a server that speaks TLS into memory. */
#pragma once

#include "base/text.h"

#include <openssl/ssl.h>

/* Between scratch_begin() and scratch_end(). Writes ca.pem, cert.pem (for localhost, *.example.org,
 * p*.example.com and 127.0.0.1) and key.pem. */
void tls_server_files(void);

struct tls_server {
    SSL_CTX *context;
    SSL *ssl;
};

/* Versions as TLS1_2_VERSION. */
struct tls_server tls_server_new(int version);
void tls_server_free(struct tls_server *server);
/* What the client has sent; what there is to be sent to it is appended to `out`, what the client
 * said to `plain` (or NULL: the server does not read). */
void tls_server_take(
    struct tls_server *server, const char *bytes, size_t n, struct text *out, struct text *plain);
/* Appends what these bytes become. */
void tls_server_say(struct tls_server *server, const char *bytes, size_t n, struct text *out);
/* Appends what the server wants to be sent by itself. */
void tls_server_flush(struct tls_server *server, struct text *out);
