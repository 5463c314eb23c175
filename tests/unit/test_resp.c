/* Redis' replies and commands as values: whatever comes, the result is a reply, more, or
 * nonsense. */
#include "redis/resp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct resp_reader *reader;

static void begin(void)
{
    reader = resp_reader_new();
}

static void end(void)
{
    reader = resp_reader_free(reader);
}

TestSuite(resp, .init = begin, .fini = end);

static void feed(const char *bytes)
{
    resp_reader_feed(reader, bytes, strlen(bytes));
}

static enum resp_next next(const struct resp **replyp)
{
    return resp_reader_next(reader, replyp);
}

static void write_out(const struct resp *resp, char *out, size_t size)
{
    static const char marks[] = "_+-:$";
    size_t n = strlen(out);
    cr_assert_eq(resp->text[resp->length], '\0');
    if (resp->type == RESP_INTEGER) {
        snprintf(out + n, size - n, ":%lld ", (long long)resp->integer);
    } else if (resp->type != RESP_ARRAY) {
        snprintf(out + n, size - n, "%c%s ", marks[resp->type], resp->text);
    } else {
        snprintf(out + n, size - n, "[ ");
        for (size_t i = 0; i < resp->n; i++) {
            write_out(&resp->elements[i], out, size);
        }
        n = strlen(out);
        snprintf(out + n, size - n, "] ");
    }
}

static void expect(const char *text)
{
    const struct resp *reply;
    char out[512] = "";
    cr_assert_eq(next(&reply), RESP_REPLY);
    write_out(reply, out, sizeof out);
    cr_assert_str_eq(out, text);
}

static void expect_more(void)
{
    const struct resp *reply;
    cr_assert_eq(next(&reply), RESP_MORE);
}

static void expect_nonsense(void)
{
    const struct resp *reply;
    cr_assert_eq(next(&reply), RESP_NONSENSE);
    feed("+OK\r\n");
    cr_assert_eq(next(&reply), RESP_NONSENSE, "it does not become sense again");
}

static const char everything[] =
    "*7\r\n+ok\r\n-ERR no\r\n:-9223372036854775808\r\n$-1\r\n$0\r\n\r\n"
    "*2\r\n$4\r\na\r\nb\r\n*0\r\n*-1\r\n";
static const char everything_out[] = "[ +ok -ERR no :-9223372036854775808 _ $ [ $a\r\nb [ ] ] _ ] ";

Test(resp, every_type)
{
    feed(everything);
    expect(everything_out);
    expect_more();
}

Test(resp, arrays_in_arrays)
{
    feed("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*2\r\n:1\r\n$-1\r\n");
    expect("[ [ [ [ [ [ :1 _ ] ] ] ] ] ] ");
}

Test(resp, several_in_one)
{
    feed(":1\r\n:2\r\n$1\r\n3\r\n*");
    expect(":1 ");
    expect(":2 ");
    expect("$3 ");
    expect_more();
    feed("0\r\n");
    expect("[ ] ");
    expect_more();
}

Test(resp, in_two_at_each_byte)
{
    for (size_t i = 1; i < sizeof everything - 1; i++) {
        resp_reader_feed(reader, everything, i);
        expect_more();
        resp_reader_feed(reader, everything + i, sizeof everything - 1 - i);
        expect(everything_out);
    }
    expect_more();
}

Test(resp, byte_by_byte)
{
    for (size_t i = 0; i < sizeof everything - 1; i++) {
        expect_more();
        resp_reader_feed(reader, &everything[i], 1);
    }
    expect(everything_out);
}

Test(resp, any_bytes)
{
    const struct resp *reply;
    char bytes[] = "$6\r\n\0\r\n\xff$*\r\n";
    resp_reader_feed(reader, bytes, sizeof bytes - 1);
    cr_assert_eq(next(&reply), RESP_REPLY);
    cr_assert_eq(reply->length, 6);
    cr_assert_arr_eq(reply->text, "\0\r\n\xff$*", 7);
}

Test(resp, given_up_in_the_middle)
{
    feed("*3\r\n$1\r\na\r\n*2\r\n+b\r\n"); /* end() must find nothing that leaks */
    expect_more();
}

/* ---- nonsense ---- */

Test(resp, nonsense)
{
    static const char *const cases[] = {
        "x",
        "\r\n",
        "_\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "(12345678901234567890\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "~1\r\n+a\r\n",
        ">1\r\n+a\r\n",
        "=5\r\ntxt:a\r\n",
        ":\r\n",
        ":1x\r\n",
        ":99999999999999999999\r\n",
        "$x\r\n",
        "$-2\r\n",
        "$99999999999999999999\r\n",
        "*-2\r\n",
        "*1048577\r\n",
        "*2\r\n*1048575\r\n",
        "*99999999999999999999\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*0\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        "*2\r\n$1\r\na\r\n_\r\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        feed(cases[i]);
        expect_nonsense();
        end();
        begin();
    }
}

/* Of one reply, not of all together. */
Test(resp, elements_are_bounded)
{
    for (size_t i = 0; i < 3; i++) {
        feed("*1000000\r\n");
        expect_more();
        for (size_t j = 0; j < 1000; j++) {
            char thousand[5001] = "";
            for (size_t k = 0; k < 1000; k++) {
                memcpy(thousand + k * 5, "$-1\r\n", 6);
            }
            feed(thousand);
        }
        const struct resp *reply;
        cr_assert_eq(next(&reply), RESP_REPLY);
        cr_assert_eq(reply->n, 1000000);
    }
}

static enum resp_next feed_much(const char *head, size_t megabytes)
{
    const struct resp *reply;
    size_t n = megabytes * 1024 * 1024 / 5; /* not small: all that is there is moved each time */
    char *bytes = calloc(1, n);
    enum resp_next result = RESP_MORE;
    feed(head);
    for (size_t i = 0; i < 5 && result == RESP_MORE; i++) {
        resp_reader_feed(reader, bytes, n);
        result = next(&reply);
    }
    free(bytes);
    return result;
}

Test(resp, bytes_are_bounded)
{
    cr_assert_eq(feed_much("$9223372036854775807\r\n", 65), RESP_NONSENSE);
}

Test(resp, a_large_one)
{
    const struct resp *reply;
    cr_assert_eq(feed_much("$62914560\r\n", 60), RESP_MORE);
    feed("\r\n");
    cr_assert_eq(next(&reply), RESP_REPLY);
    cr_assert_eq(reply->length, 60 * 1024 * 1024);
    feed("+ok\r\n");
    expect("+ok ");
    cr_assert_eq(feed_much("$62914560\r\n", 60), RESP_MORE, "what is over counts no more");
}

/* While a connection is being made ready. */
Test(resp, a_lower_bound)
{
    static const char *const cases[] = {"*65537\r\n", "*2\r\n*65535\r\n", "*1000000\r\n"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        resp_reader_set_bound(reader, 1024 * 1024);
        feed(cases[i]);
        expect_nonsense();
        end();
        begin();
    }
    resp_reader_set_bound(reader, 1024 * 1024);
    cr_assert_eq(feed_much("$2000000\r\n", 2), RESP_NONSENSE);
}

Test(resp, a_lower_bound_for_a_while)
{
    resp_reader_set_bound(reader, 1024 * 1024);
    feed("+ok\r\n");
    expect("+ok ");
    resp_reader_set_bound(reader, RESP_MAX_BYTES);
    cr_assert_eq(feed_much("$62914560\r\n", 60), RESP_MORE);
    feed("\r\n*1000000\r\n");
    const struct resp *reply;
    cr_assert_eq(next(&reply), RESP_REPLY);
    expect_more();
}

/* CLUSTER SLOTS: 1000 ranges, each with a master and a replica that have long names. */
Test(resp, a_lower_bound_that_large_clusters_keep_to)
{
    char name[101];
    snprintf(name, sizeof name, "%0100d", 0);
    resp_reader_set_bound(reader, 1024 * 1024);
    feed("*1000\r\n");
    for (size_t i = 0; i < 1000; i++) {
        feed("*4\r\n:16000\r\n:16015\r\n");
        for (size_t j = 0; j < 2; j++) {
            char node[512];
            snprintf(node, sizeof node,
                "*4\r\n$100\r\n%s\r\n:16379\r\n$40\r\n%.40s\r\n*4\r\n$2\r\nip\r\n$15\r\n%.15s\r\n"
                "$8\r\nhostname\r\n$100\r\n%s\r\n",
                name, name, name, name);
            feed(node);
        }
        if (i < 999) {
            expect_more();
        }
    }
    const struct resp *reply;
    cr_assert_eq(next(&reply), RESP_REPLY);
    cr_assert_eq(reply->n, 1000);
}

Test(resp, a_line_is_bounded)
{
    cr_assert_eq(feed_much("-", 1), RESP_NONSENSE);
}

/* ---- commands ---- */

Test(resp, a_command)
{
    static const char *const argv[] = {"SET", "", "a\0b"};
    static const size_t lengths[] = {3, 0, 3};
    static const char bytes[] = "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\na\0b\r\n"
                                "*2\r\n$4\r\nECHO\r\n$10\r\nten bytes.\r\n";
    struct text out = TEXT_INIT;
    size_t n;
    char *command = resp_command(3, argv, lengths, &n);
    text_add_bytes(&out, command, n);
    free(command);
    resp_add_command(&out, (const char *const[]){"ECHO", "ten bytes.", NULL});
    cr_assert_eq(out.length, sizeof bytes - 1);
    cr_assert_arr_eq(out.bytes, bytes, out.length);
    text_deinit(&out);
}
