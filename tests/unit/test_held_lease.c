/* test_held_lease.c - a fleet's lease while the job runs: until when, whatever becomes of berthd
 * and the machine (berth/held_lease.h with stopping.h). */
#include "client_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(held_lease, .init = stage_setup, .fini = scratch_end);

#define TERMS "kill_after=3s on_lost=kill"
#define D (T + 20 * S) /* a deadline */
#define K (4 * S) /* as berthd plans it for TERMS: kill_after, and a second at least */
#define LAG (30 * MS) /* what a hung berthd may cost */

static struct held_lease held_lease;

static void held(const char *answer)
{
    char line[256];
    stage_begin();
    cr_assert_eq(stage_step(T), ACQUISITION_GOES_ON);
    stage_line();
    snprintf(line, sizeof line, answer, "1 slot=r,5,0");
    cr_assert_eq(stage_hear(line, T), ACQUISITION_GRANTED);
    held_lease_init(&held_lease, &stage.acquisition);
}

static void of_fleet(const char *attributes)
{
    char answer[128];
    snprintf(answer, sizeof answer, "pending 1\n* granted %%s %s\n", attributes);
    held(answer);
}

static void step(nanoseconds now)
{
    held_lease_step(&held_lease, held_lease.connection->fd >= 0, now);
}

static bool is_stopping(void)
{
    return held_lease.stopping.state != STOPPING_NOT;
}

/* By a step then. */
static bool stops(nanoseconds now)
{
    step(now);
    return is_stopping();
}

static bool stops_after(const char *event, nanoseconds now)
{
    stage_say(event);
    return stops(now);
}

static enum stopping_action action(nanoseconds now)
{
    return stopping_step(&held_lease.stopping, JOB_LEFT, now);
}

/* stop=D-K, and told so at T. */
static void send_deadline(nanoseconds good_until, nanoseconds now)
{
    char line[128];
    snprintf(line, sizeof line, "* deadline 1 %lld stop=%lld\n", (long long)good_until,
        (long long)(good_until - K));
    stage_say(line);
    if (now != NEVER) {
        step(now);
    }
}

/* Granted, and good until D. */
static void good_until_d(const char *attributes)
{
    of_fleet(attributes);
    send_deadline(D, T);
}

/* When a job that obeys nothing gets SIGKILL, from `begun` on. Its loop wakes `lag` late each
 * time. */
static nanoseconds killed_at(nanoseconds begun, nanoseconds lag)
{
    nanoseconds now = begun;
    for (int i = 0; i < 10; i++) {
        if (action(now) == STOPPING_KILL) {
            return now;
        }
        now = later(now, stopping_deadline(&held_lease.stopping)) + lag;
    }
    return NEVER;
}

/* ---- a berthd that says nothing more ---- */

Test(held_lease, a_hung_berthd)
{
    good_until_d(TERMS);
    cr_expect_leq(held_lease_deadline(&held_lease), D - K + LAG);
    cr_expect_not(stops(D - K - 1));
    cr_expect(stops(D - K + LAG));
    cr_expect_str_eq(stage_said(),
        "berth: stopping the job: berthd has not renewed its lease on r in time (deadline)\n");
}

Test(held_lease, a_dead_berthd)
{
    good_until_d(TERMS);
    stage_no_berthd();
    for (nanoseconds now = T; now < D - K; now = later(now + 1, held_lease_deadline(&held_lease))) {
        cr_assert_not(stops(now));
    }
    cr_expect(stops(D - K)); /* there is nobody to hear from first */
}

Test(held_lease, a_host_s_lease_outlives_its_berthd)
{
    held("ok %s " TERMS "\n");
    stage_no_berthd();
    cr_expect_not(stops(T + 90000 * S));
}

/* berthd knows more about a max-hold. */
Test(held_lease, a_host_s_deadline)
{
    held("ok %s " TERMS "\n");
    send_deadline(D, T);
    cr_expect_not(stops(D - K + 90 * MS));
    send_deadline(D, NEVER);
    cr_expect(stops_after("* expired 1 max-hold\n", D - K + 95 * MS));
    cr_expect(strstr(stage_said(), "(max-hold)\n"));
}

Test(held_lease, each_renewal_moves_it)
{
    good_until_d(TERMS);
    for (int i = 1; i < 20; i++) {
        send_deadline(D + i * 5 * S, T + i * 5 * S);
        cr_assert_not(is_stopping());
    }
    cr_expect(stops(D + 19 * 5 * S - K + LAG));
}

/* Once begun, a stop goes on: the job has had its signal. */
Test(held_lease, a_renewal_that_comes_too_late)
{
    good_until_d(TERMS);
    step(D - K + LAG);
    cr_expect_eq(action(D - K + LAG), STOPPING_ASK);
    send_deadline(D + 60 * S, D - K + 2 * LAG);
    cr_expect_leq(killed_at(D - K + 2 * LAG, 0), D - S / 2);
}

/* ---- dead by then ---- */

static void begin_to_stop(nanoseconds kill_after, nanoseconds stop_at)
{
    held_lease_init_nothing(&held_lease);
    stopping_init(&held_lease.stopping, ON_LOST_KILL, kill_after);
    stopping_set_deadline(&held_lease.stopping, D, stop_at);
    stopping_begin(&held_lease.stopping);
}

Test(held_lease, dead_by_the_deadline)
{
    static const nanoseconds kill_afters[] = {0, 10 * MS, S, 3 * S, 7 * S, 10 * S, 60 * S};
    for (size_t i = 0; i < sizeof kill_afters / sizeof kill_afters[0]; i++) {
        nanoseconds kill_after = kill_afters[i];
        nanoseconds margin = later(S, kill_after / 3);
        nanoseconds stop = D - kill_after - margin;
        begin_to_stop(kill_after, stop);
        nanoseconds at = killed_at(stop + LAG, 20 * MS);
        cr_expect(at >= stop + LAG + kill_after, "%zu", i);
        cr_expect(at <= D - margin / 2, "%zu: %ld before", i, (long)(D - at));
    }
}

/* A stop that begins late, however late, leaves the kernel time; or has none itself. */
Test(held_lease, late)
{
    for (nanoseconds late = 0; late < K; late += 100 * MS) {
        begin_to_stop(3 * S, D - K);
        nanoseconds begun = D - K + late;
        cr_expect_leq(killed_at(begun, 0), later(begun, D - S / 2));
    }
}

Test(held_lease, revoked_shortly_before_the_deadline)
{
    good_until_d(TERMS);
    stage_say("* revoked 1 revoked\n");
    step(D - K - 1);
    cr_expect_leq(killed_at(D - K - 1, 0), D - S / 2);
}

/* ---- a machine that was asleep ---- */

Test(held_lease, resumed_in_time)
{
    good_until_d(TERMS);
    send_deadline(D + 90 * S, NEVER); /* came while we slept */
    cr_expect_not(stops(D + 10 * S));
}

/* The timer is an absolute one: it fires on resume. */
Test(held_lease, resumed_too_late)
{
    of_fleet(TERMS);
    nanoseconds now = D + 3600 * S;
    send_deadline(D, T);
    cr_expect_leq(held_lease_deadline(&held_lease), now);
    cr_expect(stops(now));
    cr_expect_eq(killed_at(now, 0), now);
}

/* ---- on-lost ---- */

Test(held_lease, warn)
{
    good_until_d("kill_after=3s on_lost=warn");
    step(D);
    cr_expect_not(stops(D + S));
    cr_expect_str_eq(stage_said(),
        "berth: berthd has not renewed its lease on r in time (deadline); the job runs on\n");
}

Test(held_lease, term)
{
    good_until_d("kill_after=3s on_lost=term");
    cr_expect(stops(D));
    cr_expect_eq(action(D), STOPPING_ASK);
    cr_expect_eq(action(D + 90 * S), STOPPING_NOTHING);
}

/* ---- told ---- */

Test(held_lease, expired)
{
    static const char *const rows[][2] = {
        {"deadline", "it could not be renewed in its database in time (deadline)"},
        {"lost so%20it%20says", "so it says (lost)"},
    };
    for (size_t i = 0; i < 2; i++) {
        stage_open();
        of_fleet(TERMS);
        char text[128];
        snprintf(text, sizeof text, "* expired 1 %s\n", rows[i][0]);
        cr_expect(stops_after(text, T));
        snprintf(text, sizeof text, "berth: stopping the job: %s\n", rows[i][1]);
        cr_expect_str_eq(stage_said(), text);
        held_lease_release(&held_lease, &(struct job_end){JOB_SIGNALLED, 15});
        cr_expect_str_eq(stage_line(), "release 1 signal=15");
        stage_hang_up();
    }
}

/* ---- reclaimed from a berthd that must ask its database ---- */

static void reclaiming(void)
{
    good_until_d(TERMS);
    stage_hang_up();
    step(T);
    step(T + S);
    cr_assert(strncmp(stage_line(), "reclaim 1 r:1:0", 15) == 0);
    stage_say("pending 1\n");
    step(T + S);
    cr_assert_eq(held_lease.state, HELD_LEASE_RECLAIMING);
}

Test(held_lease, reclaimed_at_last)
{
    reclaiming();
    stage_say("* granted 1 slot=r,6,0\n");
    send_deadline(D + 60 * S, T + 2 * S);
    cr_expect_eq(held_lease.state, HELD_LEASE_CONNECTED);
    cr_expect_not(stops(D));
    cr_expect_str_eq(stage_said(), "");
}

Test(held_lease, never_reclaimed)
{
    reclaiming();
    cr_expect_not(stops(D - K - 1));
    cr_expect(stops(D - K + LAG));
}

Test(held_lease, lost_meanwhile)
{
    static const char *const events[] = {
        "* denied 1 lost\n", "* waiting 1 position=1\n", "* granted 1 slot=r,6,1\n"};
    for (size_t i = 0; i < 3; i++) {
        stage_open();
        reclaiming();
        cr_expect(stops_after(events[i], T + 2 * S), "%s", events[i]);
        cr_expect_eq(held_lease.state, HELD_LEASE_NOTHING);
        stage_hang_up();
    }
}

/* It may come back before the deadline. */
Test(held_lease, down_meanwhile)
{
    reclaiming();
    stage_say("* denied 1 down\n");
    step(T + 2 * S);
    cr_expect_eq(held_lease.state, HELD_LEASE_DISCONNECTED);
    cr_expect_not(is_stopping());
    cr_expect_leq(held_lease_deadline(&held_lease), T + 3 * S);
    step(T + 3 * S);
    cr_expect(strncmp(stage_line(), "reclaim 1 ", 10) == 0);
    cr_expect(stops(D - K + LAG));
}

/* Such events mean nothing while it is known to be held. */
Test(held_lease, events_of_a_wait)
{
    of_fleet(TERMS);
    stage_say("* granted 1 slot=r,6,1\n* waiting 1 position=1\n* denied 1 lost\n");
    step(T + S);
    cr_expect_eq(held_lease.state, HELD_LEASE_CONNECTED);
    cr_expect_not(is_stopping());
}
