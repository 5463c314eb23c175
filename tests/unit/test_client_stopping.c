/* test_client_stopping.c - when a job is stopped: client/stopping.h with a clock of the test's. */
#include "client/stopping.h"

#include <criterion/criterion.h>

#define S NANOSECONDS_PER_SECOND
#define T (1000 * S) /* some instant */

static struct stopping stopping_of(enum on_lost on_lost, nanoseconds kill_after)
{
    struct stopping stopping;
    stopping_init(&stopping, on_lost, kill_after);
    return stopping;
}

static struct stopping begun(enum on_lost on_lost, nanoseconds kill_after)
{
    struct stopping stopping = stopping_of(on_lost, kill_after);
    stopping_begin(&stopping);
    return stopping;
}

#define expect_step(stopping, left, now, action)                                                   \
    cr_expect_eq(stopping_step((stopping), (left), (now)), (action))

Test(stopping, nothing_without_a_reason)
{
    struct stopping stopping = stopping_of(ON_LOST_KILL, S);
    cr_expect_eq(stopping_deadline(&stopping), NEVER);
    cr_expect_not(stopping_is_due(&stopping, T));
    expect_step(&stopping, JOB_LEFT, T, STOPPING_NOTHING);
    expect_step(&stopping, JOB_GONE, T, STOPPING_NOTHING);
}

Test(stopping, asks_then_kills)
{
    struct stopping stopping = begun(ON_LOST_KILL, 3 * S);
    cr_expect_leq(stopping_deadline(&stopping), T); /* at once */
    expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
    expect_step(&stopping, JOB_LEFT, T, STOPPING_NOTHING);
    cr_expect_eq(stopping_deadline(&stopping), T + 3 * S);
    expect_step(&stopping, JOB_LEFT, T + 3 * S - 1, STOPPING_NOTHING);
    expect_step(&stopping, JOB_LEFT, T + 3 * S, STOPPING_KILL);
    cr_expect_eq(stopping_deadline(&stopping), NEVER); /* SIGCHLD tells */
    expect_step(&stopping, JOB_LEFT, T + 900 * S, STOPPING_KILL);
    expect_step(&stopping, JOB_GONE, T + 900 * S, STOPPING_OVER);
}

Test(stopping, over_when_the_job_obeys)
{
    static const enum on_lost both[] = {ON_LOST_TERM, ON_LOST_KILL};
    for (size_t i = 0; i < 2; i++) {
        struct stopping stopping = begun(both[i], 3 * S);
        expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
        expect_step(&stopping, JOB_GONE, T + 1, STOPPING_OVER);
    }
}

Test(stopping, over_when_the_job_ends_before_it_is_asked)
{
    struct stopping stopping = begun(ON_LOST_KILL, 3 * S);
    expect_step(&stopping, JOB_GONE, T, STOPPING_OVER);
}

/* The main process is gone: the others have their time too, and are checked meanwhile. */
Test(stopping, kills_what_is_left_of_the_group)
{
    struct stopping stopping = begun(ON_LOST_KILL, 3 * S);
    expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
    expect_step(&stopping, JOB_GROUP_LEFT, T + S, STOPPING_NOTHING);
    nanoseconds look_at = stopping_deadline(&stopping);
    cr_expect(look_at > T + S && look_at < T + S + S / 5);
    expect_step(&stopping, JOB_GROUP_LEFT, T + 3 * S - 1, STOPPING_NOTHING);
    cr_expect_eq(stopping_deadline(&stopping), T + 3 * S);
    expect_step(&stopping, JOB_GROUP_LEFT, T + 3 * S, STOPPING_KILL);
    cr_expect(stopping_deadline(&stopping) < T + 3 * S + S / 5);
    expect_step(&stopping, JOB_GONE, T + 3 * S + 1, STOPPING_OVER);
}

/* Zombies that nobody reaps stay in the group for ever. */
Test(stopping, leaves_what_cannot_be_killed)
{
    struct stopping stopping = begun(ON_LOST_KILL, 0);
    expect_step(&stopping, JOB_GROUP_LEFT, T, STOPPING_ASK);
    expect_step(&stopping, JOB_GROUP_LEFT, T, STOPPING_KILL);
    expect_step(&stopping, JOB_GROUP_LEFT, T + S - 1, STOPPING_KILL);
    expect_step(&stopping, JOB_GROUP_LEFT, T + S, STOPPING_OVER);
}

Test(stopping, term_never_kills)
{
    struct stopping stopping = begun(ON_LOST_TERM, S);
    expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
    cr_expect_eq(stopping_deadline(&stopping), NEVER);
    expect_step(&stopping, JOB_LEFT, T + 900 * S, STOPPING_NOTHING);
    expect_step(&stopping, JOB_GROUP_LEFT, T + 900 * S, STOPPING_OVER);
}

Test(stopping, warn_never_stops)
{
    struct stopping stopping = stopping_of(ON_LOST_WARN, S);
    stopping_set_deadline(&stopping, T + S, T);
    cr_expect(stopping_is_due(&stopping, T));
    stopping_begin(&stopping);
    cr_expect_not(stopping_is_due(&stopping, T));
    cr_expect_eq(stopping_deadline(&stopping), NEVER);
    expect_step(&stopping, JOB_LEFT, T, STOPPING_NOTHING);
    stopping_set_deadline(&stopping, T + 3 * S, T + 2 * S);
    cr_expect(stopping_is_due(&stopping, T + 2 * S)); /* another one, another warning */
}

Test(stopping, deadline)
{
    struct stopping stopping = stopping_of(ON_LOST_KILL, 3 * S);
    stopping_set_deadline(&stopping, T + 5 * S, T);
    cr_expect_eq(stopping_deadline(&stopping), T);
    cr_expect_not(stopping_is_due(&stopping, T - 1));
    cr_expect(stopping_is_due(&stopping, T));
    stopping_begin(&stopping);
    cr_expect_not(stopping_is_due(&stopping, T));
    expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
    cr_expect_eq(stopping_deadline(&stopping), T + 3 * S);
}

Test(stopping, begins_once)
{
    struct stopping stopping = begun(ON_LOST_KILL, 3 * S);
    expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
    stopping_begin(&stopping);
    expect_step(&stopping, JOB_LEFT, T + S, STOPPING_NOTHING);
    cr_expect_eq(stopping_deadline(&stopping), T + 3 * S);
}

Test(stopping, defaults)
{
    struct stopping stopping = begun(ON_LOST_NOT_SAID, NEVER);
    expect_step(&stopping, JOB_LEFT, T, STOPPING_ASK);
    cr_expect_eq(stopping_deadline(&stopping), T + 10 * S);
}
