/* test_peer.c - which process has connected to a socket: by its pidfd, and where there is none. */
#include "base/clock.h"
#include "child_help.h"
#include "job/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(peer, .timeout = 20);

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* From now on the kernel is one from before Linux 6.5. */
static void become_old(void)
{
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getsockopt, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_PEERPIDFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* The socket of a child that has connected and, if `ends`, has been reaped. */
static int connected_child(pid_t *childp, bool ends)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the kernel chooses its name */
    socklen_t size = sizeof address;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    cr_assert_eq(listen(listener, 1), 0);
    *childp = fork();
    if (*childp == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        bool is_good = connect(client, (struct sockaddr *)&address, size) == 0;
        while (is_good && !ends) {
            pause();
        }
        _exit(!is_good);
    }
    int fd = accept(listener, NULL, NULL);
    cr_assert_geq(fd, 0);
    close(listener);
    if (ends) {
        int status;
        cr_assert_eq(waitpid(*childp, &status, 0), *childp);
        cr_assert_eq(status, 0);
    }
    return fd;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void expect_the_peer(void)
{
    pid_t alive, dead;
    int its = connected_child(&alive, false), of_dead = connected_child(&dead, true);
    struct process process;
    cr_assert(process_of_peer(its, alive, clock_now(), &process));
    cr_expect_eq(process.pid, alive);
    cr_expect(process_is_alive(&process));
    cr_expect_not(process_of_peer(of_dead, dead, clock_now(), &process));
    end_child(alive);
    cr_expect_not(process_of_peer(its, alive, clock_now(), &process));
    close(its);
    close(of_dead);
}

Test(peer, by_its_pidfd)
{
    expect_the_peer();
}

/* Its number is another's, which lives: so far as we are told, that of this process. */
Test(peer, its_number_is_used_again)
{
    pid_t dead;
    int fd = connected_child(&dead, true);
    struct process process;
    cr_expect_not(process_of_peer(fd, getpid(), clock_now(), &process));
    become_old();
    nanoseconds before_us = clock_now() - 3600 * NANOSECONDS_PER_SECOND;
    cr_expect_not(process_of_peer(fd, getpid(), later(before_us, 1), &process));
    cr_expect(process_of_peer(fd, getpid(), clock_now(), &process)); /* it cannot tell */
    close(fd);
}

Test(peer, on_an_old_kernel)
{
    become_old();
    expect_the_peer();
}
