/* test_fair_queue.c - shares of users: who is next, and how fast one may go. */
#include "daemon/fair_queue.h"

#include <criterion/criterion.h>

#define MS INT64_C(1000000)
#define ROOT 0
#define OWN 999
#define ANN 1000
#define BOB 1001
#define START (1000 * MS)

enum { RATE = 1000, INTERVAL_MS = 1, BURST = SHARE_BURST_MS / INTERVAL_MS };

static struct shares shares;

static void setup(void)
{
    shares_init(&shares, OWN);
    shares_set_rate(&shares, RATE);
}

TestSuite(share, .init = setup);

static void join(struct share_member *member, uint32_t uid, nanoseconds now)
{
    cr_assert(share_join(&shares, member, uid, now));
}

/* As a daemon does: one request, or put off. */
static bool ask(struct share_member *member, nanoseconds now)
{
    if (share_must_wait(&shares, member->share, now)) {
        shares_put_off(&shares, member, now);
        return false;
    }
    share_charge(&shares, member->share, 1, 0, now);
    return true;
}

static unsigned ask_often(struct share_member *member, nanoseconds now)
{
    unsigned n = 0;
    while (ask(member, now)) {
        n++;
    }
    return n;
}

static void end(struct share_member *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        share_leave(&shares, &members[i], START);
    }
    shares_deinit(&shares);
}

/* ---- whose turn it is ---- */

Test(share, users_alternate_not_connections)
{
    struct share_member m[6];
    shares_set_rate(&shares, UNBOUNDED);
    for (size_t i = 0; i < 6; i++) {
        join(&m[i], i == 4 ? BOB : i == 5 ? ROOT : ANN, START);
        shares_put_off(&shares, &m[i], START);
    }
    cr_expect_eq(shares_due(&shares), 0);
    struct share_member *expected[] = {&m[0], &m[4], &m[5], &m[1], &m[2], &m[3]};
    for (size_t i = 0; i < 6; i++) {
        cr_expect_eq(shares_next(&shares, START), expected[i], "%zu", i);
    }
    cr_expect_null(shares_next(&shares, START));
    cr_expect_eq(shares_due(&shares), NEVER);
    end(m, 6);
}

Test(share, who_goes_on_and_on_stands_behind_the_others)
{
    struct share_member m[3];
    shares_set_rate(&shares, UNBOUNDED);
    for (size_t i = 0; i < 3; i++) {
        join(&m[i], i == 2 ? BOB : ANN, START);
        shares_put_off(&shares, &m[i], START);
    }
    const size_t expected[] = {0, 2, 1, 2, 0, 2, 1, 2};
    for (size_t i = 0; i < 8; i++) {
        struct share_member *next = shares_next(&shares, START);
        cr_expect_eq(next, &m[expected[i]], "%zu", i);
        shares_put_off(&shares, next, START);
    }
    end(m, 3);
}

Test(share, who_leaves_is_not_called)
{
    struct share_member m[3];
    shares_set_rate(&shares, UNBOUNDED);
    for (size_t i = 0; i < 3; i++) {
        join(&m[i], i == 2 ? BOB : ANN, START);
        shares_put_off(&shares, &m[i], START);
    }
    shares_withdraw(&shares, &m[0]);
    shares_withdraw(&shares, &m[0]);
    share_leave(&shares, &m[2], START);
    share_leave(&shares, &m[2], START);
    cr_expect_eq(shares_next(&shares, START), &m[1]);
    cr_expect_null(shares_next(&shares, START));
    end(m, 2);
}

/* ---- how fast ---- */

Test(share, a_burst_then_the_rate)
{
    struct share_member m;
    join(&m, ANN, START);
    cr_expect_eq(ask_often(&m, START), BURST + 1);
    cr_expect_eq(shares_due(&shares), START + INTERVAL_MS * MS);
    unsigned n = 0;
    for (nanoseconds now = START; now <= START + 1000 * MS; now += MS / 4) {
        if (shares_next(&shares, now)) {
            share_charge(&shares, m.share, 1, 0, now);
            shares_put_off(&shares, &m, now);
            n++;
        }
    }
    cr_expect_eq(n, RATE);
    end(&m, 1);
}

Test(share, who_was_quiet_has_a_burst_again)
{
    struct share_member m;
    join(&m, ANN, START);
    ask_often(&m, START);
    nanoseconds later = START + 10 * SHARE_BURST_MS * MS;
    cr_expect_eq(shares_next(&shares, later), &m);
    cr_expect_eq(ask_often(&m, later), BURST + 1, "no more than one burst is saved");
    end(&m, 1);
}

Test(share, connections_of_one_user_go_in_order)
{
    struct share_member m[4];
    for (size_t i = 0; i < 4; i++) {
        join(&m[i], ANN, START);
    }
    ask_often(&m[0], START);
    nanoseconds later = START + 2 * INTERVAL_MS * MS;
    cr_expect_not(ask(&m[1], START));
    cr_expect_not(ask(&m[2], later), "there is a place, but others came before");
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(shares_next(&shares, later), &m[i]);
        share_charge(&shares, m[i].share, 1, 0, later);
    }
    cr_expect_null(shares_next(&shares, later));
    cr_expect_eq(shares_next(&shares, later + INTERVAL_MS * MS), &m[2]);
    cr_expect(ask(&m[3], later + INTERVAL_MS * MS), "nobody is before it");
    end(m, 4);
}

Test(share, others_notice_nothing)
{
    struct share_member m[4];
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
    end(m, 4);
}

Test(share, work_counts_by_its_time)
{
    struct share_member m;
    join(&m, ANN, START);
    share_charge(&shares, m.share, 1, 9 * SHARE_UNIT_US * INT64_C(1000), START);
    cr_expect_eq(ask_often(&m, START), BURST + 1 - 10);
    shares_withdraw(&shares, &m);
    share_charge(&shares, m.share, 1, -5000 * MS, START);
    cr_expect_eq(shares_due(&shares), NEVER);
    end(&m, 1);
}

Test(share, no_debt_is_for_ever)
{
    struct share_member m;
    join(&m, ANN, START);
    share_charge(&shares, m.share, UINT32_MAX, INT64_MAX / 2, START);
    shares_put_off(&shares, &m, START);
    cr_expect_eq(shares_due(&shares), START + SHARE_DEBT_MS * MS);
    cr_expect_eq(shares_next(&shares, START + SHARE_DEBT_MS * MS), &m);
    end(&m, 1);
}

Test(share, who_comes_back_owes_still)
{
    struct share_member m;
    join(&m, ANN, START);
    ask_often(&m, START);
    share_leave(&shares, &m, START);
    join(&m, ANN, START);
    cr_expect_not(ask(&m, START));
    cr_expect_eq(shares_next(&shares, START + INTERVAL_MS * MS), &m);
    share_leave(&shares, &m, START);
    cr_expect_eq(shares.by_uid.n, 1);
    cr_expect_null(shares_next(&shares, START + 10000 * MS));
    cr_expect_eq(shares.by_uid.n, 0, "nobody, and nothing owed: forgotten");
    shares_deinit(&shares);
}

/* ---- new connections ---- */

Test(share, a_crowd_then_the_rate)
{
    static struct share_member m[SHARE_CROWD + 2];
    for (size_t i = 0; i < SHARE_CROWD + 1; i++) {
        join(&m[i], ANN, START);
    }
    struct share_member other;
    cr_expect_not(share_join(&shares, &m[SHARE_CROWD + 1], ANN, START));
    cr_expect_null(m[SHARE_CROWD + 1].share);
    cr_expect(share_join(&shares, &other, BOB, START));
    join(&m[SHARE_CROWD + 1], ANN, START + INTERVAL_MS * MS);
    cr_expect(ask(&m[0], START), "they do not count as requests");
    share_leave(&shares, &other, START);
    end(m, SHARE_CROWD + 2);
}

/* ---- a new rate ---- */

Test(share, who_waits_goes_on_at_once_without_a_rate)
{
    struct share_member m[2];
    join(&m[0], ANN, START);
    join(&m[1], BOB, START);
    ask_often(&m[0], START);
    ask_often(&m[1], START);
    share_charge(&shares, m[0].share, 10 * RATE, 0, START);
    shares_set_rate(&shares, UNBOUNDED);
    cr_expect_eq(shares_due(&shares), 0);
    cr_expect_not_null(shares_next(&shares, START));
    cr_expect_not_null(shares_next(&shares, START));
    cr_expect_null(shares_next(&shares, START));
    cr_expect(ask(&m[0], START));
    end(m, 2);
}

Test(share, a_lower_rate_is_in_force_at_once)
{
    struct share_member m;
    join(&m, ANN, START);
    shares_set_rate(&shares, RATE / 10);
    cr_expect_eq(ask_often(&m, START), BURST / 10 + 1);
    cr_expect_eq(shares_due(&shares), START + 10 * INTERVAL_MS * MS);
    shares_set_rate(&shares, RATE);
    cr_expect_eq(shares_due(&shares), 0, "is looked at anew");
    cr_expect_null(shares_next(&shares, START));
    cr_expect_eq(shares_due(&shares), START + 10 * INTERVAL_MS * MS, "what is owed stays owed");
    end(&m, 1);
}

Test(share, a_crowd_of_the_old_rate_is_forgotten)
{
    static struct share_member m[SHARE_CROWD + 2];
    size_t n = 0;
    shares_set_rate(&shares, 1);
    while (n < SHARE_CROWD + 1 && share_join(&shares, &m[n], ANN, START)) {
        n++;
    }
    cr_expect(!share_join(&shares, &m[n], ANN, START));
    shares_set_rate(&shares, RATE);
    cr_expect(share_join(&shares, &m[n], ANN, START));
    end(m, (unsigned)n + 1);
}

Test(share, who_owes_and_is_not_there_is_forgotten_with_the_rate)
{
    struct share_member m;
    join(&m, ANN, START);
    ask_often(&m, START);
    share_leave(&shares, &m, START);
    shares_set_rate(&shares, UNBOUNDED);
    cr_expect_eq(shares.by_uid.n, 0);
    shares_deinit(&shares);
}
