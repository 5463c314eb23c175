/* fuzz_tls.c - any bytes as what a server answers to the beginning of a handshake, in pieces (the
 * first byte says how large): there is never a connection, never plain text, and what it says
 * is one line. */
#include "fuzz.h"

#include "conf/redis_url.h"
#include "redis/tls.h"

enum { MAX_OUTPUT = 64 * 1024 };

static void check_line(const char *why)
{
    REQUIRE(why && why[0]);
    for (const char *c = why; *c; c++) {
        REQUIRE(*c >= ' ' && *c <= '~');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct tls_context *context;
    static const struct database database = {.tls_min_version = TLS_MIN_1_2};
    char why[256], plain[512];
    size_t length, piece = n > 0 ? (size_t)bytes[0] * bytes[0] + 1 : 1;
    if (!context) {
        context = tls_context_new(&database, why, sizeof why);
        REQUIRE(context != NULL);
    }
    struct tls *tls = tls_new(context, "redis.example.org");
    enum tls_next next = tls_next(tls, plain, sizeof plain, &length);
    for (size_t at = 1; at < n && next == TLS_MORE; at += piece) {
        tls_feed(tls, (const char *)bytes + at, n - at < piece ? n - at : piece);
        next = tls_next(tls, plain, sizeof plain, &length);
    }
    REQUIRE(next == TLS_MORE || next == TLS_ENDED || next == TLS_FAILED);
    REQUIRE((next == TLS_FAILED) == (tls_why(tls) != NULL));
    REQUIRE(tls_output(tls)->length < MAX_OUTPUT);
    if (next == TLS_FAILED) {
        check_line(tls_why(tls));
    }
    tls_free(tls);
    return 0;
}
