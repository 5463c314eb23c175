/* run_command.c - `berth run`: one loop that joins the lease, the job, the signals and the clock;
 * or, with --no-fork, berth becomes the job, which only berthd watches. */
#include "berth/acquire_loop.h"
#include "berth/child.h"
#include "berth/environment.h"
#include "berth/held_lease.h"
#include "berth/terminal.h"
#include "client/exit_status.h"
#include "client/message.h"

#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

struct run {
    const struct options *options;
    struct child child;
    struct tree tree; /* with --tree */
    struct terminal terminal;
    struct held_lease held_lease; /* once the job runs */
    bool job_runs;
    struct job_end job_end;

    bool is_over;
    int status; /* the exit status; or, */
    int signal; /* if not 0, the signal that berth dies by */
    bool signal_to_group; /* also to the rest of berth's process group */

    struct acquire_loop acquire_loop; /* until the job runs; later, its connection; large */
};

static void run_over(struct run *run, int status)
{
    run->is_over = true;
    run->status = status;
}

/* ---- the job's end ---- */

static void job_has_ended(struct run *run, int status)
{
    bool had_terminal = run->terminal.is_given;
    terminal_take_back(&run->terminal);
    if (!WIFSIGNALED(status)) {
        run->status = WEXITSTATUS(status);
        run->job_end = (struct job_end){JOB_EXITED, run->status};
        return;
    }
    run->job_end = (struct job_end){JOB_SIGNALLED, WTERMSIG(status)};
    run->status = STATUS_SIGNAL + WTERMSIG(status);
    run->signal = WTERMSIG(status);
    /* What the terminal sent to the job alone was meant for all: ^C must also end the script or the
     * make above us. */
    run->signal_to_group = had_terminal && (run->signal == SIGINT || run->signal == SIGQUIT);
}

static int stop_signal(const struct run *run)
{
    return run->options->signal != 0 ? run->options->signal : SIGTERM;
}

/* The job's orphans are our children now. */
static void look_at_tree(struct run *run)
{
    if (!run->child.tree || !run->job_runs) {
        return;
    }
    if (run->held_lease.stopping.state == STOPPING_ASKED) {
        child_stop(&run->child, stop_signal(run), true);
    }
    if (run->child.is_reaped) {
        held_lease_main_is_gone(&run->held_lease);
    }
}

static void look_at_job(struct run *run)
{
    int status;
    enum child_change change;
    while ((change = child_look(&run->child, &status)) != CHILD_AS_BEFORE) {
        if (change == CHILD_ENDED) {
            job_has_ended(run, status);
        } else if (run->job_runs) {
            terminal_job_stopped(&run->terminal, &run->child, WSTOPSIG(status));
        }
    }
    look_at_tree(run);
}

static enum job_left what_is_left(const struct run *run)
{
    if (!run->child.is_reaped || (run->child.tree && !run->child.is_alone)) {
        return JOB_LEFT;
    }
    /* Unless the job is being stopped, it is over with its main process. */
    bool asks_group = run->held_lease.stopping.state != STOPPING_NOT;
    return asks_group && child_has_group(&run->child) ? JOB_GROUP_LEFT : JOB_GONE;
}

/* Ends the job's lease if the job is over; else takes the next step of a stop. */
static void see_to_end(struct run *run)
{
    struct stopping *stopping = &run->held_lease.stopping;
    enum job_left left = what_is_left(run);
    switch (stopping_step(stopping, left, clock_now())) {
    case STOPPING_NOTHING:
        run->is_over = stopping->state == STOPPING_NOT && left == JOB_GONE;
        break;
    case STOPPING_ASK:
        child_stop(&run->child, stop_signal(run), false);
        break;
    case STOPPING_KILL:
        child_stop(&run->child, SIGKILL, false);
        break;
    case STOPPING_OVER:
        run_over(run, STATUS_STOPPED);
        run->signal = 0;
        break;
    }
}

/* ---- signals ---- */

static void take_signal(struct run *run, int signal)
{
    if (signal == SIGCHLD) {
        look_at_job(run);
    } else if (signal == SIGCONT) {
        terminal_continue(&run->terminal, &run->child);
    } else if (signal == SIGTSTP) {
        terminal_ask_stop(&run->terminal, &run->child, clock_now());
    } else if (signal_is_forwarded(signal)) {
        child_signal(&run->child, signal);
    }
}

static void take_signals(struct run *run)
{
    int signal;
    while ((signal = signals_next(&run->acquire_loop.signals)) != 0) {
        take_signal(run, signal);
    }
}

/* ---- while the job runs ---- */

static void run_turn(struct run *run)
{
    struct acquire_loop *acquire_loop = &run->acquire_loop;
    nanoseconds stop_at = terminal_deadline(&run->terminal);
    struct acquire_loop_ready ready =
        acquire_loop_poll(acquire_loop, earlier(held_lease_deadline(&run->held_lease), stop_at));
    bool is_late = clock_now() >= stop_at;
    if (ready.signals) {
        take_signals(run);
    }
    if (is_late && terminal_deadline(&run->terminal) == stop_at) {
        terminal_is_due(&run->terminal, &run->child);
    }
    if (ready.signals || is_late) {
        /* We may have been stopped for hours: first learn why the job has ended meanwhile. */
        struct pollfd connection = {.fd = acquire_loop->connection.fd, .events = POLLIN};
        ready.connection = poll(&connection, 1, 0) > 0;
    }
    held_lease_step(&run->held_lease, ready.connection, clock_now());
    see_to_end(run);
}

static void run_job(struct run *run, const struct environment *environment)
{
    /* First what came with the grant: after a suspend the lease may be over already, and another
     * job may have its units. */
    held_lease_step(&run->held_lease, false, clock_now());
    if (run->held_lease.stopping.state != STOPPING_NOT) {
        child_discard(&run->child);
        run_over(run, STATUS_STOPPED);
        held_lease_release(&run->held_lease, &run->job_end);
        return;
    }
    run->job_runs = true;
    terminal_give(&run->terminal, &run->child); /* first: the job may read at once */
    child_start(&run->child, environment);
    while (!run->is_over) {
        run_turn(run);
    }
    if (run->options->file_lock) {
        close(run->options->file_lock->fd); /* the next one, with the lease, does not wait for it */
    }
    held_lease_release(&run->held_lease, &run->job_end);
}

static void run_leased(struct run *run)
{
    static struct environment environment; /* large */
    const struct grant *grant = &run->acquire_loop.acquisition.grant;
    if (!acquire_loop_fill(&run->acquire_loop, run->options, &environment)) {
        run_over(run, STATUS_CANNOT_EXECUTE);
        return;
    }
    if (run->options->verbose && grant->is_bound_to_connection) {
        message("berthd cannot see this process: the lease ends if berth is killed");
    }
    held_lease_init(&run->held_lease, &run->acquire_loop.acquisition);
    run_job(run, &environment);
}

static void run_unleased(struct run *run)
{
    static struct environment nothing;
    held_lease_init_nothing(&run->held_lease);
    run_job(run, &nothing);
}

/* ---- beginning ---- */

/* `run` is zeroed. */
static bool run_init(struct run *run, const struct options *options)
{
    nanoseconds now = clock_now();
    run->options = options;
    run->child.go = -1;
    run->child.file_lock = options->file_lock;
    if (!acquire_loop_init(&run->acquire_loop, options)) {
        run->status = run->acquire_loop.status;
        return false;
    }
    if (options->tree) {
        run->child.tree = &run->tree;
    }
    if ((options->tree && !tree_init(&run->tree)) ||
        !child_fork(&run->child, options->command, &run->acquire_loop.signals)) {
        message("cannot start a job: %s", strerror(errno));
        run->status = options->file_lock ? EX_OSERR : STATUS_CANNOT_EXECUTE;
        return false;
    }
    terminal_init(&run->terminal);
    acquisition_init(&run->acquire_loop.acquisition, options, &run->acquire_loop.endpoint,
        &run->acquire_loop.connection, run->child.pid, now);
    return true;
}

/* By a user, or by a berthd that has restarted: what it had granted it may lose before berth, whose
 * request is under way again, has heard of the grant. */
static void child_changed_early(struct run *run)
{
    look_at_job(run);
    if (run->child.is_reaped) {
        run->is_over = true;
        message("the job was killed before it began: %s", strsignal(run->signal));
    }
}

static void run_whole(struct run *run)
{
    while (!run->is_over) {
        switch (acquire_loop_wait(&run->acquire_loop)) {
        case ACQUISITION_GRANTED:
            run_leased(run);
            break;
        case ACQUISITION_UNLEASED:
            run_unleased(run);
            break;
        case ACQUISITION_REFUSED:
            run_over(run, run->acquire_loop.status);
            run->signal = run->acquire_loop.signal;
            break;
        case ACQUISITION_GOES_ON: /* a child has changed */
            child_changed_early(run);
            break;
        }
    }
}

/* ---- without a fork ---- */

/* Returns only if it fails. The exec, or our end, closes the connection. */
static int execute_in_place(
    struct acquire_loop *acquire_loop, const struct options *options, bool is_leased)
{
    static struct environment environment; /* large; without a lease, empty */
    bool would_end = is_leased && acquire_loop->acquisition.grant.is_bound_to_connection;
    if (would_end && !options->file_lock) {
        message("berthd cannot see this process, so the lease would end at once: do not use -F");
        return STATUS_DOWN;
    }
    if (is_leased && !acquire_loop_fill(acquire_loop, options, &environment)) {
        return STATUS_CANNOT_EXECUTE;
    }
    signals_restore(&acquire_loop->signals);
    if (options->file_lock) {
        int status;
        if (!file_lock_take(options->file_lock, &status)) {
            return status;
        }
    } else {
        environment_prepare(alloca(environment_size()));
        environment_enter(&environment);
    }
    return child_execute(options->command, options->file_lock);
}

int command_run(const struct options *options)
{
    static struct run run; /* large */
    int status = child_check_command(options->command, options->file_lock);
    if (status != 0) {
        return status;
    }
    if (options->no_fork) {
        return acquire_loop_run(options, getpid(), execute_in_place);
    }
    if (run_init(&run, options)) {
        run_whole(&run);
    }
    connection_close(&run.acquire_loop.connection);
    child_discard(&run.child);
    if (run.signal != 0) {
        signal_die(run.signal, run.signal_to_group);
    }
    /* Nothing is buffered, and whoever waits for berth need not wait for the handlers of exit(),
     * which write to eight pages that the fork has left to be copied. */
    _exit(run.status);
}
