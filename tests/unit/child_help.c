#include "child_help.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not cr_assert(), which would go on with the test in the child. */
#define require(condition) ((condition) ? (void)0 : give_up(#condition))

static void give_up(const char *condition)
{
    fprintf(stderr, "child_help.c: not so: %s\n", condition);
    abort();
}

enum process_check identify(
    pid_t pid, uint32_t asker_uid, bool asker_is_admin, struct process *out)
{
    struct process_place unused;
    return process_identify(pid, asker_uid, asker_is_admin, out, &unused);
}

static pid_t group_to_join = -1;

static void join_group(void)
{
    setpgid(0, group_to_join);
}

/* Never returns into the test. */
static void live(int ready, int hold, void (*prepare)(void))
{
    char byte = 0;
    /* Closes what would keep its siblings from ending. */
    dup2(ready, STDIN_FILENO);
    dup2(hold, STDOUT_FILENO);
    close_range(STDERR_FILENO + 1, ~0u, 0);
    if (prepare) {
        prepare();
    }
    if (write(STDIN_FILENO, &byte, 1) == 1 && close(STDIN_FILENO) == 0) {
        while (read(STDOUT_FILENO, &byte, 1) > 0) {
        }
    }
    _exit(0);
}

struct child child_start(void (*prepare)(void))
{
    int ready[2], hold[2];
    char byte;
    require(pipe2(ready, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0);
    pid_t pid = fork();
    require(pid >= 0);
    if (pid == 0) {
        close(hold[1]);
        live(ready[1], hold[0], prepare);
    }
    close(ready[1]);
    close(hold[0]);
    require(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    struct child child = {.pid = pid, .hold = hold[1]};
    require(identify(pid, 0, false, &child.process) == PROCESS_OK);
    return child;
}

struct child child_start_in_group(pid_t group)
{
    group_to_join = group;
    return child_start(join_group);
}

void child_await(const struct child *child)
{
    siginfo_t info;
    require(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) == 0);
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
    require(waitpid(child->pid, &status, 0) == child->pid);
    child->pid = 0;
    if (child->hold >= 0) {
        close(child->hold);
        child->hold = -1;
    }
    return status;
}

bool child_ends_by(struct child *child, int signal)
{
    int status = child_reap(child, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}
