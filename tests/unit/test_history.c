/* test_history.c - how a lease has ended, for its database. */
#include "record/history.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct lease ended(uint64_t id)
{
    return (struct lease){.id = id, .granted_at = 1, .ended_at = 2, .ended_why = OUTCOME_REVOKED};
}

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
