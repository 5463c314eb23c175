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

static struct held_lease *held(struct stage *stage, const char *answer)
{
    static struct held_lease held_lease;
    char line[256];
    stage_begin(stage);
    cr_assert_eq(stage_step(stage, T), ACQUISITION_GOES_ON);
    stage_line(stage);
    snprintf(line, sizeof line, answer, "1 slot=r,5,0");
    stage_say(stage, line);
    cr_assert_eq(stage_step(stage, T), ACQUISITION_GRANTED);
    held_lease_init(&held_lease, &stage->acquisition);
    return &held_lease;
}

static struct held_lease *of_fleet(struct stage *stage, const char *attributes)
{
    char answer[128];
    snprintf(answer, sizeof answer, "pending 1\n* granted %%s %s\n", attributes);
    return held(stage, answer);
}

static void step(struct held_lease *held_lease, nanoseconds now)
{
    held_lease_step(held_lease, held_lease->connection->fd >= 0, now);
}

static bool is_stopping(const struct held_lease *held_lease)
{
    return held_lease->stopping.state != STOPPING_NOT;
}

/* stop=D-K, and told so at T. */
static void send_deadline(
    struct stage *stage, struct held_lease *held_lease, nanoseconds good_until, nanoseconds now)
{
    char line[128];
    snprintf(line, sizeof line, "* deadline 1 %lld stop=%lld\n", (long long)good_until,
        (long long)(good_until - K));
    stage_say(stage, line);
    if (now != NEVER) {
        step(held_lease, now);
    }
}

/* When a job that obeys nothing gets SIGKILL, from `begun` on. Its loop wakes `lag` late each
 * time. */
static nanoseconds killed_at(struct held_lease *held_lease, nanoseconds begun, nanoseconds lag)
{
    nanoseconds now = begun;
    for (int i = 0; i < 10; i++) {
        if (stopping_step(&held_lease->stopping, JOB_LEFT, now) == STOPPING_KILL) {
            return now;
        }
        now = later(now, stopping_deadline(&held_lease->stopping)) + lag;
    }
    return NEVER;
}

/* ---- a berthd that says nothing more ---- */

Test(held_lease, a_hung_berthd)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    cr_expect_leq(held_lease_deadline(held_lease), D - K + LAG);
    step(held_lease, D - K - 1);
    cr_expect_not(is_stopping(held_lease));
    step(held_lease, D - K + LAG);
    cr_expect(is_stopping(held_lease));
    cr_expect_str_eq(stage_said(stage),
        "berth: stopping the job: berthd has not renewed its lease on r in time (deadline)\n");
}

Test(held_lease, a_dead_berthd)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    stage_no_berthd(stage);
    for (nanoseconds now = T; now < D - K; now = later(now + 1, held_lease_deadline(held_lease))) {
        step(held_lease, now);
        cr_assert_not(is_stopping(held_lease));
    }
    step(held_lease, D - K); /* there is nobody to hear from first */
    cr_expect(is_stopping(held_lease));
}

Test(held_lease, a_host_s_lease_outlives_its_berthd)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = held(stage, "ok %s " TERMS "\n");
    stage_no_berthd(stage);
    step(held_lease, T + 90000 * S);
    cr_expect_not(is_stopping(held_lease));
}

/* berthd knows more about a max-hold. */
Test(held_lease, a_host_s_deadline)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = held(stage, "ok %s " TERMS "\n");
    send_deadline(stage, held_lease, D, T);
    step(held_lease, D - K + 90 * MS);
    cr_expect_not(is_stopping(held_lease));
    send_deadline(stage, held_lease, D, NEVER);
    stage_say(stage, "* expired 1 max-hold\n");
    step(held_lease, D - K + 95 * MS);
    cr_expect(is_stopping(held_lease));
    cr_expect(strstr(stage_said(stage), "(max-hold)\n"));
}

Test(held_lease, each_renewal_moves_it)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    for (int i = 1; i < 20; i++) {
        send_deadline(stage, held_lease, D + i * 5 * S, T + i * 5 * S);
        cr_assert_not(is_stopping(held_lease));
    }
    step(held_lease, D + 19 * 5 * S - K + LAG);
    cr_expect(is_stopping(held_lease));
}

/* Once begun, a stop goes on: the job has had its signal. */
Test(held_lease, a_renewal_that_comes_too_late)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    step(held_lease, D - K + LAG);
    cr_expect_eq(stopping_step(&held_lease->stopping, JOB_LEFT, D - K + LAG), STOPPING_ASK);
    send_deadline(stage, held_lease, D + 60 * S, D - K + 2 * LAG);
    cr_expect_leq(killed_at(held_lease, D - K + 2 * LAG, 0), D - S / 2);
}

/* ---- dead by then ---- */

Test(held_lease, dead_by_the_deadline)
{
    static const nanoseconds kill_afters[] = {0, 10 * MS, S, 3 * S, 7 * S, 10 * S, 60 * S};
    for (size_t i = 0; i < sizeof kill_afters / sizeof kill_afters[0]; i++) {
        nanoseconds kill_after = kill_afters[i];
        nanoseconds margin = later(S, kill_after / 3);
        nanoseconds stop = D - kill_after - margin;
        struct held_lease held_lease;
        held_lease_init_nothing(&held_lease);
        stopping_init(&held_lease.stopping, ON_LOST_KILL, kill_after);
        stopping_set_deadline(&held_lease.stopping, D, stop);
        stopping_begin(&held_lease.stopping);
        nanoseconds at = killed_at(&held_lease, stop + LAG, 20 * MS);
        cr_expect(at >= stop + LAG + kill_after, "%zu", i);
        cr_expect(at <= D - margin / 2, "%zu: %ld before", i, (long)(D - at));
    }
}

/* A stop that begins late, however late, leaves the kernel time; or has none itself. */
Test(held_lease, late)
{
    for (nanoseconds late = 0; late < K; late += 100 * MS) {
        struct held_lease held_lease;
        held_lease_init_nothing(&held_lease);
        stopping_init(&held_lease.stopping, ON_LOST_KILL, 3 * S);
        stopping_set_deadline(&held_lease.stopping, D, D - K);
        stopping_begin(&held_lease.stopping);
        nanoseconds begun = D - K + late;
        cr_expect_leq(killed_at(&held_lease, begun, 0), later(begun, D - S / 2));
    }
}

Test(held_lease, revoked_shortly_before_the_deadline)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    stage_say(stage, "* revoked 1 revoked\n");
    step(held_lease, D - K - 1);
    cr_expect_leq(killed_at(held_lease, D - K - 1, 0), D - S / 2);
}

/* ---- a machine that was asleep ---- */

Test(held_lease, resumed_in_time)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    send_deadline(stage, held_lease, D + 90 * S, NEVER); /* came while we slept */
    step(held_lease, D + 10 * S);
    cr_expect_not(is_stopping(held_lease));
}

/* The timer is an absolute one: it fires on resume. */
Test(held_lease, resumed_too_late)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    nanoseconds now = D + 3600 * S;
    send_deadline(stage, held_lease, D, T);
    cr_expect_leq(held_lease_deadline(held_lease), now);
    step(held_lease, now);
    cr_expect(is_stopping(held_lease));
    cr_expect_eq(killed_at(held_lease, now, 0), now);
}

/* ---- on-lost ---- */

Test(held_lease, warn)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, "kill_after=3s on_lost=warn");
    send_deadline(stage, held_lease, D, T);
    step(held_lease, D);
    step(held_lease, D + S);
    cr_expect_not(is_stopping(held_lease));
    cr_expect_str_eq(stage_said(stage),
        "berth: berthd has not renewed its lease on r in time (deadline); the job runs on\n");
}

Test(held_lease, term)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, "kill_after=3s on_lost=term");
    send_deadline(stage, held_lease, D, T);
    step(held_lease, D);
    cr_expect(is_stopping(held_lease));
    cr_expect_eq(stopping_step(&held_lease->stopping, JOB_LEFT, D), STOPPING_ASK);
    cr_expect_eq(stopping_step(&held_lease->stopping, JOB_LEFT, D + 90 * S), STOPPING_NOTHING);
}

/* ---- told ---- */

Test(held_lease, expired)
{
    static const char *const rows[][2] = {
        {"deadline", "it could not be renewed in its database in time (deadline)"},
        {"lost so%20it%20says", "so it says (lost)"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct stage *stage = stage_open();
        struct held_lease *held_lease = of_fleet(stage, TERMS);
        char text[128];
        snprintf(text, sizeof text, "* expired 1 %s\n", rows[i][0]);
        stage_say(stage, text);
        step(held_lease, T);
        cr_expect(is_stopping(held_lease));
        snprintf(text, sizeof text, "berth: stopping the job: %s\n", rows[i][1]);
        cr_expect_str_eq(stage_said(stage), text);
        held_lease_release(held_lease, &(struct job_end){JOB_SIGNALLED, 15});
        cr_expect_str_eq(stage_line(stage), "release 1 signal=15");
        stage_hang_up(stage);
    }
}

/* ---- reclaimed from a berthd that must ask its database ---- */

static struct held_lease *reclaiming(struct stage *stage)
{
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    send_deadline(stage, held_lease, D, T);
    stage_hang_up(stage);
    step(held_lease, T);
    step(held_lease, T + S);
    cr_assert(strncmp(stage_line(stage), "reclaim 1 r:1:0", 15) == 0);
    stage_say(stage, "pending 1\n");
    step(held_lease, T + S);
    cr_assert_eq(held_lease->state, HELD_LEASE_RECLAIMING);
    return held_lease;
}

Test(held_lease, reclaimed_at_last)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = reclaiming(stage);
    stage_say(stage, "* granted 1 slot=r,6,0\n");
    send_deadline(stage, held_lease, D + 60 * S, T + 2 * S);
    cr_expect_eq(held_lease->state, HELD_LEASE_CONNECTED);
    step(held_lease, D);
    cr_expect_not(is_stopping(held_lease));
    cr_expect_str_eq(stage_said(stage), "");
}

Test(held_lease, never_reclaimed)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = reclaiming(stage);
    step(held_lease, D - K - 1);
    cr_expect_not(is_stopping(held_lease));
    step(held_lease, D - K + LAG);
    cr_expect(is_stopping(held_lease));
}

Test(held_lease, lost_meanwhile)
{
    static const char *const events[] = {
        "* denied 1 lost\n", "* waiting 1 position=1\n", "* granted 1 slot=r,6,1\n"};
    for (size_t i = 0; i < 3; i++) {
        struct stage *stage = stage_open();
        struct held_lease *held_lease = reclaiming(stage);
        stage_say(stage, events[i]);
        step(held_lease, T + 2 * S);
        cr_expect(is_stopping(held_lease), "%s", events[i]);
        cr_expect_eq(held_lease->state, HELD_LEASE_NOTHING);
        stage_hang_up(stage);
    }
}

/* It may come back before the deadline. */
Test(held_lease, down_meanwhile)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = reclaiming(stage);
    stage_say(stage, "* denied 1 down\n");
    step(held_lease, T + 2 * S);
    cr_expect_eq(held_lease->state, HELD_LEASE_DISCONNECTED);
    cr_expect_not(is_stopping(held_lease));
    cr_expect_leq(held_lease_deadline(held_lease), T + 3 * S);
    step(held_lease, T + 3 * S);
    cr_expect(strncmp(stage_line(stage), "reclaim 1 ", 10) == 0);
    step(held_lease, D - K + LAG);
    cr_expect(is_stopping(held_lease));
}

/* Such events mean nothing while it is known to be held. */
Test(held_lease, events_of_a_wait)
{
    struct stage *stage = stage_open();
    struct held_lease *held_lease = of_fleet(stage, TERMS);
    stage_say(stage, "* granted 1 slot=r,6,1\n* waiting 1 position=1\n* denied 1 lost\n");
    step(held_lease, T + S);
    cr_expect_eq(held_lease->state, HELD_LEASE_CONNECTED);
    cr_expect_not(is_stopping(held_lease));
}
