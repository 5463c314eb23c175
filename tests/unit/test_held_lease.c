/* test_held_lease.c - a lease of a fleet while the job runs: until when, whatever becomes of
 * berthd and of the machine (berth/held_lease.h with stopping.h). */
#include "client_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(holding, .init = stage_setup, .fini = scratch_end);

#define TERMS "kill_after=3s on_lost=kill"
#define D (T + 20 * S) /* a deadline */
#define K (4 * S) /* as berthd plans it for TERMS: kill_after, and a second at least */
#define LAG (30 * MS) /* what a hung berthd may cost */

static struct holding *held(struct stage *stage, const char *answer)
{
    static struct holding holding;
    char line[256];
    stage_begin(stage);
    cr_assert_eq(stage_step(stage, T), ASKING_GOES_ON);
    stage_line(stage);
    snprintf(line, sizeof line, answer, "1 slot=r,5,0");
    stage_say(stage, line);
    cr_assert_eq(stage_step(stage, T), ASKING_GRANTED);
    holding_init(&holding, &stage->asking);
    return &holding;
}

static struct holding *of_fleet(struct stage *stage, const char *terms)
{
    char answer[128];
    snprintf(answer, sizeof answer, "pending 1\n* granted %%s %s\n", terms);
    return held(stage, answer);
}

static void step(struct holding *holding, nanoseconds now)
{
    holding_step(holding, holding->connection->fd >= 0, now);
}

static bool is_stopping(const struct holding *holding)
{
    return holding->stopping.state != STOPPING_NOT;
}

/* stop=D-K, and told so at T. */
static void tell_deadline(
    struct stage *stage, struct holding *holding, nanoseconds good_until, nanoseconds now)
{
    char line[128];
    snprintf(line, sizeof line, "* deadline 1 %lld stop=%lld\n", (long long)good_until,
        (long long)(good_until - K));
    stage_say(stage, line);
    if (now != NEVER) {
        step(holding, now);
    }
}

/* From `begun` on, of a job that obeys nothing: when SIGKILL is sent to its group. Its loop wakes
 * `lag` late each time. */
static nanoseconds killed_at(struct holding *holding, nanoseconds begun, nanoseconds lag)
{
    nanoseconds now = begun;
    for (int i = 0; i < 10; i++) {
        if (stopping_step(&holding->stopping, JOB_LEFT, now) == STOPPING_KILL) {
            return now;
        }
        now = later(now, stopping_deadline(&holding->stopping)) + lag;
    }
    return NEVER;
}

/* ---- a berthd that says nothing more ---- */

Test(holding, a_hung_berthd)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    cr_expect_leq(holding_deadline(holding), D - K + LAG);
    step(holding, D - K - 1);
    cr_expect_not(is_stopping(holding));
    step(holding, D - K + LAG);
    cr_expect(is_stopping(holding));
    cr_expect_str_eq(stage_said(stage),
        "berth: stopping the job: the lease could not be kept alive (deadline)\n");
}

Test(holding, a_dead_berthd)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    stage_no_berthd(stage);
    for (nanoseconds now = T; now < D - K; now = later(now + 1, holding_deadline(holding))) {
        step(holding, now);
        cr_assert_not(is_stopping(holding));
    }
    step(holding, D - K); /* there is nobody to hear first */
    cr_expect(is_stopping(holding));
}

Test(holding, a_host_s_lease_outlives_its_berthd)
{
    struct stage *stage = stage_open();
    struct holding *holding = held(stage, "ok %s " TERMS "\n");
    stage_no_berthd(stage);
    step(holding, T + 90000 * S);
    cr_expect_not(is_stopping(holding));
}

/* berthd knows more about a max-hold. */
Test(holding, a_host_s_deadline)
{
    struct stage *stage = stage_open();
    struct holding *holding = held(stage, "ok %s " TERMS "\n");
    tell_deadline(stage, holding, D, T);
    step(holding, D - K + 90 * MS);
    cr_expect_not(is_stopping(holding));
    tell_deadline(stage, holding, D, NEVER);
    stage_say(stage, "* expired 1 max-hold\n");
    step(holding, D - K + 95 * MS);
    cr_expect(is_stopping(holding));
    cr_expect(strstr(stage_said(stage), "(max-hold)\n"));
}

Test(holding, each_renewal_moves_it)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    for (int i = 1; i < 20; i++) {
        tell_deadline(stage, holding, D + i * 5 * S, T + i * 5 * S);
        cr_assert_not(is_stopping(holding));
    }
    step(holding, D + 19 * 5 * S - K + LAG);
    cr_expect(is_stopping(holding));
}

/* Once begun, a stop goes on: the job has had its signal. */
Test(holding, a_renewal_that_comes_too_late)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    step(holding, D - K + LAG);
    cr_expect_eq(stopping_step(&holding->stopping, JOB_LEFT, D - K + LAG), STOPPING_ASK);
    tell_deadline(stage, holding, D + 60 * S, D - K + 2 * LAG);
    cr_expect_leq(killed_at(holding, D - K + 2 * LAG, 0), D - S / 2);
}

/* ---- dead by then ---- */

Test(holding, dead_by_the_deadline)
{
    static const nanoseconds kill_afters[] = {0, 10 * MS, S, 3 * S, 7 * S, 10 * S, 60 * S};
    for (size_t i = 0; i < sizeof kill_afters / sizeof kill_afters[0]; i++) {
        nanoseconds kill_after = kill_afters[i];
        nanoseconds margin = later(S, kill_after / 3);
        nanoseconds stop = D - kill_after - margin;
        struct holding holding;
        holding_init_nothing(&holding);
        stopping_init(&holding.stopping, ON_LOST_KILL, kill_after);
        stopping_set_deadline(&holding.stopping, D, stop);
        stopping_begin(&holding.stopping);
        nanoseconds at = killed_at(&holding, stop + LAG, 20 * MS);
        cr_expect(at >= stop + LAG + kill_after, "%zu", i);
        cr_expect(at <= D - margin / 2, "%zu: %ld before", i, (long)(D - at));
    }
}

/* Whoever begins late, by how much ever, leaves the kernel time; or has none itself. */
Test(holding, late)
{
    for (nanoseconds late = 0; late < K; late += 100 * MS) {
        struct holding holding;
        holding_init_nothing(&holding);
        stopping_init(&holding.stopping, ON_LOST_KILL, 3 * S);
        stopping_set_deadline(&holding.stopping, D, D - K);
        stopping_begin(&holding.stopping);
        nanoseconds begun = D - K + late;
        cr_expect_leq(killed_at(&holding, begun, 0), later(begun, D - S / 2));
    }
}

Test(holding, revoked_shortly_before_the_deadline)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    stage_say(stage, "* revoked 1 revoked\n");
    step(holding, D - K - 1);
    cr_expect_leq(killed_at(holding, D - K - 1, 0), D - S / 2);
}

/* ---- a machine that was asleep ---- */

Test(holding, resumed_in_time)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    tell_deadline(stage, holding, D + 90 * S, NEVER); /* came while we slept */
    step(holding, D + 10 * S);
    cr_expect_not(is_stopping(holding));
}

/* The timer is an absolute one: it fires on resume. */
Test(holding, resumed_too_late)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    nanoseconds now = D + 3600 * S;
    tell_deadline(stage, holding, D, T);
    cr_expect_leq(holding_deadline(holding), now);
    step(holding, now);
    cr_expect(is_stopping(holding));
    cr_expect_eq(killed_at(holding, now, 0), now);
}

/* ---- on-lost ---- */

Test(holding, warn)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, "kill_after=3s on_lost=warn");
    tell_deadline(stage, holding, D, T);
    step(holding, D);
    step(holding, D + S);
    cr_expect_not(is_stopping(holding));
    cr_expect_str_eq(stage_said(stage),
        "berth: the lease could not be kept alive (deadline); the job runs on\n");
}

Test(holding, term)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, "kill_after=3s on_lost=term");
    tell_deadline(stage, holding, D, T);
    step(holding, D);
    cr_expect(is_stopping(holding));
    cr_expect_eq(stopping_step(&holding->stopping, JOB_LEFT, D), STOPPING_ASK);
    cr_expect_eq(stopping_step(&holding->stopping, JOB_LEFT, D + 90 * S), STOPPING_NOTHING);
}

/* ---- told ---- */

Test(holding, expired)
{
    static const char *const rows[][2] = {
        {"deadline", "it could not be kept alive in its database (deadline)"},
        {"lost so%20it%20says", "so it says (lost)"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct stage *stage = stage_open();
        struct holding *holding = of_fleet(stage, TERMS);
        char text[128];
        snprintf(text, sizeof text, "* expired 1 %s\n", rows[i][0]);
        stage_say(stage, text);
        step(holding, T);
        cr_expect(is_stopping(holding));
        snprintf(text, sizeof text, "berth: stopping the job: %s\n", rows[i][1]);
        cr_expect_str_eq(stage_said(stage), text);
        holding_release(holding);
        cr_expect_str_eq(stage_line(stage), "release 1");
        stage_hang_up(stage);
    }
}

/* ---- had back from a berthd that must ask its database ---- */

static struct holding *reclaiming(struct stage *stage)
{
    struct holding *holding = of_fleet(stage, TERMS);
    tell_deadline(stage, holding, D, T);
    stage_hang_up(stage);
    step(holding, T);
    step(holding, T + S);
    cr_assert(strncmp(stage_line(stage), "reclaim 1 r:1:0", 15) == 0);
    stage_say(stage, "pending 1\n");
    step(holding, T + S);
    cr_assert_eq(holding->state, HOLDING_RECLAIMING);
    return holding;
}

Test(holding, reclaimed_at_last)
{
    struct stage *stage = stage_open();
    struct holding *holding = reclaiming(stage);
    stage_say(stage, "* granted 1 slot=r,6,0\n");
    tell_deadline(stage, holding, D + 60 * S, T + 2 * S);
    cr_expect_eq(holding->state, HOLDING_CONNECTED);
    step(holding, D);
    cr_expect_not(is_stopping(holding));
    cr_expect_str_eq(stage_said(stage), "");
}

Test(holding, never_reclaimed)
{
    struct stage *stage = stage_open();
    struct holding *holding = reclaiming(stage);
    step(holding, D - K - 1);
    cr_expect_not(is_stopping(holding));
    step(holding, D - K + LAG);
    cr_expect(is_stopping(holding));
}

Test(holding, lost_meanwhile)
{
    static const char *const events[] = {
        "* denied 1 lost\n", "* waiting 1 position=1\n", "* granted 1 slot=r,6,1\n"};
    for (size_t i = 0; i < 3; i++) {
        struct stage *stage = stage_open();
        struct holding *holding = reclaiming(stage);
        stage_say(stage, events[i]);
        step(holding, T + 2 * S);
        cr_expect(is_stopping(holding), "%s", events[i]);
        cr_expect_eq(holding->state, HOLDING_NOTHING);
        stage_hang_up(stage);
    }
}

/* It may come back before the deadline. */
Test(holding, down_meanwhile)
{
    struct stage *stage = stage_open();
    struct holding *holding = reclaiming(stage);
    stage_say(stage, "* denied 1 down\n");
    step(holding, T + 2 * S);
    cr_expect_eq(holding->state, HOLDING_APART);
    cr_expect_not(is_stopping(holding));
    cr_expect_leq(holding_deadline(holding), T + 3 * S);
    step(holding, T + 3 * S);
    cr_expect(strncmp(stage_line(stage), "reclaim 1 ", 10) == 0);
    step(holding, D - K + LAG);
    cr_expect(is_stopping(holding));
}

/* Such events mean nothing while it is known to be held. */
Test(holding, events_of_a_wait)
{
    struct stage *stage = stage_open();
    struct holding *holding = of_fleet(stage, TERMS);
    stage_say(stage, "* granted 1 slot=r,6,1\n* waiting 1 position=1\n* denied 1 lost\n");
    step(holding, T + S);
    cr_expect_eq(holding->state, HOLDING_CONNECTED);
    cr_expect_not(is_stopping(holding));
}
