#include "job/group.h"

#include "base/memory.h"
#include "base/words.h"
#include "job/descendants.h"
#include "job/process.h"
#include "log/log.h"

#include <assert.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_AT_ONCE = 8 }; /* each takes a descriptor */

/* ---- one process ---- */

/* `pidfd` is `pid`'s: should another process have the number by now, nobody gets the signal. */
static void send_one(struct group_signal *signal, int pidfd, const struct process_status *status)
{
    bool is_own = process_may_be_signalled_by(status, signal->uid);
    int number = is_own ? signal->own : signal->others;
    signal->is_sent |= number != 0 && process_signal_alone(pidfd, number);
}

/* A group whose leader is to be signalled, while signals are being sent. */
struct target {
    struct group_signal *signal;
    int leader; /* its pidfd; -1: it is gone */
    bool is_group;
};

/* The leader still leads it when the member is known to be in it: so it is this group, and not a
 * later one with its number. */
static void signal_member(struct target *target, pid_t pid, uint64_t started)
{
    const struct process member = {.pid = pid, .started = started};
    struct process_stat stat;
    struct process_status status;
    int pidfd = process_open(&member);
    if (pidfd < 0) {
        return;
    }
    bool is_member = process_look(pid, &stat, &status) &&
        stat.group == target->signal->leader.pid &&
        process_leads_group(target->leader, &target->signal->leader);
    if (is_member) {
        send_one(target->signal, pidfd, &status);
    }
    close(pidfd);
}

/* ---- a wrapper's descendants ---- */

static void signal_descendant(const struct descendant *descendant, void *context)
{
    struct group_signal *signal = context;
    struct process_stat stat;
    struct process_status status;
    int pidfd = process_open(&descendant->process);
    if (pidfd < 0) {
        return;
    }
    bool is_it = process_look(descendant->process.pid, &stat, &status) &&
        stat.started == descendant->process.started;
    if (is_it && (signal->own == SIGKILL || stat.group != signal->leader.pid)) {
        send_one(signal, pidfd, &status);
    }
    close(pidfd);
}

/* A wrapper whose job is dead and that does not notice hangs, or is stopped. */
static void signal_tree(struct group_signal *signal)
{
    size_t n = descendants_for_each(
        &signal->wrapper, signal->leader.started, signal_descendant, signal);
    if (n == 0 && signal->own == SIGKILL) {
        const struct descendant wrapper = {.process = signal->wrapper};
        signal_descendant(&wrapper, signal);
    }
}

/* ---- all of them ---- */

static void look_at(pid_t pid, struct target targets[], size_t n)
{
    struct process_stat stat;
    if (pid == getpid() || !process_look(pid, &stat, NULL)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        pid_t leader = targets[i].signal->leader.pid;
        if (targets[i].is_group && stat.group == leader && pid != leader) {
            signal_member(&targets[i], pid, stat.started);
        }
    }
}

/* In the order of their numbers, as /proc lists them: processes forked meanwhile come later. */
static void signal_members(struct target targets[], size_t n)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        uint64_t pid;
        if (number_parse(entry->d_name, INT32_MAX, &pid)) {
            look_at((pid_t)pid, targets, n);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

static struct target open_target(struct group_signal *signal)
{
    struct target target = {.signal = signal, .leader = process_open(&signal->leader)};
    target.is_group = target.leader >= 0 && process_leads_group(target.leader, &signal->leader);
    return target;
}

static void signal_leader(const struct target *target)
{
    struct process_stat stat;
    struct process_status status;
    if (target->leader < 0) {
        return;
    }
    if (process_look(target->signal->leader.pid, &stat, &status)) {
        send_one(target->signal, target->leader, &status);
    }
    close(target->leader);
}

static void send_at_once(struct group_signal signals[], size_t n)
{
    struct target targets[MAX_AT_ONCE];
    bool any_group = false;
    for (size_t i = 0; i < n; i++) {
        targets[i] = open_target(&signals[i]);
        any_group |= targets[i].is_group;
    }
    if (any_group) {
        signal_members(targets, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (signals[i].wrapper.pid != 0) {
            signal_tree(&signals[i]);
        }
        signal_leader(&targets[i]);
    }
}

/* Sends the signals, to leaders last. Reads /proc at once. If a wrapper has no descendants left, it
 * hangs, and is killed itself. */
static void send_all(struct group_signal signals[], size_t n)
{
    for (size_t i = 0; i < n; i += MAX_AT_ONCE) {
        send_at_once(&signals[i], n - i < MAX_AT_ONCE ? n - i : MAX_AT_ONCE);
    }
}

/* ---- from the loop ---- */

static void on_work(uv_work_t *work)
{
    struct group_signaller *signaller = container_of(work, struct group_signaller, work);
    send_all(signaller->sending.signals, signaller->sending.n);
}

static void send_waiting(struct group_signaller *signaller);

static void on_sent(uv_work_t *work, int status)
{
    struct group_signaller *signaller = container_of(work, struct group_signaller, work);
    struct group_signal_list *sent = &signaller->sending;
    (void)status;
    signaller->is_sending = false;
    for (size_t i = 0; i < sent->n; i++) {
        const struct group_signal *signal = &sent->signals[i];
        if (!signal->is_sent) {
            log_provoked("process %d: cannot signal it or its group on behalf of uid %u",
                (int)signal->leader.pid, signal->uid);
        }
    }
    sent->n = 0;
    send_waiting(signaller);
}

static void send_waiting(struct group_signaller *signaller)
{
    if (signaller->is_sending || signaller->waiting.n == 0) {
        return;
    }
    struct group_signal_list next = signaller->waiting;
    signaller->waiting = signaller->sending;
    signaller->sending = next;
    signaller->is_sending = true;
    int error = uv_queue_work(signaller->loop, &signaller->work, on_work, on_sent);
    assert(error == 0);
    (void)error;
}

void group_signaller_add(struct group_signaller *signaller, const struct group_signal *signal)
{
    struct group_signal_list *waiting = &signaller->waiting;
    if (waiting->n == waiting->size) {
        waiting->size = waiting->size > 0 ? 2 * waiting->size : 4;
        waiting->signals = memory_resize(waiting->signals, waiting->size, sizeof *waiting->signals);
    }
    waiting->signals[waiting->n++] = *signal;
    send_waiting(signaller);
}

void group_signaller_init(struct group_signaller *signaller, uv_loop_t *loop)
{
    *signaller = (struct group_signaller){.loop = loop};
}

void group_signaller_deinit(struct group_signaller *signaller)
{
    assert(!signaller->is_sending);
    free(signaller->waiting.signals);
    free(signaller->sending.signals);
}
