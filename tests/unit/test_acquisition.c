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

#define expect_step(now, result) cr_expect_eq(stage_step(now), (result))
#define expect_heard(text, now, result) cr_expect_eq(stage_hear((text), (now)), (result))
#define expect_said(text) cr_expect_str_eq(stage_said(), (text))

/* It is over. */
static void expect_refusal(int status, const char *said)
{
    cr_expect_eq(stage.acquisition.status, status);
    expect_said(said);
}

static bool has_sent(const char *beginning)
{
    return strncmp(stage_line(), beginning, strlen(beginning)) == 0;
}

/* It has asked, and got this answer; both at T. */
static enum acquisition_result answered(const char *answer)
{
    stage_begin();
    cr_assert_eq(stage_step(T), ACQUISITION_GOES_ON);
    cr_assert(has_sent("acquire r:1"));
    return stage_hear(answer, T);
}

static void pending(enum if_down if_down, nanoseconds wait)
{
    stage_open();
    stage.options.if_down = if_down;
    stage.options.wait = wait;
    cr_assert_eq(answered("pending 1\n"), ACQUISITION_GOES_ON);
    cr_assert_eq(stage.acquisition.state, ACQUISITION_PENDING);
}

static void queued(enum if_down if_down, nanoseconds wait)
{
    pending(if_down, wait);
    cr_assert_eq(stage_hear("* waiting 1 position=3\n", T), ACQUISITION_GOES_ON);
    cr_assert_eq(stage.acquisition.state, ACQUISITION_QUEUED);
}

/* Steps at each deadline until there is another request, or it is over. */
static enum acquisition_result until_asked(nanoseconds *nowp)
{
    enum acquisition_result result = ACQUISITION_GOES_ON;
    for (int i = 0; i < 50 && result == ACQUISITION_GOES_ON; i++) {
        nanoseconds at = acquisition_deadline(&stage.acquisition);
        cr_assert_neq(at, NEVER);
        *nowp = later(*nowp, at);
        result = stage_step(*nowp);
        if (stage.acquisition.state == ACQUISITION_ASKED) {
            break;
        }
    }
    return result;
}

/* As the first answer, and as what becomes of a pending one. */
static const char down_at_once[] = "error down\n", down_later[] = "pending 1\n* denied 1 down\n";

/* The database is down for each further request; until its wait is over. */
static nanoseconds down_until_the_end(nanoseconds now)
{
    enum acquisition_result result;
    while ((result = until_asked(&now)) == ACQUISITION_GOES_ON) {
        stage_line();
        cr_assert_eq(stage_hear(down_at_once, now), ACQUISITION_GOES_ON);
    }
    cr_expect_eq(result, ACQUISITION_REFUSED);
    cr_expect_eq(stage.acquisition.status, STATUS_NOT_ACQUIRED);
    return now;
}

/* ---- pending ---- */

Test(acquisition, granted_at_once)
{
    pending(IF_DOWN_FAIL, NEVER);
    expect_heard("* granted 2 slot=r,1,0\n* denied 2 lost\n* granted 1 slot=r,5,0\n", T + S,
        ACQUISITION_GRANTED);
    cr_expect_str_eq(stage.acquisition.grant.lease, "1");
    cr_expect(stage.acquisition.is_fleet);
    expect_said("");
}

Test(acquisition, a_queued_waiter_outlasts_silence)
{
    queued(IF_DOWN_FAIL, NEVER);
    expect_step(T + S, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(), "why lease=1");
    expect_step(T + 90000 * S, ACQUISITION_GOES_ON);
    cr_expect_eq(acquisition_deadline(&stage.acquisition), NEVER);
    expect_heard(
        "* waiting 1 position=2\n* granted 1 slot=r,5,0\n", T + 90001 * S, ACQUISITION_GRANTED);
}

Test(acquisition, a_host_s_lease_is_none_of_a_fleet)
{
    cr_expect_eq(answered("ok 1 slot=r,5,0\n"), ACQUISITION_GRANTED);
    cr_expect_not(stage.acquisition.is_fleet);
}

Test(acquisition, refused_by_the_database)
{
    pending(IF_DOWN_FAIL, 0);
    expect_heard("* denied 1 would-wait\n", T + 3 * S, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(), "why r:1");
    expect_heard("ok is=busy position=1\nbrief r:%20held%20by%20ada\nbecause x\nend\n", T + 3 * S,
        ACQUISITION_REFUSED);
    expect_refusal(STATUS_NOT_ACQUIRED, "berth: r: held by ada (would-wait)\n");
}

/* An older berthd, one that has other things to do, one that ends; or it has become free. */
Test(acquisition, refused_by_the_database_without_explanation)
{
    static const char *const answers[] = {"error malformed\n", "", NULL,
        "ok is=free\nbrief r\nend\n", "ok is=busy\nbrief r:%20held", "* denied 1 would-wait\n"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        pending(IF_DOWN_FAIL, 0);
        expect_heard("* denied 1 would-wait\n", T + 3 * S, ACQUISITION_GOES_ON);
        if (answers[i]) {
            stage_say(answers[i]);
        } else {
            stage_hang_up();
        }
        if (stage_step(T + 3 * S) == ACQUISITION_GOES_ON) {
            cr_expect_eq(acquisition_deadline(&stage.acquisition), T + 3 * S + 500 * MS);
            expect_step(T + 3 * S + 500 * MS, ACQUISITION_REFUSED);
        }
        expect_refusal(STATUS_NOT_ACQUIRED, "berth: r: not free now (would-wait)\n");
    }
}

/* With -q nobody reads it. */
Test(acquisition, refused_by_the_database_quietly)
{
    stage.options.wait = 0;
    stage.options.quiet = true;
    cr_expect_eq(answered("pending 1\n* denied 1 would-wait\n"), ACQUISITION_REFUSED);
    expect_said("");
}

Test(acquisition, a_refusal_names_the_resource_once)
{
    static const char *const rows[][2] = {
        {"no%20way", "r: no way"}, {"r:%20no%20way", "r: no way"}, {"r%20no", "r: r no"},
        {"rr:%20no", "r: rr: no"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        stage_open();
        snprintf(text, sizeof text, "pending 1\n* denied 1 quota %s\n", rows[i][0]);
        cr_expect_eq(answered(text), ACQUISITION_REFUSED);
        snprintf(text, sizeof text, "berth: %s (quota)\n", rows[i][1]);
        expect_said(text);
    }
}

Test(acquisition, nonsense)
{
    cr_expect_eq(answered("pending ?\n"), ACQUISITION_REFUSED);
    cr_expect_eq(stage.acquisition.status, STATUS_DOWN);
}

/* ---- pending, and then nothing ---- */

Test(acquisition, silence_counts_as_down)
{
    pending(IF_DOWN_FAIL, NEVER);
    cr_expect_eq(acquisition_deadline(&stage.acquisition), T + 5 * S);
    expect_step(T + 5 * S - 1, ACQUISITION_GOES_ON);
    expect_step(T + 5 * S, ACQUISITION_REFUSED);
    expect_refusal(STATUS_DOWN, "berth: no answer from the database of r\n");
}

/* The job must not get, a moment later, a lease that it does not know about. */
Test(acquisition, silence_and_running_all_the_same)
{
    pending(IF_DOWN_RUN, NEVER);
    expect_step(T + 5 * S, ACQUISITION_UNLEASED);
    cr_expect(has_sent("cancel once="));
    expect_said("berth: no answer from the database of r; running without a lease\n");
}

Test(acquisition, silence_and_patience)
{
    pending(IF_DOWN_WAIT, NEVER);
    nanoseconds now = T;
    cr_expect_eq(until_asked(&now), ACQUISITION_GOES_ON);
    cr_expect(now >= T + 5 * S && now <= T + 6 * S);
    expect_said("berth: no answer from the database of r; trying again\n");
    cr_expect(has_sent("reclaim 1 r:1")); /* berthd may still know it */
    expect_heard("error lost\n", now, ACQUISITION_GOES_ON);
    cr_expect(has_sent("acquire r:1"));
    expect_heard("pending 2\n* granted 2 slot=r,5,0\n", now, ACQUISITION_GRANTED);
}

Test(acquisition, the_end_of_a_wait_is_no_outage)
{
    pending(IF_DOWN_FAIL, 3 * S);
    cr_expect_eq(acquisition_deadline(&stage.acquisition), T + 3 * S);
    expect_step(T + 3 * S, ACQUISITION_REFUSED);
    expect_refusal(STATUS_NOT_ACQUIRED,
        "berth: timed out waiting for r (timeout): no answer from the database of r\n");
}

/* What berthd says is a timeout, not a client that goes. */
Test(acquisition, berthd_ends_a_wait_first)
{
    queued(IF_DOWN_FAIL, 3 * S);
    expect_step(T + 3 * S, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(), "why lease=1");
    expect_heard("error lost\n* denied 1 timeout\n", T + 3 * S + 1, ACQUISITION_GOES_ON);
    cr_expect_str_eq(stage_line(), "why r:1");
    expect_heard(
        "ok is=busy\nbrief r:%20held%20by%20pid%201\nend\n", T + 3 * S + 2, ACQUISITION_REFUSED);
    expect_refusal(
        STATUS_NOT_ACQUIRED, "berth: timed out waiting for r: held by pid 1 (timeout)\n");
}

Test(acquisition, a_berthd_that_does_not_end_the_wait)
{
    queued(IF_DOWN_FAIL, 3 * S);
    expect_step(T + 3 * S + 100 * MS - 1, ACQUISITION_GOES_ON);
    expect_step(T + 3 * S + 100 * MS, ACQUISITION_REFUSED);
    expect_said("berth: timed out waiting for r (timeout)\n");
}

/* Without an answer the resource may still be free. */
Test(acquisition, without_a_wait_silence_is_an_outage)
{
    pending(IF_DOWN_FAIL, 0);
    expect_step(T + 4 * S, ACQUISITION_GOES_ON);
    expect_step(T + 5 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage.acquisition.status, STATUS_DOWN);
}

Test(acquisition, the_connection_is_lost_before_there_is_a_place)
{
    pending(IF_DOWN_FAIL, NEVER);
    nanoseconds now = T;
    stage_hang_up();
    expect_step(now, ACQUISITION_GOES_ON);
    cr_expect_eq(until_asked(&now), ACQUISITION_GOES_ON);
    cr_expect(has_sent("reclaim 1 r:1"));
    expect_heard("pending 1\n* waiting 1 position=1\n", now, ACQUISITION_GOES_ON);
    cr_expect_eq(stage.acquisition.state, ACQUISITION_QUEUED);
    expect_said("");
}

/* ---- the database is down ---- */

Test(acquisition, down_fails)
{
    cr_expect_eq(answered(down_at_once), ACQUISITION_REFUSED);
    expect_refusal(STATUS_DOWN, "berth: its database cannot be reached (down)\n");
    stage.options.quiet = true; /* which is for waiting and busy only */
    cr_expect_eq(answered(down_later), ACQUISITION_REFUSED);
    expect_refusal(STATUS_DOWN, "berth: r: its database cannot be reached (down)\n");
}

Test(acquisition, down_and_running_all_the_same)
{
    static const char *const answers[] = {
        "error down no%20way\n", "pending 1\n* denied 1 down no%20way\n"};
    stage.options.if_down = IF_DOWN_RUN;
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(answered(answers[i]), ACQUISITION_UNLEASED);
        cr_expect(strstr(stage_said(), "no way (down); running without a lease\n"));
        cr_expect_eq(stage.connection.fd, -1);
    }
}

/* Tries again, soon at first, then each 5 s at most; one message; another request each time that
 * one has been denied. */
static void wait_through(const char *answer)
{
    nanoseconds now = T, longest = 0, first = 0;
    size_t said = 0;
    char once[LINE_BYTES + 1] = "";
    stage.options.if_down = IF_DOWN_WAIT;
    cr_assert_eq(answered(answer), ACQUISITION_GOES_ON);
    for (int i = 0; i < 12; i++) {
        nanoseconds begun = now;
        cr_assert_eq(until_asked(&now), ACQUISITION_GOES_ON);
        nanoseconds gap = now - begun;
        first = i == 0 ? gap : first;
        longest = later(longest, gap);
        cr_assert(has_sent("acquire r:1"));
        cr_expect_str_neq(strstr(stage.line, "once="), once);
        strcpy(once, answer[0] == 'p' ? strstr(stage.line, "once=") : "");
        cr_assert_eq(stage_hear(answer, now), ACQUISITION_GOES_ON);
        bool is_young = now < T + S;
        const char *text = stage_said();
        cr_expect(!is_young || text[0] == '\0', "too soon: %s", text);
        said += strlen(text) > 0;
    }
    cr_expect(first <= S && longest > S && longest <= 5 * S, "%ld %ld", (long)first, (long)longest);
    cr_expect_eq(said, 1);
}

Test(acquisition, refused_and_patience)
{
    wait_through(down_at_once);
}

Test(acquisition, denied_and_patience)
{
    wait_through(down_later);
}

Test(acquisition, down_and_up_again)
{
    nanoseconds now = T;
    stage.options.if_down = IF_DOWN_WAIT;
    cr_expect_eq(answered(down_later), ACQUISITION_GOES_ON);
    until_asked(&now);
    cr_expect(has_sent("acquire r:1"));
    expect_heard(
        "pending 2\n* waiting 2 position=1\n* granted 2 slot=r,5,0\n", now, ACQUISITION_GRANTED);
    expect_said("");
}

Test(acquisition, down_until_the_wait_ends)
{
    stage.options.if_down = IF_DOWN_WAIT;
    stage.options.wait = 4 * S;
    cr_expect_eq(answered(down_at_once), ACQUISITION_GOES_ON);
    cr_expect_eq(down_until_the_end(T), T + 4 * S);
    cr_expect(strstr(stage_said(),
        "berth: timed out waiting for r (timeout): its database cannot be reached (down)\n"));
}

Test(acquisition, quiet)
{
    nanoseconds now = T;
    stage.options.if_down = IF_DOWN_WAIT;
    stage.options.quiet = true;
    cr_expect_eq(answered(down_at_once), ACQUISITION_GOES_ON);
    while (now < T + 20 * S) {
        until_asked(&now);
        stage_line();
        expect_heard(down_at_once, now, ACQUISITION_GOES_ON);
    }
    expect_said("");
}

/* ---- accepted ---- */

Test(acquisition, a_waiter_never_fails_by_a_database)
{
    for (size_t i = 0; i < N_ALL; i++) {
        queued(all[i], NEVER);
        nanoseconds now = T + 3600 * S;
        expect_step(now, ACQUISITION_GOES_ON); /* who holds it */
        cr_expect_str_eq(stage_line(), "why lease=1");
        expect_heard("* denied 1 down\n", now, ACQUISITION_GOES_ON);
        cr_expect_leq(acquisition_deadline(&stage.acquisition), now + S / 10);
        for (int k = 0; k < 10; k++) {
            cr_assert_eq(until_asked(&now), ACQUISITION_GOES_ON);
            cr_assert(has_sent("acquire r:1"));
            cr_assert_eq(
                stage_hear(k % 2 == 0 ? "error down\n" : "pending 2\n* denied 2 down\n", now),
                ACQUISITION_GOES_ON);
        }
        static const char lost[] = "berth: lost the place in the queue (";
        const char *said = stage_said();
        cr_expect(
            strncmp(said, lost, sizeof lost - 1) == 0 && !strchr(strchr(said, '\n') + 1, '\n'),
            "%s", said); /* once */
        until_asked(&now);
        stage_line();
        expect_heard("pending 3\n", now, ACQUISITION_GOES_ON);
        expect_step(now + 900 * S, ACQUISITION_GOES_ON); /* it has been asked: it stays */
        expect_heard("* granted 3 slot=r,5,0\n", now + 901 * S, ACQUISITION_GRANTED);
        connection_close(&stage.connection);
        stage_hang_up();
    }
}

/* berthd is restarted while its database is away. */
Test(acquisition, a_waiter_s_reclaim_is_pending)
{
    queued(IF_DOWN_FAIL, 100 * S);
    nanoseconds now = T;
    stage_hang_up();
    expect_step(now, ACQUISITION_GOES_ON);
    until_asked(&now);
    cr_expect(has_sent("reclaim 1 r:1"));
    expect_heard("pending 1\n", now, ACQUISITION_GOES_ON);
    expect_step(now + 50 * S, ACQUISITION_GOES_ON);
    expect_step(T + 100 * S, ACQUISITION_REFUSED);
    cr_expect_eq(stage.acquisition.status, STATUS_NOT_ACQUIRED);
}

Test(acquisition, a_waiter_s_time_goes_on_while_it_is_down)
{
    queued(IF_DOWN_FAIL, 10 * S);
    expect_heard("* denied 1 down\n", T + 2 * S, ACQUISITION_GOES_ON);
    cr_expect_eq(down_until_the_end(T + 2 * S), T + 10 * S);
}
