/* tls_none.c - tls.h in a build without OpenSSL: the configuration refuses rediss:// there. */
#include "redis/one_line.h"
#include "redis/tls.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

struct tls_context *tls_context_new(const struct database *database, char *why, size_t size)
{
    format_one_line(why, size, "this berthd was built without TLS");
    return NULL;
}

struct tls_context *tls_context_ref(struct tls_context *context)
{
    return NULL;
}

struct tls_context *tls_context_unref(struct tls_context *context)
{
    return NULL;
}

struct tls *tls_free(struct tls *tls)
{
    return NULL;
}

/* There is no context, and so no connection either. */
#define NEVER_CALLED(function)                                                                     \
    function                                                                                       \
    {                                                                                              \
        abort();                                                                                   \
    }
NEVER_CALLED(struct tls *tls_new(struct tls_context *context, const char *host))
NEVER_CALLED(void tls_feed(struct tls *tls, const char *bytes, size_t n))
NEVER_CALLED(enum tls_next tls_next(struct tls *tls, char *plain, size_t size, size_t *np))
NEVER_CALLED(void tls_send(struct tls *tls, const char *bytes, size_t n))
NEVER_CALLED(void tls_end(struct tls *tls))
NEVER_CALLED(struct text *tls_output(struct tls *tls))
NEVER_CALLED(const char *tls_why(const struct tls *tls))
