/* test_history.c - what berthd keeps of leases that are over, and of those who take them away. */
#include "record/history.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { RING_BYTES = 1 << 20 };

static struct history history;

static void begin(void)
{
    scratch_begin();
    history_begin(&history, scratch_path("berth.sock"), "boot", RING_BYTES);
    cr_assert_eq(history.ring.error, 0);
}

static void end(void)
{
    history_end(&history);
    scratch_end();
}

TestSuite(history, .init = begin, .fini = end);

static void taken(uint64_t id)
{
    const struct actor by = {.is_known = true, .uid = 4711};
    history_note_revoker(&history, id, &by, "maintenance");
}

static struct lease ended(uint64_t id)
{
    return (struct lease){.id = id, .granted_at = 1, .ended_at = 2, .ended_why = OUTCOME_REVOKED};
}

static void over(const struct lease *lease, const char *record)
{
    history_ended(&history, lease, record, record ? strlen(record) : 0);
}

/* How many more are kept, looking at so many entries at once. */
static unsigned kept(uint64_t *positionp, unsigned *n_leftp)
{
    struct history_entry entry;
    unsigned n = 0;
    while (history_next(&history, positionp, n_leftp, &entry)) {
        n += entry.kind == HISTORY_ENDED;
    }
    return n;
}

static unsigned all_kept(void)
{
    uint64_t position = 0;
    unsigned n_left = UINT32_MAX;
    return kept(&position, &n_left);
}

/* ---- who takes a lease away ---- */

/* ... and its client has been told. */
Test(history, a_taker_is_forgotten_when_the_lease_is_over)
{
    const struct lease lease = ended(7), later = ended(9);
    uint32_t uid;
    taken(7);
    taken(8);
    over(&lease, "a record");
    cr_expect(history_revoker(&history, 7, &uid));
    over(&later, "a record");
    cr_expect_eq(sorted_set_size(&history.revokers), 1);
    cr_expect_eq(all_kept(), 2);
}

/* An operator revokes a request that was not to wait, while its database is being asked. */
Test(history, a_taker_of_a_request_that_is_not_kept_is_forgotten)
{
    struct lease lease = ended(7);
    lease.wants_now = true;
    lease.granted_at = 0;
    taken(7);
    over(&lease, "a record");
    cr_expect_eq(sorted_set_size(&history.revokers), 0);
    cr_expect_eq(all_kept(), 0);
}

/* There was no journal when it was granted. */
Test(history, a_taker_of_a_lease_without_a_record_is_forgotten)
{
    const struct lease lease = ended(7);
    taken(7);
    over(&lease, NULL);
    cr_expect_eq(sorted_set_size(&history.revokers), 0);
    cr_expect_eq(all_kept(), 0);
}

/* ---- looking ---- */

Test(history, no_look_is_longer_than_it_may_be)
{
    const struct lease lease = ended(7);
    uint64_t position = 0;
    unsigned n_left = 60;
    for (uint64_t id = 100; id < 200; id++) {
        taken(id);
    }
    over(&lease, "a record");
    cr_expect_eq(kept(&position, &n_left), 0);
    cr_expect_eq(n_left, 0);
    n_left = 60;
    cr_expect_eq(kept(&position, &n_left), 1);
    cr_expect_eq(n_left, 19);
}

/* ---- for the database of a lease ---- */

static void expect_ending(const struct lease *lease, const char *expected)
{
    char *ending = history_ending(&history, lease);
    cr_expect_str_eq(ending ? ending : "none", expected);
    free(ending);
}

Test(history, how_a_lease_of_fleet_scope_has_ended)
{
    struct lease lease = ended(5);
    lease.asked_at = 0;
    lease.granted_at = 2000000;
    lease.ended_at = 9000000;
    history.told = (struct reported_exit){5, HISTORY_EXITED, 3};
    taken(5);
    over(&lease, "record");
    expect_ending(&lease, "how=revoked waited=2 held=7 exit=3 by=4711 why=maintenance");
    lease.id = 6;
    lease.granted_at = 0;
    lease.ended_why = OUTCOME_TIMEOUT;
    expect_ending(&lease, "how=timeout waited=9");
    lease.wants_now = true;
    expect_ending(&lease, "none");
    lease.ended_why = OUTCOME_OK;
    expect_ending(&lease, "none");
}

Test(history, a_long_reason_is_cut)
{
    const struct lease lease = ended(5);
    const struct actor by = {.is_known = true, .uid = 0};
    char reason[257] = "";
    for (size_t n = 250; n <= 256; n++) {
        memset(reason, ' ', n);
        history_note_revoker(&history, 5, &by, reason);
        char *ending = history_ending(&history, &lease);
        cr_expect(strlen(ending) <= 256 && strlen(ending) >= 254);
        cr_expect_str_eq(ending + strlen(ending) - 3, "%20");
        free(ending);
        reason[n % 2] = 'x';
    }
}
