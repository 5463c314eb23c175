/* tls_none.c - tls.h in a build without OpenSSL: the configuration refuses rediss:// there. */
#include "redis/one_line.h"
#include "redis/tls.h"

#include <stdlib.h>

struct tls_context *tls_context_new(const struct database *database, char *why, size_t size)
{
    (void)database;
    format_one_line(why, size, "this berthd was built without TLS");
    return NULL;
}

struct tls_context *tls_context_ref(struct tls_context *context)
{
    return context;
}

struct tls_context *tls_context_unref(struct tls_context *context)
{
    (void)context;
    return NULL;
}

/* There is no context, and so no connection either. */

struct tls *tls_new(struct tls_context *context, const char *host)
{
    (void)context, (void)host;
    abort();
}

struct tls *tls_free(struct tls *tls)
{
    (void)tls;
    return NULL;
}

void tls_feed(struct tls *tls, const char *bytes, size_t n)
{
    (void)tls, (void)bytes, (void)n;
    abort();
}

enum tls_next tls_next(struct tls *tls, char *plain, size_t size, size_t *np)
{
    (void)tls, (void)plain, (void)size, (void)np;
    abort();
}

void tls_send(struct tls *tls, const char *bytes, size_t n)
{
    (void)tls, (void)bytes, (void)n;
    abort();
}

void tls_end(struct tls *tls)
{
    (void)tls;
    abort();
}

struct text *tls_output(struct tls *tls)
{
    (void)tls;
    abort();
}

const char *tls_why(const struct tls *tls)
{
    (void)tls;
    abort();
}
