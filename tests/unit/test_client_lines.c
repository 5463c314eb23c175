/* test_client_lines.c - what berth sends (berth/request.h), reads (client/answer.h, grant.h) and
 * prints (berth/environment.h), as text. */
#include "berth/environment.h"
#include "berth/grant.h"
#include "berth/request.h"
#include "berth/options.h"
#include "client/answer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS NANOSECONDS_PER_MILLISECOND

/* What options_parse() makes of "r:2 gpus". */
static struct options options_of(void)
{
    return (struct options){
        .wanted = {{"r:2", 1, 2}, {"gpus", 4, 1}},
        .n_wanted = 2,
        .wait = NEVER,
        .kill_after = NEVER,
        .on_lost = ON_LOST_NOT_SAID,
        .nested = NESTED_NOT_SAID,
        .ttl = NEVER,
    };
}

static bool grant_of(struct grant *grant, const char *text, const struct options *options)
{
    static struct answer answer;
    static char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s", text);
    answer_parse(&answer, line);
    bool good = grant_parse(grant, &answer, options);
    memset(line, 'x', sizeof line); /* the grant must not need it any more */
    return good;
}

/* ---- requests ---- */

Test(request, acquire)
{
    static char *command[] = {"/bin/job", NULL};
    struct options options = options_of();
    struct acquire_params params = {&options, "3k", 42, 41, 0xabc, ""};
    struct request_line line;
    options.priority = -1;
    options.holder = "a b";
    options.reason = "%";
    options.signal = 9;
    options.kill_after = 1500 * MS;
    options.on_lost = ON_LOST_TERM;
    options.command = command;
    cr_assert(request_acquire(&line, &params, 1));
    cr_expect_str_eq(line.text,
        "acquire r:2 gpus:1 wait=1ms priority=-1 reason=%25 program=job holder=a%20b "
        "once=0000000000000abc parent=3k pid=42 wrapper=41 signal=9 kill_after=1500ms "
        "on_lost=term\n");
    cr_expect_eq(line.length, strlen(line.text));
}

Test(request, bound_to_time)
{
    struct options options = options_of();
    struct acquire_params params = {&options, "not a lease", 0, 0, 1, ""};
    struct request_line line;
    options.ttl = 1;
    cr_assert(request_acquire(&line, &params, NEVER));
    cr_expect_str_eq(line.text, "acquire r:2 gpus:1 ttl=1ms once=0000000000000001\n");
}

Test(request, reclaim)
{
    struct options options = options_of();
    struct acquire_params params = {&options, NULL, 42, 0, 1, "5f"};
    struct request_line line;
    static struct grant grant;
    cr_assert(grant_of(&grant, "ok 3k slot=r,5,3-4 item=gpus,6,gpu1", &options));
    request_reclaim(&line, &params, grant.lease, NEVER, &grant);
    cr_expect_str_eq(
        line.text, "reclaim 3k r:2:3-4 gpus:1:gpu1 once=0000000000000001 pid=42 proof=5f\n");
    request_reclaim(&line, &params, "3k", 0, NULL);
    cr_expect_str_eq(
        line.text, "reclaim 3k r:2 gpus:1 wait=0ms once=0000000000000001 pid=42 proof=5f\n");
}

/* Every length of a grant, with every key at its longest: the line fits, and the lease is in it. */
Test(request, reclaim_always_fits)
{
    static char name[OPTIONS_MAX_RESOURCES][NAME_BYTES + 1], text[LINE_BYTES];
    static char holder[HOLDER_BYTES + 1], reason[REASON_BYTES + 1];
    static char *command[] = {reason, NULL};
    static struct grant grant;
    struct options options = options_of();
    struct acquire_params params = {
        &options, "0123456789abc", INT32_MAX, INT32_MAX, UINT64_MAX, ""};
    memset(params.proof, '1', PROOF_BYTES);
    memset(holder, 1, HOLDER_BYTES);
    memset(reason, 1, REASON_BYTES);
    options.holder = holder;
    options.reason = reason;
    options.command = command;
    options.priority = -1000;
    options.signal = 64;
    options.kill_after = NEVER - MS;
    options.on_lost = ON_LOST_KILL;
    options.n_wanted = OPTIONS_MAX_RESOURCES;
    for (size_t i = 0; i < OPTIONS_MAX_RESOURCES; i++) {
        memset(name[i], 'a' + (int)i, NAME_BYTES);
        options.wanted[i] = (struct wanted){name[i], NAME_BYTES, 1, NULL};
    }
    for (uint32_t extra = 0; extra < 240; extra++) {
        int n = snprintf(text, sizeof text, "ok f123456789abc");
        for (size_t i = 0; i < OPTIONS_MAX_RESOURCES; i++) {
            n += snprintf(text + n, sizeof text - (size_t)n, " slot=%s,1,0", name[i]);
            for (uint32_t k = 0; i == 0 && k < extra; k++) {
                n += snprintf(text + n, sizeof text - (size_t)n, ",%u", 100001 + 2 * k);
            }
        }
        if (n >= LINE_BYTES) {
            break;
        }
        options.wanted[0].count = 1 + extra;
        cr_assert(grant_of(&grant, text, &options));
        struct request_line line;
        request_reclaim(&line, &params, grant.lease, NEVER, &grant);
        cr_assert_leq(line.length, LINE_BYTES);
        cr_assert(strncmp(line.text, "reclaim f123456789abc aaa", 25) == 0);
        cr_assert_eq(line.text[line.length - 1], '\n');
    }
    struct request_line line;
    request_reclaim(&line, &params, "f123456789abc", NEVER - MS, NULL);
    cr_assert_leq(line.length, LINE_BYTES);
    cr_assert_eq(line.text[line.length - 1], '\n');
}

/* ---- grants ---- */

Test(grant, terms)
{
    struct options options = options_of();
    static struct grant grant;
    cr_assert(grant_of(&grant,
        "ok 3k slot=r,5,3-4 item=gpus,6,a bound=connection kill_after=1.5s on_lost=warn",
        &options));
    cr_expect(grant.is_bound_to_connection);
    cr_expect_eq(grant.kill_after, 1500 * MS);
    cr_expect_eq(grant.on_lost, ON_LOST_WARN);
    cr_expect_str_eq(grant.granted[0].units, "3-4");
    cr_expect_str_eq(grant.granted[1].token, "6");

    cr_assert(grant_of(&grant,
        "* granted 3k slot=r,5,3-4 item=gpus,6,a kill_after=x on_lost=x bound=y", &options));
    cr_expect_not(grant.is_bound_to_connection);
    cr_expect_eq(grant.kill_after, NEVER);
    cr_expect_eq(grant.on_lost, ON_LOST_NOT_SAID);
}

Test(grant, same_units)
{
    static const struct {
        const char *line;
        bool same;
    } rows[] = {
        {"ok 3k slot=r,5,3-4 item=gpus,6,a,b,c", true},
        {"ok 3k slot=r,9,3-4 item=gpus,8,a,b,c", true}, /* tokens may differ */
        {"ok 3k slot=r,5,3-4 item=gpus,6,c,a,b", true},
        {"ok 3k slot=r,5,3,5 item=gpus,6,a,b,c", false},
        {"ok 3k slot=r,5,3-4 item=gpus,6,a,b,d", false},
        {"ok 3k slot=r,5,3-4 item=gpus,6,a,b,cc", false},
        {"ok 3k item=r,5,3,4 item=gpus,6,a,b,c", false},
    };
    struct options options = options_of();
    static struct grant first, other;
    options.wanted[1].count = 3;
    cr_assert(grant_of(&first, rows[0].line, &options));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert(grant_of(&other, rows[i].line, &options));
        cr_expect_eq(grant_has_units_of(&other, &first), rows[i].same, "%s", rows[i].line);
    }
}

/* ---- what acquire prints ---- */

static const char *printed(const char *variable)
{
    static struct environment environment;
    static char *text;
    size_t size;
    environment.n = strlen(variable) + 1;
    memcpy(environment.bytes, variable, environment.n);
    free(text);
    FILE *out = open_memstream(&text, &size);
    environment_print(out, &environment);
    fclose(out);
    return text;
}

Test(assignments, quoting)
{
    static const char *const rows[][2] = {
        {"A=", "A=''\n"},
        {"A=az/09._:@%+,-", "A=az/09._:@%+,-\n"},
        {"A=a b", "A='a b'\n"},
        {"A=a=b", "A='a=b'\n"},
        {"A=~", "A='~'\n"},
        {"A=\"$`\\", "A='\"$`\\'\n"},
        {"A='", "A=\"'\"\n"},
        {"A='\"$`\\x", "A=\"'\\\"\\$\\`\\\\x\"\n"},
        {"A=a\nb", "A='a\nb'\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_str_eq(printed(rows[i][0]), rows[i][1]);
    }
}

Test(assignments, several)
{
    static const char variables[] = "A=1\0B=x y\0C=3";
    static struct environment environment;
    char *text;
    size_t size;
    environment.n = sizeof variables;
    memcpy(environment.bytes, variables, sizeof variables);
    FILE *out = open_memstream(&text, &size);
    environment_print(out, &environment);
    fclose(out);
    cr_expect_str_eq(text, "A=1\nB='x y'\nC=3\n");
    free(text);
}

/* ---- small things ---- */


Test(signal_words, names_and_numbers)
{
    static const struct {
        const char *word;
        int signal;
    } rows[] = {
        {"TERM", 15},
        {"SIGTERM", 15},
        {"sigterm", 15},
        {"Term", 15},
        {"15", 15},
        {"KILL", 9},
        {"USR1", 10},
        {"64", 64},
        {"1", 1},
        {"0", 0},
        {"65", 0},
        {"", 0},
        {"SIG", 0},
        {"SIGSIGTERM", 0},
        {"TERMX", 0},
        {"-1", 0},
        {"15x", 0},
        {"015", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(signal_parse(rows[i].word), rows[i].signal, "%s", rows[i].word);
    }
}
