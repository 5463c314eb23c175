/* test_wire_protocol.c - the tables of requests, keys, codes and events, and request_parse().
 * check_docs.py compares the tables with doc/protocol.md. */
#include "base/text.h"
#include "base/words.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* ---- tables ---- */

static void expect_word(const char *word)
{
    cr_assert(word && word[0]);
    for (const char *c = word; *c; c++) {
        cr_expect(islower((unsigned char)*c) || *c == '-' || *c == '_', "%s", word);
    }
}

Test(tables, every_command_row_is_whole)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command_row *row = &command_table[i];
        expect_word(row->word);
        cr_expect_neq((int)row->right, 0, "%s has no right", row->word);
        cr_expect_leq((int)row->right, RIGHT_DAEMON_ADMIN, "%s", row->word);
        cr_expect_leq(row->min, row->max, "%s", row->word);
        cr_expect_leq(row->max, (int)MAX_ARGUMENTS, "%s", row->word);
        cr_expect_eq((uint64_t)row->keys >> N_REQUEST_KEYS, 0, "%s", row->word);
        cr_expect(row->help && row->help[0], "%s", row->word);
        for (size_t j = 0; j < i; j++) {
            cr_expect_str_neq(row->word, command_table[j].word);
        }
    }
}

Test(tables, every_key_is_of_some_command)
{
    uint64_t keys = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        keys |= command_table[i].keys;
    }
    cr_expect_eq(keys, (UINT64_C(1) << N_REQUEST_KEYS) - 1);
    for (size_t i = 0; i < N_REQUEST_KEYS; i++) {
        expect_word(request_key_table[i].word);
    }
}

Test(tables, codes)
{
    cr_expect_null(code_table[CODE_NONE].word);
    for (enum code code = CODE_NONE + 1; code < N_CODES; code++) {
        const struct code_row *row = &code_table[code];
        expect_word(row->word);
        cr_expect(row->meaning && row->meaning[0]);
        cr_expect_eq(code_find(row->word), code, "%s twice", row->word);
        cr_expect(row->exit_status == 124 || row->exit_status == 1 ||
                (row->exit_status >= 64 && row->exit_status <= 78),
            "%s exits with %d", row->word, row->exit_status);
    }
    cr_expect_eq(code_find(""), CODE_NONE);
    cr_expect_eq(code_find("hel"), CODE_NONE);
    cr_expect_eq(code_find("held "), CODE_NONE);
    cr_expect_eq(code_find("from-the-future"), CODE_NONE);
}

Test(tables, events)
{
    for (enum event event = EVENT_NONE + 1; event < N_EVENTS; event++) {
        expect_word(event_words[event]);
        cr_expect_eq(event_find(event_words[event]), event);
    }
    cr_expect_eq(event_find("from-the-future"), EVENT_NONE);
    cr_expect_eq(event_find(""), EVENT_NONE);
}

/* ---- requests ---- */

/* A parsed request, or the error, as text: "word arg arg key=value", keys in the table's order;
 * "!code detail". */
static const char *parsed_bytes(const char *bytes, size_t n)
{
    static struct text out = TEXT_INIT;
    static char line[2 * LINE_BYTES];
    struct request request;
    const char *detail = "untouched";
    cr_assert_lt(n, sizeof line);
    memcpy(line, bytes, n);
    line[n] = '\0';
    out.length = 0;
    enum code code = request_parse(line, n, &request, &detail);
    if (code != CODE_NONE) {
        text_add_format(&out, "!%s %s", code_table[code].word, detail ? detail : "-");
        return out.bytes;
    }
    text_add(&out, command_table[request.command].word);
    for (size_t i = 0; i < request.n_arguments; i++) {
        text_add_format(&out, " %s", request.arguments[i]);
    }
    for (size_t i = 0; i < N_REQUEST_KEYS; i++) {
        if (request.keys[i]) {
            text_add_format(&out, " %s=%s", request_key_table[i].word, request.keys[i]);
        }
    }
    return out.bytes;
}

static const char *parsed(const char *line)
{
    return parsed_bytes(line, strlen(line));
}

static void expect(const char *line, const char *expected)
{
    cr_expect_str_eq(parsed(line), expected, "\"%s\": %s", line, parsed(line));
}

/* The word of a command and so many arguments; good until the next call. */
static const char *with_arguments(const struct command_row *row, int n)
{
    static struct text line = TEXT_INIT;
    line.length = 0;
    text_add(&line, row->word);
    for (int i = 0; i < n; i++) {
        text_add_format(&line, " a%d", i);
    }
    return line.bytes;
}

/* Every form of every request of doc/protocol.md 4. */
Test(requests, the_documented_ones)
{
    static const char *const lines[] = {
        "hello",
        "hello proto=1",
        "hello proto=1 program=backup",
        "hello program=backup",
        "ping",
        "version",
        "acquire deploy",
        "acquire etl:2 gpus market/alice:3",
        "acquire deploy wait=30s pid=123 priority=-5 parent=3k holder=job-7 program=make "
        "reason=why",
        "acquire a wait=0",
        "acquire deploy ttl=30s once=5f",
        "acquire deploy pid=123 kill_after=5s on_lost=kill signal=2 once=5f",
        "reclaim 3k deploy:1:0 gpus:2:a,b",
        "reclaim 3k deploy:1 wait=3s pid=123 once=5f",
        "bind 3k pid=123",
        "renew 3k",
        "renew 3k ttl=30s",
        "renew deploy holder=job-7",
        "revoke 3k",
        "drop 3k",
        "move 3k first reason=urgent",
        "release 3k",
        "release deploy holder=job-7",
        "release gpus item=gpu0",
        "release 3k exit=1",
        "release 3k signal=9",
        "cancel 3k",
        "away 3k",
        "back 3k",
        "status",
        "status deploy gpus",
        "status lease=3k",
        "why deploy gpus:2",
        "why lease=3k",
        "why pid=17",
        "wait",
        "wait deploy gpus",
        "wait lease=3k",
        "watch",
        "watch ended=1",
        "why deploy:2 gpus",
        "why lease=3k",
        "why pid=123",
        "history",
        "history deploy since=1h user=1000",
        "history lease=3k",
        "hosts",
        "metrics",
        "metrics from=17",
        "limit etl 4",
        "add gpus gpu9",
        "remove gpus gpu9",
        "reserve gpus gpu0",
        "reserve gpus gpu0 reason=broken",
        "pause etl",
        "pause etl reason=upgrade",
        "resume etl",
        "reset etl",
        "forget etl",
        "forget market/* database=licences",
        "drain",
        "drain wait=1",
        "undrain",
        "reload",
        "ring",
        "sees user=1000 groups=100,1000",
        "found",
        "found database=licences",
        "upgrade",
        "upgrade database=licences",
    };
    bool seen[N_COMMANDS] = {false};
    for (size_t i = 0; i < N(lines); i++) {
        expect(lines[i], lines[i]);
        for (size_t c = 0; c < N_COMMANDS; c++) {
            size_t n = strlen(command_table[c].word);
            seen[c] |= strncmp(lines[i], command_table[c].word, n) == 0 && !isalpha(lines[i][n]);
        }
    }
    for (size_t c = 0; c < N_COMMANDS; c++) {
        cr_expect(seen[c], "%s is not in this test", command_table[c].word);
    }
}

/* From the table: the fewest and the most arguments, all keys; one fewer, one more. */
Test(requests, arguments_of_every_command)
{
    for (size_t c = 0; c < N_COMMANDS; c++) {
        const struct command_row *row = &command_table[c];
        for (int n = 0; n <= row->max + 1; n++) {
            const char *line = with_arguments(row, n), *got = parsed(line);
            bool fits = n >= row->min && n <= row->max;
            cr_expect(
                fits ? got[0] != '!' : strncmp(got, "!malformed", 10) == 0, "%s: %s", line, got);
        }
    }
}

Test(requests, keys_of_every_command)
{
    for (size_t c = 0; c < N_COMMANDS; c++) {
        const struct command_row *row = &command_table[c];
        for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
            char line[512], error[128];
            snprintf(line, sizeof line, "%s %s=1", with_arguments(row, row->min),
                request_key_table[key].word);
            snprintf(error, sizeof error, "!unknown-key %s=1", request_key_table[key].word);
            expect(line, row->keys & UINT32_C(1) << key ? line : error);
        }
    }
}

static const struct {
    const char *line, *parsed;
} lines_and_requests[] = {
    /* values are decoded */
    {"acquire a reason=a%20b%25%0a", "acquire a reason=a b%\n"},
    {"acquire a holder==x=", "acquire a holder==x="},
    {"acquire %61", "acquire a"},
    {"acquire a%3db", "acquire a=b"},
    {"acquire a%20wait%3D0", "acquire a wait=0"},
    /* keys may stand anywhere after the command */
    {"acquire wait=3 a priority=1 b", "acquire a b wait=3 priority=1"},
    /* malformed */
    {"", "!malformed -"},
    {" ", "!malformed -"},
    {" ping", "!malformed -"},
    {"ping ", "!malformed -"},
    {"status  a", "!malformed -"},
    {"status\ta", "!malformed -"},
    {"ping\r", "!malformed -"},
    {"status caf\xc3\xa9", "!malformed -"},
    {"status a\x7f", "!malformed -"},
    {"status \x01", "!malformed -"},
    {"acquire", "!malformed -"},
    {"limit a", "!malformed -"},
    {"ping a", "!malformed a"},
    {"limit a 1 2", "!malformed 2"},
    {"status a%", "!malformed a%"},
    {"status %00", "!malformed %00"},
    {"acquire a reason=%0", "!malformed reason=%0"},
    {"acquire a reason=%00", "!malformed reason=%00"},
    {"acquire a wait=1 wait=2", "!malformed wait=2"},
    /* whole words: no prefixes, no other case */
    {"pin a b", "!unknown-command pin"},
    {"pingx a b", "!unknown-command pingx"},
    {"PING a b", "!unknown-command PING"},
    {"Ping a b", "!unknown-command Ping"},
    {"acquire: a b", "!unknown-command acquire:"},
    {"= a b", "!unknown-command ="},
    {"a=b a b", "!unknown-command a=b"},
    {"* a b", "!unknown-command *"},
    {"ok a b", "!unknown-command ok"},
    {"quit a b", "!unknown-command quit"},
    {"binds a b", "!unknown-command binds"},
    {"pending a b", "!unknown-command pending"},
    {"log a b", "!unknown-command log"},
    {"%70ing a b", "!unknown-command %70ing"},
    {"acquire a =", "!unknown-key ="},
    {"acquire a =1", "!unknown-key =1"},
    {"acquire a wai=1", "!unknown-key wai=1"},
    {"acquire a waitt=1", "!unknown-key waitt=1"},
    {"acquire a WAIT=1", "!unknown-key WAIT=1"},
    {"acquire a until=1", "!unknown-key until=1"},
    {"acquire a %77ait=1", "!unknown-key %77ait=1"},
};

Test(requests, lines)
{
    for (size_t i = 0; i < N(lines_and_requests); i++) {
        expect(lines_and_requests[i].line, lines_and_requests[i].parsed);
    }
}

Test(requests, malformed_at_any_place)
{
    static const char bytes[] = {'\0', '\x1f', '\x7f', '\x80', '\xff'};
    char line[64] = "status ";
    for (size_t n = 8; n < sizeof line; n++) {
        memset(line + 7, 'a', n - 7);
        cr_assert_neq(parsed_bytes(line, n)[0], '!');
        for (size_t at = 7; at < n; at++) {
            for (size_t i = 0; i < N(bytes); i++) {
                line[at] = bytes[i];
                cr_assert_str_eq(parsed_bytes(line, n), "!malformed -");
            }
            line[at] = line[at - 1] = ' ';
            cr_assert_str_eq(parsed_bytes(line, n), "!malformed -");
            line[at] = line[at - 1] = 'a';
            line[6] = ' ';
        }
    }
}

/* All that a command takes, and one more of each. */
Test(requests, longest_lines)
{
    for (size_t c = 0; c < N_COMMANDS; c++) {
        const struct command_row *row = &command_table[c];
        char line[1024], more[1100], last[32] = "";
        snprintf(line, sizeof line, "%s", with_arguments(row, row->max));
        for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
            if (row->keys & UINT32_C(1) << key) {
                snprintf(last, sizeof last, "%s=1", request_key_table[key].word);
                strcat(strcat(line, " "), last);
            }
        }
        expect(line, line);
        snprintf(more, sizeof more, "%s more", line);
        expect(more, "!malformed more");
        if (last[0] != '\0') {
            char expected[64];
            snprintf(more, sizeof more, "%s %s", line, last);
            snprintf(expected, sizeof expected, "!malformed %s", last);
            expect(more, expected);
        }
    }
}

/* More words than are listed. */
Test(requests, many_words)
{
    char line[LINE_BYTES] = "status";
    size_t n = strlen(line);
    for (; n + 2 < sizeof line; n += 2) {
        memcpy(line + n, " a", 3);
    }
    cr_expect_str_eq(parsed(line), "!malformed a");
    line[n - 1] = '\x7f';
    cr_expect_str_eq(parsed(line), "!malformed -");
}

#define EXPECT_MALFORMED(literal)                                                                  \
    cr_expect_str_eq(parsed_bytes(literal, sizeof(literal) - 1), "!malformed -")

Test(requests, zero_bytes_are_malformed)
{
    EXPECT_MALFORMED("ping\0");
    EXPECT_MALFORMED("\0ping");
    EXPECT_MALFORMED("pi\0ng");
    EXPECT_MALFORMED("status a\0b");
    EXPECT_MALFORMED("status \0");
    EXPECT_MALFORMED("ping\0ping");
}

static void expect_longest(const char *key, size_t max)
{
    char line[LINE_BYTES];
    size_t at = (size_t)snprintf(line, sizeof line, "acquire a %s=", key);
    memset(line + at, 'x', max + 1);
    line[at + max] = '\0';
    expect(line, line);
    line[at + max] = 'x';
    line[at + max + 1] = '\0';
    cr_expect_eq(strncmp(parsed(line), "!bad-value ", 11), 0, "%s of %zu", key, max + 1);
}

Test(requests, long_and_empty_values)
{
    expect_longest("holder", 128);
    expect_longest("reason", 256);
    expect_longest("program", 64);
    for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
        char line[64];
        snprintf(line, sizeof line, "acquire a %s=", request_key_table[key].word);
        const char *got = parsed(line);
        cr_expect(got[0] == '!', "%s", line);
    }
    cr_expect_eq(strncmp(parsed("acquire a reason="), "!bad-value ", 11), 0);
}

/* The bound is on what the value means, not on how it is written. */
Test(requests, values_are_measured_decoded)
{
    char line[LINE_BYTES];
    size_t at = (size_t)snprintf(line, sizeof line, "acquire a reason=");
    for (int i = 0; i < REASON_BYTES; i++) {
        at += (size_t)snprintf(line + at, sizeof line - at, "%%20");
    }
    cr_expect_neq(parsed(line)[0], '!');
    snprintf(line + at, sizeof line - at, "%%20");
    cr_expect_eq(strncmp(parsed(line), "!bad-value ", 11), 0);
}

/* ---- answers ---- */

static size_t split(const char *text, char *words[], size_t max)
{
    static char line[256];
    snprintf(line, sizeof line, "%s", text);
    return words_split(line, words, max);
}

Test(answers, words)
{
    char *words[4];
    cr_assert_eq(split("ok 3k slot=a,1,0 pid=5", words, 4), 4);
    cr_expect_str_eq(words[0], "ok");
    cr_expect_str_eq(words[3], "pid=5");
    cr_expect_str_eq(words_find(words, 4, "slot"), "a,1,0");
    cr_expect_str_eq(words_find(words, 4, "pid"), "5");
    cr_expect_null(words_find(words, 4, "pi"));
    cr_expect_null(words_find(words, 4, "pidd"));
    cr_expect_null(words_find(words, 4, "ok"));
    cr_expect_null(words_find(words, 0, "pid"));
    uint64_t number = 7;
    cr_expect_not(words_find_number(words, 4, "slot", &number));
    cr_expect_not(words_find_number(words, 4, "pidd", &number));
    cr_expect_eq(number, 7);
    cr_expect(words_find_number(words, 4, "pid", &number));
    cr_expect_eq(number, 5);
    cr_expect_eq(split("a b c d e", words, 4), 0);
    cr_expect_eq(split("", words, 4), 0);
    cr_expect_eq(split("end", words, 4), 1);
    cr_assert_eq(split("a= b==", words, 4), 2);
    cr_expect_str_eq(words_find(words, 2, "a"), "");
    cr_expect_str_eq(words_find(words, 2, "b"), "=");
}
