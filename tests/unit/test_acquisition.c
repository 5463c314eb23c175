/* test_acquisition.c - from nothing to a fleet's lease: berthd first asks a database, and may not
 * reach it (berth/acquisition.h). */
#include "client_help.h"
#include "scratch.h"

#include "client/exit_status.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(acquisition, .init = stage_setup, .fini = scratch_end);

static const enum if_down all[] = {IF_DOWN_FAIL, IF_DOWN_WAIT, IF_DOWN_RUN};
#define N_ALL (sizeof all / sizeof all[0])

#define expect_step(stage, now, result) cr_expect_eq(stage_step((stage), (now)), (result))
#define expect_said(stage, text) cr_expect_str_eq(stage_said(stage), (text))

static bool has_sent(struct stage *stage, const char *beginning)
{
    return strncmp(stage_line(stage), beginning, strlen(beginning)) == 0;
}

/* It has asked, and got this answer; both at T. */
static enum acquisition_result answered(struct stage *stage, const char *answer)
{
    stage_begin(stage);
    cr_assert_eq(stage_step(stage, T), ACQUISITION_GOES_ON);
    cr_assert(has_sent(stage, "acquire r:1"));
    stage_say(stage, answer);
    return stage_step(stage, T);
}

static struct stage *pending(enum if_down if_down, nanoseconds wait)
{
    struct stage *stage = stage_open();
    stage->options.if_down = if_down;
    stage->options.wait = wait;
    cr_assert_eq(answered(stage, "pending 1\n"), ACQUISITION_GOES_ON);
    cr_assert_eq(stage->acquisition.state, ACQUISITION_PENDING);
    return stage;
}

static struct stage *queued(enum if_down if_down, nanoseconds wait)
{
    struct stage *stage = pending(if_down, wait);
    stage_say(stage, "* waiting 1 position=3\n");
    cr_assert_eq(stage_step(stage, T), ACQUISITION_GOES_ON);
    cr_assert_eq(stage->acquisition.state, ACQUISITION_QUEUED);
    return stage;
}

/* Steps at each deadline until there is another request, or it is over. */
static enum acquisition_result until_asked(struct stage *stage, nanoseconds *nowp)
{
    enum acquisition_result result = ACQUISITION_GOES_ON;
    for (int i = 0; i < 50 && result == ACQUISITION_GOES_ON; i++) {
        nanoseconds at = acquisition_deadline(&stage->acquisition);
        cr_assert_neq(at, NEVER);
        *nowp = later(*nowp, at);
        result = stage_step(stage, *nowp);
        if (stage->acquisition.state == ACQUISITION_ASKED) {
            break;
        }
    }
    return result;
}

/* ---- pending ---- */

Test(acquisition, granted_at_once)
{
    struct stage *stage = pending(IF_DOWN_FAIL, NEVER);
    stage_say(stage, "* granted 2 slot=r,1,0\n* denied 2 lost\n* granted 1 slot=r,5,0\n");
    expect_step(stage, T + S, ACQUISITION_GRANTED);
    cr_expect_str_eq(stage->acquisition.grant.lease, "1");
    cr_expect(stage->acquisition.is_fleet);
    expect_said(stage, "");
}

Test(acquisition, a_queued_waiter_outlasts_silence)
{
    struct stage *stage = queued(IF_DOWN_FAIL, NEVER);
    expect_step(stage, T + S, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(stage), "why lease=1");
    expect_step(stage, T + 90000 * S, ACQUISITION_GOES_ON);
    cr_expect_eq(acquisition_deadline(&stage->acquisition), NEVER);
    stage_say(stage, "* waiting 1 position=2\n* granted 1 slot=r,5,0\n");
    expect_step(stage, T + 90001 * S, ACQUISITION_GRANTED);
}

Test(acquisition, a_host_s_lease_is_none_of_a_fleet)
{
    struct stage *stage = stage_open();
    cr_expect_eq(answered(stage, "ok 1 slot=r,5,0\n"), ACQUISITION_GRANTED);
    cr_expect_not(stage->acquisition.is_fleet);
}

Test(acquisition, refused_by_the_database)
{
    struct stage *stage = pending(IF_DOWN_FAIL, 0);
    stage_say(stage, "* denied 1 would-wait\n");
    expect_step(stage, T + 3 * S, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(stage), "why r:1");
    stage_say(stage, "ok is=busy position=1\nbrief r:%20held%20by%20ada\nbecause x\nend\n");
    expect_step(stage, T + 3 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
    expect_said(stage, "berth: r: held by ada (would-wait)\n");
}

/* An older berthd, one that has other things to do, one that ends; or it has become free. */
Test(acquisition, refused_by_the_database_without_explanation)
{
    static const char *const answers[] = {"error malformed\n", "", NULL,
        "ok is=free\nbrief r\nend\n", "ok is=busy\nbrief r:%20held", "* denied 1 would-wait\n"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct stage *stage = pending(IF_DOWN_FAIL, 0);
        stage_say(stage, "* denied 1 would-wait\n");
        expect_step(stage, T + 3 * S, ACQUISITION_GOES_ON);
        if (answers[i]) {
            stage_say(stage, answers[i]);
        } else {
            stage_hang_up(stage);
        }
        if (stage_step(stage, T + 3 * S) == ACQUISITION_GOES_ON) {
            cr_expect_eq(acquisition_deadline(&stage->acquisition), T + 3 * S + 500 * MS);
            expect_step(stage, T + 3 * S + 500 * MS, ACQUISITION_REFUSED);
        }
        cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
        expect_said(stage, "berth: r: not free now (would-wait)\n");
    }
}

/* With -q nobody reads it. */
Test(acquisition, refused_by_the_database_quietly)
{
    struct stage *stage = stage_open();
    stage->options.wait = 0;
    stage->options.quiet = true;
    cr_expect_eq(answered(stage, "pending 1\n* denied 1 would-wait\n"), ACQUISITION_REFUSED);
    expect_said(stage, "");
}

Test(acquisition, a_refusal_names_the_resource_once)
{
    static const char *const rows[][2] = {
        {"no%20way", "r: no way"}, {"r:%20no%20way", "r: no way"}, {"r%20no", "r: r no"},
        {"rr:%20no", "r: rr: no"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        struct stage *stage = stage_open();
        snprintf(text, sizeof text, "pending 1\n* denied 1 quota %s\n", rows[i][0]);
        cr_expect_eq(answered(stage, text), ACQUISITION_REFUSED);
        snprintf(text, sizeof text, "berth: %s (quota)\n", rows[i][1]);
        expect_said(stage, text);
    }
}

Test(acquisition, nonsense)
{
    struct stage *stage = stage_open();
    cr_expect_eq(answered(stage, "pending ?\n"), ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_DOWN);
}

/* ---- pending, and then nothing ---- */

Test(acquisition, silence_counts_as_down)
{
    struct stage *stage = pending(IF_DOWN_FAIL, NEVER);
    cr_expect_eq(acquisition_deadline(&stage->acquisition), T + 5 * S);
    expect_step(stage, T + 5 * S - 1, ACQUISITION_GOES_ON);
    expect_step(stage, T + 5 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_DOWN);
    expect_said(stage, "berth: no answer from the database of r\n");
}

/* The job must not get, a moment later, a lease that it does not know about. */
Test(acquisition, silence_and_running_all_the_same)
{
    struct stage *stage = pending(IF_DOWN_RUN, NEVER);
    expect_step(stage, T + 5 * S, ACQUISITION_UNLEASED);
    cr_expect(has_sent(stage, "cancel once="));
    expect_said(stage, "berth: no answer from the database of r; running without a lease\n");
}

Test(acquisition, silence_and_patience)
{
    struct stage *stage = pending(IF_DOWN_WAIT, NEVER);
    nanoseconds now = T;
    cr_expect_eq(until_asked(stage, &now), ACQUISITION_GOES_ON);
    cr_expect(now >= T + 5 * S && now <= T + 6 * S);
    expect_said(stage, "berth: no answer from the database of r; trying again\n");
    cr_expect(has_sent(stage, "reclaim 1 r:1")); /* berthd may still know it */
    stage_say(stage, "error lost\n");
    expect_step(stage, now, ACQUISITION_GOES_ON);
    cr_expect(has_sent(stage, "acquire r:1"));
    stage_say(stage, "pending 2\n* granted 2 slot=r,5,0\n");
    expect_step(stage, now, ACQUISITION_GRANTED);
}

Test(acquisition, the_end_of_a_wait_is_no_outage)
{
    struct stage *stage = pending(IF_DOWN_FAIL, 3 * S);
    cr_expect_eq(acquisition_deadline(&stage->acquisition), T + 3 * S);
    expect_step(stage, T + 3 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
    expect_said(
        stage, "berth: timed out waiting for r (timeout): no answer from the database of r\n");
}

/* What berthd says is a timeout, not a client that goes. */
Test(acquisition, berthd_ends_a_wait_first)
{
    struct stage *stage = queued(IF_DOWN_FAIL, 3 * S);
    expect_step(stage, T + 3 * S, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(stage), "why lease=1");
    stage_say(stage, "error lost\n* denied 1 timeout\n");
    expect_step(stage, T + 3 * S + 1, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(stage), "why r:1");
    stage_say(stage, "ok is=busy\nbrief r:%20held%20by%20pid%201\nend\n");
    expect_step(stage, T + 3 * S + 2, ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
    expect_said(stage, "berth: timed out waiting for r: held by pid 1 (timeout)\n");
}

Test(acquisition, a_berthd_that_does_not_end_the_wait)
{
    struct stage *stage = queued(IF_DOWN_FAIL, 3 * S);
    expect_step(stage, T + 3 * S + 100 * MS - 1, ACQUISITION_GOES_ON);
    expect_step(stage, T + 3 * S + 100 * MS, ACQUISITION_REFUSED);
    expect_said(stage, "berth: timed out waiting for r (timeout)\n");
}

/* Without an answer the resource may still be free. */
Test(acquisition, without_a_wait_silence_is_an_outage)
{
    struct stage *stage = pending(IF_DOWN_FAIL, 0);
    expect_step(stage, T + 4 * S, ACQUISITION_GOES_ON);
    expect_step(stage, T + 5 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_DOWN);
}

Test(acquisition, the_connection_is_lost_before_there_is_a_place)
{
    struct stage *stage = pending(IF_DOWN_FAIL, NEVER);
    nanoseconds now = T;
    stage_hang_up(stage);
    expect_step(stage, now, ACQUISITION_GOES_ON);
    cr_expect_eq(until_asked(stage, &now), ACQUISITION_GOES_ON);
    cr_expect(has_sent(stage, "reclaim 1 r:1"));
    stage_say(stage, "pending 1\n* waiting 1 position=1\n");
    expect_step(stage, now, ACQUISITION_GOES_ON);
    cr_expect_eq(stage->acquisition.state, ACQUISITION_QUEUED);
    expect_said(stage, "");
}

/* ---- the database is down ---- */

/* As the first answer, and as what becomes of a pending one. */
static const char *const downs[] = {"error down", "pending 1\n* denied 1 down"};
static const char *const whys[] = {"", "r: "};

Test(acquisition, down_fails)
{
    struct stage *stage = stage_open();
    for (size_t i = 0; i < 2; i++) {
        char answer[64], said[128];
        snprintf(answer, sizeof answer, "%s\n", downs[i]);
        snprintf(said, sizeof said, "berth: %sits database cannot be reached (down)\n", whys[i]);
        cr_expect_eq(answered(stage, answer), ACQUISITION_REFUSED);
        cr_expect_eq(stage->acquisition.status, STATUS_DOWN);
        expect_said(stage, said);
        stage->options.quiet = true; /* which is for waiting and busy only */
    }
}

Test(acquisition, down_and_running_all_the_same)
{
    struct stage *stage = stage_open();
    stage->options.if_down = IF_DOWN_RUN;
    for (size_t i = 0; i < 2; i++) {
        char answer[64];
        snprintf(answer, sizeof answer, "%s no%%20way\n", downs[i]);
        cr_expect_eq(answered(stage, answer), ACQUISITION_UNLEASED);
        cr_expect(strstr(stage_said(stage), "no way (down); running without a lease\n"));
        cr_expect_eq(stage->connection.fd, -1);
    }
}

/* Tries again, soon at first, then each 5 s at most; one message; another request each time that
 * one has been denied. */
static void wait_through(const char *answer)
{
    struct stage *stage = stage_open();
    nanoseconds now = T, longest = 0, first = 0;
    size_t said = 0;
    char once[LINE_BYTES + 1] = "";
    stage->options.if_down = IF_DOWN_WAIT;
    cr_assert_eq(answered(stage, answer), ACQUISITION_GOES_ON);
    for (int i = 0; i < 12; i++) {
        nanoseconds begun = now;
        cr_assert_eq(until_asked(stage, &now), ACQUISITION_GOES_ON);
        nanoseconds gap = now - begun;
        first = i == 0 ? gap : first;
        longest = later(longest, gap);
        cr_assert(has_sent(stage, "acquire r:1"));
        cr_expect_str_neq(strstr(stage->line, "once="), once);
        strcpy(once, answer[0] == 'p' ? strstr(stage->line, "once=") : "");
        stage_say(stage, answer);
        cr_assert_eq(stage_step(stage, now), ACQUISITION_GOES_ON);
        bool is_young = now < T + S;
        const char *text = stage_said(stage);
        cr_expect(!is_young || text[0] == '\0', "too soon: %s", text);
        said += strlen(text) > 0;
    }
    cr_expect(first <= S && longest > S && longest <= 5 * S, "%ld %ld", (long)first, (long)longest);
    cr_expect_eq(said, 1);
}

Test(acquisition, refused_and_patience)
{
    wait_through("error down\n");
}

Test(acquisition, denied_and_patience)
{
    wait_through("pending 1\n* denied 1 down\n");
}

Test(acquisition, down_and_up_again)
{
    struct stage *stage = stage_open();
    nanoseconds now = T;
    stage->options.if_down = IF_DOWN_WAIT;
    cr_expect_eq(answered(stage, "pending 1\n* denied 1 down\n"), ACQUISITION_GOES_ON);
    until_asked(stage, &now);
    cr_expect(has_sent(stage, "acquire r:1"));
    stage_say(stage, "pending 2\n* waiting 2 position=1\n* granted 2 slot=r,5,0\n");
    expect_step(stage, now, ACQUISITION_GRANTED);
    expect_said(stage, "");
}

Test(acquisition, down_until_the_wait_ends)
{
    struct stage *stage = stage_open();
    nanoseconds now = T;
    enum acquisition_result result = ACQUISITION_GOES_ON;
    stage->options.if_down = IF_DOWN_WAIT;
    stage->options.wait = 4 * S;
    cr_expect_eq(answered(stage, "error down\n"), ACQUISITION_GOES_ON);
    while ((result = until_asked(stage, &now)) == ACQUISITION_GOES_ON) {
        stage_line(stage);
        stage_say(stage, "error down\n");
        result = stage_step(stage, now);
    }
    cr_expect_eq(result, ACQUISITION_REFUSED);
    cr_expect_eq(now, T + 4 * S);
    cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
    cr_expect(strstr(stage_said(stage),
        "berth: timed out waiting for r (timeout): its database cannot be reached (down)\n"));
}

Test(acquisition, quiet)
{
    struct stage *stage = stage_open();
    nanoseconds now = T;
    stage->options.if_down = IF_DOWN_WAIT;
    stage->options.quiet = true;
    cr_expect_eq(answered(stage, "error down\n"), ACQUISITION_GOES_ON);
    while (now < T + 20 * S) {
        until_asked(stage, &now);
        stage_line(stage);
        stage_say(stage, "error down\n");
        expect_step(stage, now, ACQUISITION_GOES_ON);
    }
    expect_said(stage, "");
}

/* ---- accepted ---- */

Test(acquisition, a_waiter_never_fails_by_a_database)
{
    for (size_t i = 0; i < N_ALL; i++) {
        struct stage *stage = queued(all[i], NEVER);
        nanoseconds now = T + 3600 * S;
        expect_step(stage, now, ACQUISITION_GOES_ON); /* who holds it */
        cr_expect_str_eq(stage_line(stage), "why lease=1");
        stage_say(stage, "* denied 1 down\n");
        expect_step(stage, now, ACQUISITION_GOES_ON);
        cr_expect_leq(acquisition_deadline(&stage->acquisition), now + S / 10);
        for (int k = 0; k < 10; k++) {
            cr_assert_eq(until_asked(stage, &now), ACQUISITION_GOES_ON);
            cr_assert(has_sent(stage, "acquire r:1"));
            stage_say(stage, k % 2 == 0 ? "error down\n" : "pending 2\n* denied 2 down\n");
            cr_assert_eq(stage_step(stage, now), ACQUISITION_GOES_ON);
        }
        static const char lost[] = "berth: lost the place in the queue (";
        const char *said = stage_said(stage);
        cr_expect(
            strncmp(said, lost, sizeof lost - 1) == 0 && !strchr(strchr(said, '\n') + 1, '\n'),
            "%s", said); /* once */
        until_asked(stage, &now);
        stage_line(stage);
        stage_say(stage, "pending 3\n");
        expect_step(stage, now, ACQUISITION_GOES_ON);
        expect_step(stage, now + 900 * S, ACQUISITION_GOES_ON); /* it has been asked: it stays */
        stage_say(stage, "* granted 3 slot=r,5,0\n");
        expect_step(stage, now + 901 * S, ACQUISITION_GRANTED);
        connection_close(&stage->connection);
        stage_hang_up(stage);
    }
}

/* berthd is restarted while its database is away. */
Test(acquisition, a_waiter_s_reclaim_is_pending)
{
    struct stage *stage = queued(IF_DOWN_FAIL, 100 * S);
    nanoseconds now = T;
    stage_hang_up(stage);
    expect_step(stage, now, ACQUISITION_GOES_ON);
    until_asked(stage, &now);
    cr_expect(has_sent(stage, "reclaim 1 r:1"));
    stage_say(stage, "pending 1\n");
    expect_step(stage, now, ACQUISITION_GOES_ON);
    expect_step(stage, now + 50 * S, ACQUISITION_GOES_ON);
    expect_step(stage, T + 100 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
}

Test(acquisition, a_waiter_s_time_goes_on_while_it_is_down)
{
    struct stage *stage = queued(IF_DOWN_FAIL, 10 * S);
    nanoseconds now = T + 2 * S;
    enum acquisition_result result;
    stage_say(stage, "* denied 1 down\n");
    expect_step(stage, now, ACQUISITION_GOES_ON);
    while ((result = until_asked(stage, &now)) == ACQUISITION_GOES_ON) {
        stage_line(stage);
        stage_say(stage, "error down\n");
        result = stage_step(stage, now);
        cr_assert_eq(result, ACQUISITION_GOES_ON);
    }
    cr_expect_eq(result, ACQUISITION_REFUSED);
    cr_expect_eq(now, T + 10 * S);
    cr_expect_eq(stage->acquisition.status, STATUS_NOT_ACQUIRED);
}
