/* fuzz_resp.c - any bytes as Redis' replies, in pieces (the first byte says how large): the replies
 * can be read, and are the same however they are cut up. */
#include "fuzz.h"

#include "redis/resp.h"

struct seen {
    size_t n_replies;
    uint64_t hash; /* of all that they say */
    bool is_malformed;
};

static void mix(struct seen *seen, uint64_t value)
{
    seen->hash = (seen->hash ^ value) * UINT64_C(0x100000001b3);
}

static void look(const struct resp *resp, struct seen *seen, int depth)
{
    REQUIRE(depth < 9 && resp->text && resp->text[resp->length] == '\0');
    REQUIRE(resp->n == 0 || (resp->type == RESP_ARRAY && resp->elements));
    mix(seen, resp->type);
    mix(seen, (uint64_t)resp->integer);
    mix(seen, resp->length);
    for (size_t i = 0; i < resp->length; i++) {
        mix(seen, (unsigned char)resp->text[i]);
    }
    for (size_t i = 0; i < resp->n; i++) {
        look(&resp->elements[i], seen, depth + 1);
    }
}

static struct seen read_in_pieces(const uint8_t *bytes, size_t n, size_t piece)
{
    struct seen seen = {0};
    struct resp_reader *reader = resp_reader_new();
    const struct resp *reply;
    enum resp_next next = RESP_MORE;
    for (size_t at = 0; at < n && next == RESP_MORE; at += piece) {
        resp_reader_feed(reader, (const char *)bytes + at, n - at < piece ? n - at : piece);
        while ((next = resp_reader_next(reader, &reply)) == RESP_REPLY) {
            look(reply, &seen, 0);
            seen.n_replies++;
        }
    }
    seen.is_malformed = next == RESP_NONSENSE;
    resp_reader_free(reader);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 1) {
        return 0;
    }
    struct seen whole = read_in_pieces(bytes + 1, n - 1, n);
    struct seen pieces = read_in_pieces(bytes + 1, n - 1, (size_t)bytes[0] % 16 + 1);
    REQUIRE(whole.n_replies == pieces.n_replies && whole.hash == pieces.hash &&
        whole.is_malformed == pieces.is_malformed);
    return 0;
}
