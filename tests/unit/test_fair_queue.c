/* test_fair_queue.c - users' shares: whose turn is next, and how fast one may go. */
#include "admission/fair_queue.h"

#include <criterion/criterion.h>

#define MS INT64_C(1000000)
#define ROOT 0
#define OWN 999
#define ANN 1000
#define BOB 1001
#define START (1000 * MS)

enum { RATE = 1000, INTERVAL_MS = 1, BURST = FAIR_BURST_MS / INTERVAL_MS };

static struct fair_queue fair_queue;
static struct fair_member m[FAIR_CROWD + 2];

static void begin(void)
{
    fair_queue_init(&fair_queue, OWN);
    fair_queue_set_rate(&fair_queue, RATE);
}

static void end(void)
{
    for (size_t i = 0; i < FAIR_CROWD + 2; i++) {
        fair_user_leave(&fair_queue, &m[i], START);
    }
    fair_queue_deinit(&fair_queue);
}

TestSuite(fair_queue, .init = begin, .fini = end);

static void join(struct fair_member *member, uint32_t uid, nanoseconds now)
{
    cr_assert(fair_user_join(&fair_queue, member, uid, now));
}

/* As a daemon does: one request, or put off. */
static bool ask(struct fair_member *member, nanoseconds now)
{
    if (fair_user_must_wait(&fair_queue, member->fair_user, now)) {
        fair_queue_put_off(&fair_queue, member, now);
        return false;
    }
    fair_user_charge(&fair_queue, member->fair_user, 1, 0, now);
    return true;
}

static unsigned ask_often(struct fair_member *member, nanoseconds now)
{
    unsigned n = 0;
    while (ask(member, now)) {
        n++;
    }
    return n;
}

/* They wait, one connection of each of these users; without a rate. */
static void put_off(const uint32_t uids[], size_t n)
{
    fair_queue_set_rate(&fair_queue, UNBOUNDED);
    for (size_t i = 0; i < n; i++) {
        join(&m[i], uids[i], START);
        fair_queue_put_off(&fair_queue, &m[i], START);
    }
}

/* ---- whose turn it is ---- */

Test(fair_queue, users_alternate_not_connections)
{
    put_off((const uint32_t[]){ANN, ANN, ANN, ANN, BOB, ROOT}, 6);
    cr_expect_eq(fair_queue_due(&fair_queue), 0);
    struct fair_member *expected[] = {&m[0], &m[4], &m[5], &m[1], &m[2], &m[3]};
    for (size_t i = 0; i < 6; i++) {
        cr_expect_eq(fair_queue_next(&fair_queue, START), expected[i], "%zu", i);
    }
    cr_expect_null(fair_queue_next(&fair_queue, START));
    cr_expect_eq(fair_queue_due(&fair_queue), NEVER);
}

Test(fair_queue, a_busy_user_stands_behind_the_others)
{
    put_off((const uint32_t[]){ANN, ANN, BOB}, 3);
    const size_t expected[] = {0, 2, 1, 2, 0, 2, 1, 2};
    for (size_t i = 0; i < 8; i++) {
        struct fair_member *next = fair_queue_next(&fair_queue, START);
        cr_expect_eq(next, &m[expected[i]], "%zu", i);
        fair_queue_put_off(&fair_queue, next, START);
    }
}

Test(fair_queue, a_member_that_left_is_not_called)
{
    put_off((const uint32_t[]){ANN, ANN, BOB}, 3);
    fair_queue_withdraw(&fair_queue, &m[0]);
    fair_queue_withdraw(&fair_queue, &m[0]);
    fair_user_leave(&fair_queue, &m[2], START);
    fair_user_leave(&fair_queue, &m[2], START);
    cr_expect_eq(fair_queue_next(&fair_queue, START), &m[1]);
    cr_expect_null(fair_queue_next(&fair_queue, START));
}

/* ---- how fast ---- */

Test(fair_queue, a_burst_then_the_rate)
{
    join(m, ANN, START);
    cr_expect_eq(ask_often(m, START), BURST + 1);
    cr_expect_eq(fair_queue_due(&fair_queue), START + INTERVAL_MS * MS);
    unsigned n = 0;
    for (nanoseconds now = START; now <= START + 1000 * MS; now += MS / 4) {
        if (fair_queue_next(&fair_queue, now)) {
            fair_user_charge(&fair_queue, m->fair_user, 1, 0, now);
            fair_queue_put_off(&fair_queue, m, now);
            n++;
        }
    }
    cr_expect_eq(n, RATE);
}

Test(fair_queue, a_quiet_user_earns_another_burst)
{
    join(m, ANN, START);
    ask_often(m, START);
    nanoseconds later = START + 10 * FAIR_BURST_MS * MS;
    cr_expect_eq(fair_queue_next(&fair_queue, later), m);
    cr_expect_eq(ask_often(m, later), BURST + 1, "no more than one burst is saved");
}

Test(fair_queue, connections_of_one_user_go_in_order)
{
    for (size_t i = 0; i < 4; i++) {
        join(&m[i], ANN, START);
    }
    ask_often(&m[0], START);
    nanoseconds later = START + 2 * INTERVAL_MS * MS;
    cr_expect_not(ask(&m[1], START));
    cr_expect_not(ask(&m[2], later), "there is a place, but others came before");
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(fair_queue_next(&fair_queue, later), &m[i]);
        fair_user_charge(&fair_queue, m[i].fair_user, 1, 0, later);
    }
    cr_expect_null(fair_queue_next(&fair_queue, later));
    cr_expect_eq(fair_queue_next(&fair_queue, later + INTERVAL_MS * MS), &m[2]);
    cr_expect(ask(&m[3], later + INTERVAL_MS * MS), "nobody is before it");
}

Test(fair_queue, others_notice_nothing)
{
    const uint32_t uids[] = {ANN, BOB, ROOT, OWN};
    for (size_t i = 0; i < 4; i++) {
        join(&m[i], uids[i], START);
    }
    ask_often(&m[0], START);
    cr_expect(ask(&m[1], START));
    for (size_t i = 0; i < 10 * BURST; i++) {
        cr_assert(ask(&m[2], START), "root is exempt");
        cr_assert(ask(&m[3], START), "so is the daemon's own user");
    }
}

Test(fair_queue, work_counts_by_its_time)
{
    join(m, ANN, START);
    fair_user_charge(&fair_queue, m->fair_user, 1, 9 * FAIR_UNIT_US * INT64_C(1000), START);
    cr_expect_eq(ask_often(m, START), BURST + 1 - 10);
    fair_queue_withdraw(&fair_queue, m);
    fair_user_charge(&fair_queue, m->fair_user, 1, -5000 * MS, START);
    cr_expect_eq(fair_queue_due(&fair_queue), NEVER);
}

Test(fair_queue, no_debt_is_for_ever)
{
    join(m, ANN, START);
    fair_user_charge(&fair_queue, m->fair_user, UINT32_MAX, INT64_MAX / 2, START);
    fair_queue_put_off(&fair_queue, m, START);
    cr_expect_eq(fair_queue_due(&fair_queue), START + FAIR_DEBT_MS * MS);
    cr_expect_eq(fair_queue_next(&fair_queue, START + FAIR_DEBT_MS * MS), m);
}

Test(fair_queue, a_returning_user_still_owes)
{
    join(m, ANN, START);
    ask_often(m, START);
    fair_user_leave(&fair_queue, m, START);
    join(m, ANN, START);
    cr_expect_not(ask(m, START));
    cr_expect_eq(fair_queue_next(&fair_queue, START + INTERVAL_MS * MS), m);
    fair_user_leave(&fair_queue, m, START);
    cr_expect_eq(fair_queue.by_uid.n, 1);
    cr_expect_null(fair_queue_next(&fair_queue, START + 10000 * MS));
    cr_expect_eq(fair_queue.by_uid.n, 0, "nobody, and nothing owed: forgotten");
}

/* ---- new connections ---- */

Test(fair_queue, a_crowd_then_the_rate)
{
    for (size_t i = 0; i < FAIR_CROWD + 1; i++) {
        join(&m[i], ANN, START);
    }
    struct fair_member other;
    cr_expect_not(fair_user_join(&fair_queue, &m[FAIR_CROWD + 1], ANN, START));
    cr_expect_null(m[FAIR_CROWD + 1].fair_user);
    cr_expect(fair_user_join(&fair_queue, &other, BOB, START));
    join(&m[FAIR_CROWD + 1], ANN, START + INTERVAL_MS * MS);
    cr_expect(ask(&m[0], START), "they do not count as requests");
    fair_user_leave(&fair_queue, &other, START);
}

/* ---- a new rate ---- */

Test(fair_queue, lifting_the_rate_wakes_all_at_once)
{
    join(&m[0], ANN, START);
    join(&m[1], BOB, START);
    ask_often(&m[0], START);
    ask_often(&m[1], START);
    fair_user_charge(&fair_queue, m[0].fair_user, 10 * RATE, 0, START);
    fair_queue_set_rate(&fair_queue, UNBOUNDED);
    cr_expect_eq(fair_queue_due(&fair_queue), 0);
    cr_expect_not_null(fair_queue_next(&fair_queue, START));
    cr_expect_not_null(fair_queue_next(&fair_queue, START));
    cr_expect_null(fair_queue_next(&fair_queue, START));
    cr_expect(ask(&m[0], START));
}

Test(fair_queue, a_lower_rate_is_in_force_at_once)
{
    join(m, ANN, START);
    fair_queue_set_rate(&fair_queue, RATE / 10);
    cr_expect_eq(ask_often(m, START), BURST / 10 + 1);
    cr_expect_eq(fair_queue_due(&fair_queue), START + 10 * INTERVAL_MS * MS);
    fair_queue_set_rate(&fair_queue, RATE);
    cr_expect_eq(fair_queue_due(&fair_queue), 0, "is checked again");
    cr_expect_null(fair_queue_next(&fair_queue, START));
    cr_expect_eq(
        fair_queue_due(&fair_queue), START + 10 * INTERVAL_MS * MS, "what is owed stays owed");
}

Test(fair_queue, a_crowd_of_the_old_rate_is_forgotten)
{
    size_t n = 0;
    fair_queue_set_rate(&fair_queue, 1);
    while (n < FAIR_CROWD + 1 && fair_user_join(&fair_queue, &m[n], ANN, START)) {
        n++;
    }
    cr_expect(!fair_user_join(&fair_queue, &m[n], ANN, START));
    fair_queue_set_rate(&fair_queue, RATE);
    cr_expect(fair_user_join(&fair_queue, &m[n], ANN, START));
}

Test(fair_queue, an_absent_debtor_is_forgotten_with_the_rate)
{
    join(m, ANN, START);
    ask_often(m, START);
    fair_user_leave(&fair_queue, m, START);
    fair_queue_set_rate(&fair_queue, UNBOUNDED);
    cr_expect_eq(fair_queue.by_uid.n, 0);
}
