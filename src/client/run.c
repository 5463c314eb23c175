/* run.c - `berth run`: one loop that joins the asking, the job, the signals and the clock. */
#include "client/asking.h"
#include "client/child.h"
#include "client/clock.h"
#include "client/commands.h"
#include "client/environment.h"
#include "client/holding.h"
#include "client/message.h"
#include "client/signals.h"
#include "client/status.h"
#include "client/terminal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
    const struct options *options;
    struct endpoint endpoint;
    struct signals signals;
    struct child child;
    struct terminal terminal;
    struct connection connection;
    struct asking asking; /* until the job runs */
    struct holding holding; /* from then on */
    int timer;
    nanoseconds timer_at;
    bool job_runs;

    bool is_over;
    int status; /* the exit status; or, */
    int signal; /* if not 0, what berth dies by, */
    bool signal_to_group; /* with all of its process group */
};

static void run_over(struct run *run, int status)
{
    run->is_over = true;
    run->status = status;
}

/* ---- the job ---- */

static void say_granted(const struct grant *grant)
{
    char what[1024] = "";
    for (size_t i = 0; i < grant->n; i++) {
        const struct granted *granted = &grant->granted[i];
        append(what, sizeof what, "%s%s %s %s (token %s)", i > 0 ? ", " : "", granted->name,
            granted->pool ? "item" : "slot", granted->units, granted->token);
    }
    message("granted %s, lease %s", what, grant->lease);
}

static void start_job(struct run *run, const struct environment *environment)
{
    run->job_runs = true;
    terminal_give(&run->terminal, &run->child); /* first: it may read at once */
    child_start(&run->child, environment);
}

static void start_leased(struct run *run)
{
    static struct environment environment; /* large */
    char socket_path[PATH_MAX];
    const struct grant *grant = &run->asking.grant;

    endpoint_absolute(&run->endpoint, socket_path);
    if (!environment_fill(&environment, grant, run->options, socket_path)) {
        message("the lease does not fit into the environment");
        run_over(run, STATUS_CANNOT_EXECUTE);
        return;
    }
    if (run->options->verbose) {
        say_granted(grant);
    }
    holding_init(&run->holding, &run->connection, grant->lease);
    start_job(run, &environment);
    holding_take_lines(&run->holding);
}

static void start_unleased(struct run *run)
{
    static struct environment nothing;
    holding_init(&run->holding, &run->connection, "");
    start_job(run, &nothing);
}

static void job_has_ended(struct run *run, int status)
{
    bool had_terminal = run->terminal.is_given;
    terminal_take_back(&run->terminal);
    if (run->job_runs) {
        holding_release(&run->holding);
    }
    run->child.pid = 0;
    if (!WIFSIGNALED(status)) {
        run_over(run, WEXITSTATUS(status));
        return;
    }
    run_over(run, STATUS_SIGNAL + WTERMSIG(status));
    run->signal = WTERMSIG(status);
    /* What the terminal sent to the job alone was meant for all: ^C must also end the script or
     * the make above us. */
    run->signal_to_group = had_terminal && (run->signal == SIGINT || run->signal == SIGQUIT);
}

static void look_at_job(struct run *run)
{
    int status;
    enum child_change change;
    while (!run->is_over && (change = child_look(&run->child, &status)) != CHILD_AS_BEFORE) {
        if (change == CHILD_ENDED) {
            job_has_ended(run, status);
        } else if (run->job_runs) {
            terminal_job_stopped(&run->terminal, &run->child, WSTOPSIG(status));
        }
    }
}

/* ---- signals ---- */

static void take_signal_while_waiting(struct run *run, int signal)
{
    if (signal_ends(signal)) {
        run_over(run, STATUS_SIGNAL + signal);
        run->signal = signal;
    } else if (signal == SIGTSTP) {
        signal_stop(signal, false);
    }
}

static void take_signal_while_running(struct run *run, int signal)
{
    if (signal == SIGCONT) {
        terminal_continue(&run->terminal, &run->child);
    } else if (signal == SIGTSTP) {
        terminal_ask_stop(&run->terminal, &run->child);
    } else if (signal_is_forwarded(signal)) {
        child_signal(&run->child, signal);
    }
}

static void take_signals(struct run *run)
{
    int signal;
    while (!run->is_over && (signal = signals_next(&run->signals)) != 0) {
        if (signal == SIGCHLD) {
            look_at_job(run);
        } else if (run->job_runs) {
            take_signal_while_running(run, signal);
        } else {
            take_signal_while_waiting(run, signal);
        }
    }
}

/* ---- the loop ---- */

static void step_asking(struct run *run, bool readable)
{
    switch (asking_step(&run->asking, readable, clock_now())) {
    case ASKING_GOES_ON:
        break;
    case ASKING_GRANTED:
        start_leased(run);
        break;
    case ASKING_UNLEASED:
        start_unleased(run);
        break;
    case ASKING_REFUSED:
        run_over(run, run->asking.status);
        break;
    }
}

static void set_timer(struct run *run, nanoseconds at)
{
    if (at != run->timer_at && at != NEVER) {
        struct itimerspec when = {
            .it_value = {at / NANOSECONDS_PER_SECOND, at % NANOSECONDS_PER_SECOND}};
        timerfd_settime(run->timer, TFD_TIMER_ABSTIME, &when, NULL);
    }
    run->timer_at = at;
}

static void run_turn(struct run *run)
{
    enum { SIGNALS, CONNECTION, TIMER, N_POLLED };
    bool needs_timer = false;
    if (!run->job_runs) {
        set_timer(run, asking_deadline(&run->asking));
        needs_timer = run->timer_at != NEVER;
    }
    struct pollfd polled[N_POLLED] = {
        [SIGNALS] = {.fd = run->signals.fd, .events = POLLIN},
        [CONNECTION] = {.fd = run->connection.fd, .events = POLLIN},
        [TIMER] = {.fd = needs_timer ? run->timer : -1, .events = POLLIN},
    };
    if (poll(polled, N_POLLED, -1) < 0) {
        return;
    }
    /* First: who sends a signal while the grant arrives wants no job. */
    if (polled[SIGNALS].revents) {
        take_signals(run);
    }
    if (run->is_over) {
        return;
    }
    bool readable = polled[CONNECTION].revents != 0;
    if (!run->job_runs) {
        step_asking(run, readable);
    } else if (readable) {
        holding_read(&run->holding);
    }
}

static bool run_init(struct run *run, const struct options *options, nanoseconds now)
{
    *run = (struct run){
        .options = options,
        .connection = CONNECTION_INIT,
        .child.go = -1,
        .timer_at = NEVER,
    };
    if (!endpoint_choose(&run->endpoint, options->socket)) {
        message("the socket's path is empty or too long");
        run->status = STATUS_USAGE;
        return false;
    }
    run->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (!signals_init(&run->signals) || run->timer < 0 ||
        !child_fork(&run->child, options->command, &run->signals)) {
        message("cannot start a job: %s", strerror(errno));
        run->status = STATUS_CANNOT_EXECUTE;
        return false;
    }
    terminal_init(&run->terminal);
    asking_init(&run->asking, options, &run->endpoint, &run->connection, run->child.pid, now);
    return true;
}

int command_run(const struct options *options)
{
    static struct run run; /* large */
    if (run_init(&run, options, clock_now())) {
        step_asking(&run, false);
        while (!run.is_over) {
            run_turn(&run);
        }
    }
    /* Leaves the queue, if the job never ran. */
    connection_close(&run.connection);
    child_discard(&run.child);
    if (run.signal != 0) {
        signal_die(run.signal, run.signal_to_group);
    }
    return run.status;
}
