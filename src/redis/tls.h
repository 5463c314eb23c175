/* tls.h - the client's side of TLS, without I/O: what the server sends goes in, plain bytes come
 * out, and the other way round. Certificates are always verified, against the name of the host that
 * was called or the configured one.
 *
 * In a build without OpenSSL no context can be made, and so nothing else is called. */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct database;

/* ---- what all connections to one database share: certificates, the key, versions ---- */

struct tls_context;

/* Reads the files of the [redis] section; in any thread. NULL: `why` says in one line which file is
 * wrong, and how; it quotes nothing of them. The caller has the first reference. */
struct tls_context *tls_context_new(const struct database *database, char *why, size_t size);
/* References, of one thread. Both accept NULL; the second one returns NULL. */
struct tls_context *tls_context_ref(struct tls_context *context);
struct tls_context *tls_context_unref(struct tls_context *context);

/* ---- one connection ---- */

struct tls;

/* Keeps a reference. `host`: a name or a numeric address, for which the certificate must be, unless
 * server-name says otherwise. */
struct tls *tls_new(struct tls_context *context, const char *host);
struct tls *tls_free(struct tls *tls); /* accepts NULL; returns NULL */

/* What the server has sent, lent until tls_next() says TLS_MORE. */
void tls_feed(struct tls *tls, const char *bytes, size_t n);

enum tls_next {
    TLS_MORE, /* nothing to be had before the server sends more */
    TLS_READY, /* the handshake is over: once, before any TLS_PLAIN */
    TLS_PLAIN, /* *np bytes are in `plain` */
    TLS_ENDED, /* the server has ended the session */
    TLS_FAILED, /* tls_why(); for good */
};
/* Takes the next step; the first one, with nothing fed, begins the handshake. */
enum tls_next tls_next(struct tls *tls, char *plain, size_t size, size_t *np);

/* Turns these bytes into records. Only after TLS_READY. */
void tls_send(struct tls *tls, const char *bytes, size_t n);
/* Says that nothing follows. Only after TLS_READY. */
void tls_end(struct tls *tls);
/* What is to be sent to the server, also after TLS_FAILED: the caller takes it away. What the
 * server alone makes it grow by is bounded. */
struct text *tls_output(struct tls *tls);

/* Why it has failed, as one line for people; NULL: it has not. */
const char *tls_why(const struct tls *tls);
