/* fuzz_protocol.c - the line buffer and the request parser, fed with arbitrary bytes that are split
 * at arbitrary points.
 *
 * The first two bytes of the input say how it is split; the rest is what a peer sends. Whatever
 * the split, the same lines must come out; a request that was parsed must keep its row's promises,
 * and what is decoded must encode again. */
#include "fuzz.h"

#include "base/words.h"
#include "wire/linebuf.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* What came out, folded into one number, order included. */
struct digest {
    uint64_t hash;
    size_t n_lines, n_too_long;
};

static void digest_add(struct digest *digest, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        digest->hash = (digest->hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    }
    digest->hash = (digest->hash ^ n) * UINT64_C(0x100000001b3);
}

static void check_text(const char *text)
{
    char encoded[3 * LINE_BYTES + 1], *decoded = encoded;
    size_t n = percent_encode(encoded, sizeof encoded, text);
    REQUIRE(n < sizeof encoded && n == strlen(encoded));
    REQUIRE(percent_decode(decoded) && strcmp(decoded, text) == 0);
}

/* The small parsers must cope with any value. */
static void check_value(const char *text)
{
    char id[LEASE_ID_SIZE], duration[32];
    uint64_t number;
    int64_t signed_number, nanoseconds, again;
    if (lease_id_parse(text, &number)) {
        lease_id_format(id, number);
        REQUIRE(strcmp(id, text) == 0);
    }
    if (duration_parse(text, &nanoseconds)) {
        REQUIRE(nanoseconds >= 0);
        duration_format(duration, sizeof duration, nanoseconds);
        REQUIRE(duration_parse(duration, &again) && again <= nanoseconds);
        REQUIRE(nanoseconds - again < 1000000);
    }
    if (number_parse(text, 1000, &number)) {
        REQUIRE(number <= 1000 && signed_number_parse(text, 1000, &signed_number));
    }
    if (name_is_valid(text)) {
        REQUIRE(!template_name_is_valid(text) && strlen(text) <= NAME_BYTES);
    }
    (void)item_is_valid(text);
    check_text(text);
}

static void check_request(const struct request *request)
{
    REQUIRE(request->command < N_COMMANDS);
    const struct command_row *row = &command_table[request->command];
    REQUIRE(request->n_arguments >= row->min && request->n_arguments <= row->max);
    for (size_t i = 0; i < request->n_arguments; i++) {
        check_value(request->arguments[i]);
    }
    for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
        REQUIRE(!request->keys[key] || row->keys & UINT32_C(1) << key);
        if (request->keys[key]) {
            REQUIRE(request->keys[key][0] != '\0');
            check_value(request->keys[key]);
        }
    }
}

static void check_words(const char *line)
{
    char copy[LINE_BYTES], *words[8];
    strcpy(copy, line);
    size_t n = words_split(copy, words, 8);
    REQUIRE(n <= 8);
    (void)words_find(words, n, "key");
}

static void take_lines(struct linebuf *buffer, struct digest *digest)
{
    char *line;
    size_t length;
    enum line_result result;
    while ((result = linebuf_next(buffer, &line, &length)) != LINE_MORE) {
        if (result == LINE_TOO_LONG) {
            digest->n_too_long++;
            continue;
        }
        REQUIRE(length < LINE_BYTES && line[length] == '\0');
        digest->n_lines++;
        digest_add(digest, line, length);
        check_words(line);
        struct request request;
        const char *detail;
        enum code code = request_parse(line, length, &request, &detail);
        REQUIRE(code < N_CODES);
        if (code == CODE_NONE) {
            check_request(&request);
        }
    }
}

/* In pieces of 1 ... `max` bytes, each in its own memory; 0: all at once. */
static struct digest feed(const uint8_t *bytes, size_t n, size_t max, uint32_t random)
{
    struct digest digest = {.hash = UINT64_C(0xcbf29ce484222325)};
    struct linebuf buffer = LINEBUF_INIT;
    while (n > 0) {
        random = random * 1664525 + 1013904223;
        size_t piece = max == 0 ? n : 1 + (random >> 16) % max;
        piece = piece < n ? piece : n;
        char *lent = malloc(piece);
        REQUIRE(lent);
        memcpy(lent, bytes, piece);
        REQUIRE(linebuf_feed(&buffer, lent, piece));
        take_lines(&buffer, &digest);
        REQUIRE(linebuf_pending(&buffer) < LINE_BYTES);
        REQUIRE(linebuf_keep(&buffer));
        free(lent);
        bytes += piece;
        n -= piece;
    }
    linebuf_deinit(&buffer);
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2) {
        return 0;
    }
    struct digest whole = feed(bytes + 2, n - 2, 0, 0);
    struct digest split = feed(bytes + 2, n - 2, 1 + (size_t)bytes[0] * 16, bytes[1]);
    REQUIRE(whole.hash == split.hash && whole.n_lines == split.n_lines);
    REQUIRE(whole.n_too_long == split.n_too_long);
    return 0;
}
