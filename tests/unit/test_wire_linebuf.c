/* test_wire_linebuf.c - bytes in, lines out: split at every point, over-long, with zero bytes,
 * pipelined. */
#include "wire/linebuf.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { TRANSCRIPT_BYTES = 1 << 20 };

/* What came out: "line\n" with zero bytes shown as $, "<too long>\n". */
struct transcript {
    char *text;
    size_t n;
};

static void transcript_add(struct transcript *transcript, const char *bytes, size_t n)
{
    cr_assert_lt(transcript->n + n, (size_t)TRANSCRIPT_BYTES);
    for (size_t i = 0; i < n; i++) {
        transcript->text[transcript->n++] = bytes[i] ? bytes[i] : '$';
    }
    transcript->text[transcript->n] = '\0';
}

static void take_lines(struct linebuf *buffer, struct transcript *transcript)
{
    for (;;) {
        char *line = NULL;
        size_t length = 0;
        enum line_result result = linebuf_next(buffer, &line, &length);
        if (result == LINE_MORE) {
            return;
        }
        if (result == LINE_TOO_LONG) {
            transcript_add(transcript, "<too long>\n", 11);
            continue;
        }
        cr_assert_lt(length, (size_t)LINE_BYTES);
        cr_assert_eq(line[length], '\0');
        transcript_add(transcript, line, length);
        transcript_add(transcript, "\n", 1);
    }
}

/* Lends a piece in memory of its own, which is overwritten and freed as the loan ends. */
static void feed(struct linebuf *buffer, struct transcript *transcript, const char *bytes, size_t n)
{
    char *lent = malloc(n + 1);
    memcpy(lent, bytes, n);
    cr_assert(linebuf_feed(buffer, lent, n));
    take_lines(buffer, transcript);
    cr_assert_lt(linebuf_pending(buffer), (size_t)LINE_BYTES);
    cr_assert(linebuf_keep(buffer));
    memset(lent, '#', n + 1);
    free(lent);
}

static struct transcript transcript_new(void)
{
    struct transcript transcript = {.text = malloc(TRANSCRIPT_BYTES)};
    transcript.text[0] = '\0';
    return transcript;
}

/* Pieces of `step` bytes after a first one of `first`. */
static char *lines_of(const char *bytes, size_t n, size_t first, size_t step)
{
    struct transcript transcript = transcript_new();
    struct linebuf buffer = LINEBUF_INIT;
    size_t piece = first;
    for (size_t at = 0; at < n; at += piece, piece = step) {
        if (piece > n - at) {
            piece = n - at;
        }
        feed(&buffer, &transcript, bytes + at, piece);
    }
    linebuf_deinit(&buffer);
    return transcript.text;
}

static void expect_cut(const char *bytes, size_t n, size_t first, size_t step, const char *expected)
{
    char *lines = lines_of(bytes, n, first, step);
    cr_assert_str_eq(
        lines, expected, "%zu bytes, %zu of them and then %zu each time", n, first, step);
    free(lines);
}

static void expect_lines(const char *bytes, size_t n, const char *expected)
{
    for (size_t first = 0; first <= n; first++) {
        expect_cut(bytes, n, first, n, expected);
    }
    for (size_t step = 1; step <= n && step < 20; step++) {
        expect_cut(bytes, n, step, step, expected);
    }
}

#define EXPECT_LINES(bytes, expected) expect_lines(bytes, sizeof(bytes) - 1, expected)

Test(linebuf, whole_and_half_lines)
{
    EXPECT_LINES("", "");
    EXPECT_LINES("ping\n", "ping\n");
    EXPECT_LINES("ping", "");
    EXPECT_LINES("ping\npin", "ping\n");
    EXPECT_LINES("\n", "\n");
    EXPECT_LINES("\n\n\n", "\n\n\n");
    EXPECT_LINES("ping\r\n", "ping\r\n");
}

Test(linebuf, pipelined_lines)
{
    EXPECT_LINES(
        "one\ntwo\n\nthree words here\nfour\nrest", "one\ntwo\n\nthree words here\nfour\n");
}

Test(linebuf, zero_bytes_stay)
{
    EXPECT_LINES("a\0b\n\0\nc\n", "a$b\n$\nc\n");
}

/* `before`, then a line of `length` bytes without its LF, then `after`. */
static char *with_long_line(const char *before, size_t length, const char *after, size_t *np)
{
    size_t n_before = strlen(before), n_after = strlen(after);
    char *bytes = malloc(n_before + length + n_after + 1);
    memcpy(bytes, before, n_before);
    memset(bytes + n_before, 'x', length);
    memcpy(bytes + n_before + length, after, n_after + 1);
    *np = n_before + length + n_after;
    return bytes;
}

static void expect_around_long_line(size_t length, const char *expected)
{
    size_t n;
    char *bytes = with_long_line("one\n", length, "\ntwo\nthr", &n);
    for (size_t first = 0; first <= n; first += first < 8 || first + 20 > n ? 1 : 61) {
        expect_cut(bytes, n, first, n, expected);
    }
    static const size_t steps[] = {1, 2, 7, 4095, 4096, 4097};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        expect_cut(bytes, n, steps[i], steps[i], expected);
    }
    free(bytes);
}

Test(linebuf, the_longest_line)
{
    size_t n;
    char *expected = with_long_line("one\n", LINE_BYTES - 1, "\ntwo\n", &n);
    expect_around_long_line(LINE_BYTES - 1, expected);
    free(expected);
}

Test(linebuf, over_long_lines_are_said_once_and_skipped)
{
    expect_around_long_line(LINE_BYTES, "one\n<too long>\ntwo\n");
    expect_around_long_line(LINE_BYTES + 1, "one\n<too long>\ntwo\n");
    expect_around_long_line(3 * LINE_BYTES + 5, "one\n<too long>\ntwo\n");
}

Test(linebuf, said_at_the_start_not_at_the_end)
{
    size_t n;
    char *bytes = with_long_line("", LINE_BYTES, "", &n);
    expect_cut(bytes, n, n, n, "<too long>\n");
    expect_cut(bytes, n - 1, n, n, "");
    free(bytes);
}

Test(linebuf, two_over_long_lines_in_a_row)
{
    size_t n, m;
    char *first = with_long_line("", LINE_BYTES + 9, "\n", &n);
    char *both = with_long_line(first, LINE_BYTES, "\nok\n", &m);
    for (size_t step = 1; step <= m; step = step * 5 + 1) {
        expect_cut(both, m, step, step, "<too long>\n<too long>\nok\n");
    }
    free(both);
    free(first);
}

/* A megabyte without LF: one error, and nothing is kept. */
Test(linebuf, endless_line_costs_nothing)
{
    struct transcript transcript = transcript_new();
    struct linebuf buffer = LINEBUF_INIT;
    char piece[4096];
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 256; i++) {
        feed(&buffer, &transcript, piece, sizeof piece);
        cr_assert_eq(linebuf_pending(&buffer), 0);
        cr_assert_not(buffer.owned);
    }
    feed(&buffer, &transcript, "\nping\n", 6);
    cr_expect_str_eq(transcript.text, "<too long>\nping\n");
    linebuf_deinit(&buffer);
    free(transcript.text);
}

Test(linebuf, nothing_is_kept_of_whole_lines)
{
    struct transcript transcript = transcript_new();
    struct linebuf buffer = LINEBUF_INIT;
    feed(&buffer, &transcript, "pi", 2);
    cr_expect(buffer.owned);
    cr_expect_eq(linebuf_pending(&buffer), 2);
    feed(&buffer, &transcript, "ng\nversion\n", 11);
    cr_expect_not(buffer.owned);
    cr_expect_null(buffer.bytes);
    cr_expect_eq(linebuf_pending(&buffer), 0);
    linebuf_deinit(&buffer);
    free(transcript.text);
}

/* Lines need not be taken at once: what was not taken is kept, and comes first. */
Test(linebuf, lines_not_taken_are_kept)
{
    struct linebuf buffer = LINEBUF_INIT;
    char first[] = "one\ntwo\nth", second[] = "ree\n";
    char *line;
    size_t length;
    cr_assert(linebuf_feed(&buffer, first, sizeof first - 1));
    cr_assert_eq(linebuf_next(&buffer, &line, &length), LINE_OK);
    cr_expect_str_eq(line, "one");
    cr_assert(linebuf_keep(&buffer));
    memset(first, '#', sizeof first);
    cr_expect_eq(linebuf_pending(&buffer), 6);
    cr_expect(linebuf_has_line(&buffer));
    cr_assert_eq(linebuf_next(&buffer, &line, &length), LINE_OK);
    cr_expect_str_eq(line, "two");
    cr_expect_not(linebuf_has_line(&buffer));
    cr_expect_eq(linebuf_pending(&buffer), 2);
    cr_assert(linebuf_feed(&buffer, second, sizeof second - 1));
    cr_expect(linebuf_has_line(&buffer));
    cr_assert_eq(linebuf_next(&buffer, &line, &length), LINE_OK);
    cr_expect_str_eq(line, "three");
    cr_expect_eq(length, 5);
    cr_expect_eq(linebuf_next(&buffer, &line, &length), LINE_MORE);
    linebuf_deinit(&buffer);
}

/* 10 000 requests in one go. */
Test(linebuf, many_lines_at_once)
{
    enum { MANY = 10000 };
    char *bytes = malloc(5 * MANY + 1);
    for (size_t i = 0; i < MANY; i++) {
        memcpy(bytes + 5 * i, "ping\n", 6);
    }
    expect_cut(bytes, (size_t)5 * MANY, (size_t)5 * MANY, 1, bytes);
    expect_cut(bytes, (size_t)5 * MANY, 3, 4096, bytes);
    free(bytes);
}

Test(linebuf, deinit_of_what_was_never_used)
{
    struct linebuf buffer = LINEBUF_INIT;
    linebuf_deinit(&buffer);
    linebuf_deinit(&buffer);
    cr_expect(linebuf_keep(&buffer));
    char *line;
    size_t length;
    cr_expect_eq(linebuf_next(&buffer, &line, &length), LINE_MORE);
    cr_expect_eq(linebuf_pending(&buffer), 0);
}
