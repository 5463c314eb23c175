/* test_history.c - what berthd keeps of leases that are over. */
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

/* ---- looking ---- */

Test(history, no_look_is_longer_than_it_may_be)
{
    const struct lease lease = ended(7);
    const struct did did = {.verb = "pause"};
    uint64_t position = 0;
    unsigned n_left = 60;
    for (int i = 0; i < 100; i++) {
        history_add_did(&history, &did, 1);
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
    char *ending = history_ending(lease);
    cr_expect_str_eq(ending ? ending : "none", expected);
    free(ending);
}

Test(history, how_a_lease_of_fleet_scope_has_ended)
{
    struct lease lease = ended(5);
    lease.asked_at = 0;
    lease.granted_at = 2000000;
    lease.ended_at = 9000000;
    lease.job_end = HISTORY_EXITED;
    lease.job_status = 3;
    lease.taken = &(struct taken){{.is_known = true, .uid = 4711}, (char[]){"maintenance"}};
    over(&lease, "record");
    expect_ending(&lease, "how=revoked waited=2 held=7 exit=3 by=4711 why=maintenance");
    lease.id = 6;
    lease.taken = NULL;
    lease.job_end = HISTORY_STATUS_UNKNOWN;
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
    struct lease lease = ended(5);
    char reason[257] = "";
    lease.taken = &(struct taken){{.is_known = true, .uid = 0}, reason};
    for (size_t n = 250; n <= 256; n++) {
        memset(reason, ' ', n);
        char *ending = history_ending(&lease);
        cr_expect(strlen(ending) <= 256 && strlen(ending) >= 254);
        cr_expect_str_eq(ending + strlen(ending) - 3, "%20");
        free(ending);
        reason[n % 2] = 'x';
    }
}
