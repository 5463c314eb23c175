#include "child_help.h"

#include "daemon/process.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t group_to_join = -1;

static void join_group(void)
{
    setpgid(0, group_to_join);
}

/* Never returns into the test. */
static void live(int ready, int hold, void (*prepare)(void))
{
    char byte = 0;
    if (prepare) {
        prepare();
    }
    if (write(ready, &byte, 1) == 1) {
        while (read(hold, &byte, 1) > 0) {
        }
    }
    _exit(0);
}

struct child child_start(void (*prepare)(void))
{
    int ready[2], hold[2];
    char byte;
    cr_assert(pipe2(ready, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0);
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        close(hold[1]);
        live(ready[1], hold[0], prepare);
    }
    close(ready[1]);
    close(hold[0]);
    cr_assert(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return (struct child){.pid = pid, .hold = hold[1]};
}

struct child child_start_in_group(pid_t group)
{
    group_to_join = group;
    return child_start(join_group);
}

void child_await(const struct child *child)
{
    siginfo_t info;
    cr_assert(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) == 0);
}

void child_end(struct child *child)
{
    close(child->hold);
    child->hold = -1;
    child_await(child);
}

int child_reap(struct child *child, int signal)
{
    int status;
    if (signal != 0) {
        kill(child->pid, signal);
    }
    cr_assert(waitpid(child->pid, &status, 0) == child->pid);
    if (child->hold >= 0) {
        close(child->hold);
        child->hold = -1;
    }
    return status;
}

struct process child_process(const struct child *child)
{
    struct process process;
    cr_assert_eq(process_identify(child->pid, 0, false, &process), PROCESS_OK);
    return process;
}
