#include "job/group.h"

#include "base/memory.h"
#include "base/words.h"
#include "job/process.h"
#include "log/log.h"

#include <assert.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_AT_ONCE = 8 }; /* each takes a descriptor */

/* In the order of their numbers, as /proc lists them: processes forked meanwhile come later. */
static void for_each_process(void (*function)(pid_t pid, void *context), void *context)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        uint64_t pid;
        if (number_parse(entry->d_name, INT32_MAX, &pid)) {
            function((pid_t)pid, context);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* ---- one process ---- */

/* `pidfd` is `pid`'s: should another process have the number by now, nobody gets the signal. */
static void send_one(struct group_signal *signal, int pidfd, const struct process_status *status)
{
    bool is_own = process_may_be_signalled_by(status, signal->uid);
    int number = is_own ? signal->own : signal->others;
    signal->is_sent |= number != 0 && process_signal(pidfd, NULL, number);
}

/* A group whose leader is to be signalled, while signals are being sent. */
struct target {
    struct group_signal *signal;
    int leader; /* its pidfd; -1: it is gone */
    bool is_group;
};

/* To a member of the target's group; without a target, to a process outside of it, unless all are
 * to be killed. The leader still leads the group when the member is known to be in it: so it is
 * this group, and not a later one with its number. */
static void signal_process(
    struct group_signal *signal, const struct target *target, const struct process *process)
{
    struct process_stat stat;
    struct process_status status;
    int pidfd = process_open(process);
    if (pidfd < 0) {
        return;
    }
    bool is_it =
        process_look(process->pid, &stat, &status) && stat.started == process->started;
    bool is_in_group = is_it && stat.group == signal->leader.pid;
    bool is_meant = target ? is_in_group && process_leads_group(target->leader, &signal->leader)
                           : is_it && (signal->own == SIGKILL || !is_in_group);
    if (is_meant) {
        send_one(signal, pidfd, &status);
    }
    close(pidfd);
}

/* ---- the descendants of a subreaper, a wrapper of `berth run --tree` ---- */

struct candidate {
    struct process process;
    pid_t parent;
    bool is_alive, is_ours;
};

struct candidates {
    struct candidate *list; /* by pid */
    size_t n;
};

static int group_compare(const void *a, const void *b)
{
    pid_t left = ((const struct candidate *)a)->process.pid;
    pid_t right = ((const struct candidate *)b)->process.pid;
    return (left > right) - (left < right);
}

static void add_candidate(pid_t pid, void *context)
{
    struct candidates *all = context;
    struct process_stat stat;
    if (process_look(pid, &stat, NULL)) {
        all->list = memory_grow(all->list, all->n, sizeof *all->list);
        all->list[all->n++] = (struct candidate){
            .process = {.pid = pid, .started = stat.started},
            .parent = stat.parent,
            .is_alive = process_stat_is_alive(&stat),
        };
    }
}

static struct candidate *group_find(const struct candidates *all, pid_t pid)
{
    const struct candidate key = {.process = {.pid = pid}};
    return all->n == 0 ? NULL : bsearch(&key, all->list, all->n, sizeof key, group_compare);
}

/* Only of children born at `since` (as process.started) or later: the program that executed the
 * wrapper may have had children before. */
static bool is_child(const struct candidates *all, const struct candidate *candidate,
    const struct process *wrapper, uint64_t since)
{
    if (candidate->process.pid == getpid()) {
        return false; /* started by a job, it would stop itself */
    }
    if (candidate->parent == wrapper->pid) {
        return candidate->process.started >= since;
    }
    const struct candidate *parent = group_find(all, candidate->parent);
    return parent && parent->is_ours;
}

/* Marks one generation each time. */
static void mark(struct candidates *all, const struct process *wrapper, uint64_t since)
{
    bool any;
    do {
        any = false;
        for (size_t i = 0; i < all->n; i++) {
            struct candidate *candidate = &all->list[i];
            if (!candidate->is_ours && is_child(all, candidate, wrapper, since)) {
                candidate->is_ours = any = true;
            }
        }
    } while (any);
}

/* A wrapper that does not notice that its job is dead hangs or is stopped: it is killed itself. */
static void signal_tree(struct group_signal *signal)
{
    struct candidates all = {.list = NULL};
    bool is_any = false;
    for_each_process(add_candidate, &all);
    if (all.n > 0) {
        qsort(all.list, all.n, sizeof *all.list, group_compare);
    }
    const struct candidate *top = group_find(&all, signal->wrapper.pid);
    if (top && top->process.started == signal->wrapper.started) {
        mark(&all, &signal->wrapper, signal->leader.started);
    }
    for (size_t i = 0; i < all.n; i++) {
        if (all.list[i].is_ours && all.list[i].is_alive) {
            signal_process(signal, NULL, &all.list[i].process);
            is_any = true;
        }
    }
    if (!is_any && signal->own == SIGKILL) {
        signal_process(signal, NULL, &signal->wrapper);
    }
    free(all.list);
}

/* ---- all of them ---- */

struct targets {
    struct target list[MAX_AT_ONCE];
    size_t n;
};

static void signal_in_groups(pid_t pid, void *context)
{
    struct targets *targets = context;
    struct process_stat stat;
    if (pid == getpid() || !process_look(pid, &stat, NULL)) {
        return;
    }
    for (size_t i = 0; i < targets->n; i++) {
        struct target *target = &targets->list[i];
        pid_t leader = target->signal->leader.pid;
        if (target->is_group && stat.group == leader && pid != leader) {
            const struct process member = {.pid = pid, .started = stat.started};
            signal_process(target->signal, target, &member);
        }
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
    struct targets targets = {.n = n};
    bool any_group = false;
    for (size_t i = 0; i < n; i++) {
        targets.list[i] = open_target(&signals[i]);
        any_group |= targets.list[i].is_group;
    }
    if (any_group) {
        for_each_process(signal_in_groups, &targets);
    }
    for (size_t i = 0; i < n; i++) {
        if (signals[i].wrapper.pid != 0) {
            signal_tree(&signals[i]);
        }
        signal_leader(&targets.list[i]);
    }
}

/* Sends the signals, to leaders last. Reads /proc at once. */
static void send_all(struct group_signal signals[], size_t n)
{
    for (size_t i = 0; i < n; i += MAX_AT_ONCE) {
        send_at_once(&signals[i], n - i < MAX_AT_ONCE ? n - i : MAX_AT_ONCE);
    }
}

/* ---- from the loop ---- */

static void group_on_work(uv_work_t *work)
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
            log_ratelimited("process %d: cannot signal it or its group on behalf of uid %u",
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
    int error = uv_queue_work(signaller->loop, &signaller->work, group_on_work, on_sent);
    assert(error == 0);
    (void)error;
}

void group_signaller_add(struct group_signaller *signaller, const struct group_signal *signal)
{
    struct group_signal_list *waiting = &signaller->waiting;
    waiting->signals = memory_grow(waiting->signals, waiting->n, sizeof *waiting->signals);
    waiting->signals[waiting->n++] = *signal;
    send_waiting(signaller);
}

void group_signaller_deinit(struct group_signaller *signaller)
{
    assert(!signaller->is_sending);
    free(signaller->waiting.signals);
    free(signaller->sending.signals);
}
