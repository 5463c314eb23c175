#include "job/job.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/core.h"
#include "job/process.h"
#include "record/lease_log.h"
#include "record/loop_iteration.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* ---- when it is gone ---- */

static void on_gone(struct watches *watches, void *context)
{
    struct jobs *jobs = container_of(watches, struct jobs, watches);
    struct lease *lease = context;
    job_forget(lease);
    core_process_exited(jobs->core, lease, clock_now(), jobs->effects);
    apply_effects(jobs->turn);
    loop_iteration_end(jobs->turn);
}

void job_watch(struct jobs *jobs, struct lease *lease)
{
    job_forget(lease);
    lease->watch = watch_new(&jobs->watches, lease_bound_process(lease), on_gone, lease);
}

void job_forget(struct lease *lease)
{
    lease->watch = watch_free(lease->watch);
}

/* ---- stopping it ---- */

bool job_holder_may_not_signal(const struct lease *lease)
{
    struct process process;
    struct process_place place;
    return lease->binding == BOUND_PROCESS && !lease_is_programs(lease) &&
        process_identify(lease->process.pid, lease->uid, false, &process, &place) ==
        PROCESS_NOT_YOURS;
}

/* Root's and our own reach is no smaller than berthd's. */
static bool is_lent(const struct lease *lease)
{
    return lease->uid != 0 && lease->uid != geteuid();
}

/* While the kernel says who has which lock, nobody on the machine gets one, and berthd waits: often
 * for ten milliseconds. So it is asked about leases of `berth flock` alone. */
int32_t job_file_lock_holder(const struct lease *lease)
{
    bool has_job = lease->binding == BOUND_PROCESS && !lease_is_programs(lease);
    bool is_of_file = lease->claims[0].resource->definition->has_own_names;
    return has_job && is_of_file ? process_file_lock_holder(lease->process.pid) : 0;
}

/* The signal for processes that the lease's user may not signal: none that the user has chosen, and
 * none at all if the user stops the job. */
static int signal_to_others(const struct lease *lease, int signal)
{
    return lease->stopping == OUTCOME_WITHDRAWN ? 0 : signal == SIGKILL ? SIGKILL : SIGTERM;
}

void job_signal(struct jobs *jobs, const struct lease *lease, int signal)
{
    const struct group_signal each = {
        .leader = lease->process,
        .wrapper = lease->wrapper,
        .uid = lease->uid,
        .own = signal,
        .others = is_lent(lease) ? signal_to_others(lease, signal) : signal,
    };
    if (each.others != each.own || lease->wrapper.pid != 0) {
        group_signaller_add(&jobs->signaller, &each);
        lease_log_signal(jobs->databases, lease, signal, 0);
        return;
    }
    errno = ESRCH;
    bool sent = lease->watch && watch_signal(lease->watch, signal);
    lease_log_signal(jobs->databases, lease, signal, sent ? 0 : errno);
}
