#include "command/process_lease.h"

#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/named_process.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "job/process.h"
#include "status/answer_lines.h"
#include "status/long_answer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { MAX_LOOKED_AT = 500 }; /* leases of one piece: some 200 microseconds */

/* Of a process and its ancestors, the lease of the nearest one. */
struct search {
    struct long_answer answer;
    struct conn *conn;
    pid_t asked;
    pid_t pids[MAX_PARENTS]; /* .asked and its ancestors */
    size_t n;
    uint64_t cursor; /* core_walk_leases() */
    uint64_t found; /* its id; 0: none yet */
    bool found_waits;
    size_t nearest; /* whose it is */
};

/* ---- one lease ---- */

/* The processes by which a lease can be found; 0: none. */
struct lease_pids {
    pid_t own, job, wrapper, client;
};

static struct lease_pids pids_of(const struct lease *lease)
{
    bool is_bound = lease->binding == BOUND_PROCESS, has_client = !lease_is_detached(lease);
    return (struct lease_pids){
        .own = lease->pid,
        .job = is_bound ? lease->process.pid : 0,
        .wrapper = is_bound ? lease->wrapper.pid : 0,
        .client = has_client ? conn_of(lease->client)->pid : 0,
    };
}

static bool belongs_to(const struct lease_pids *pids, pid_t pid)
{
    return pids->own == pid || pids->job == pid || pids->wrapper == pid || pids->client == pid;
}

/* Of several leases of one process, one that waits; else the newest. */
static bool is_better(const struct search *search, const struct lease *lease, size_t i)
{
    bool waits = lease->state == LEASE_WAITING;
    if (search->found == 0 || i != search->nearest) {
        return true;
    }
    return waits != search->found_waits ? waits : lease->id > search->found;
}

static void look_at_lease(struct lease *lease, void *context)
{
    struct search *search = context;
    const struct lease_pids pids = pids_of(lease);
    size_t end = search->found != 0 ? search->nearest + 1 : search->n, i = 0;
    while (i < end && !belongs_to(&pids, search->pids[i])) {
        i++;
    }
    if (i < end && is_better(search, lease, i)) {
        search->found = lease->id;
        search->found_waits = lease->state == LEASE_WAITING;
        search->nearest = i;
    }
}

/* ---- all leases ---- */

static void say_that_none_is_found(const struct search *search, struct text *out)
{
    bool is_gone = kill(search->asked, 0) != 0 && errno == ESRCH;
    answer_error_saying(out, CODE_UNKNOWN, "process %d: %s", (int)search->asked,
        is_gone ? "no such process"
                : "neither it nor one of its ancestors has a lease or waits for one");
    search->conn->server->counts.refusals[CODE_UNKNOWN]++;
}

/* The request is carried out again, in this form. */
static void go_on_with(struct conn *conn, uint64_t id)
{
    struct text line = TEXT_INIT;
    char lease[LEASE_ID_SIZE];
    lease_id_format(lease, id);
    text_add(&line, command_table[COMMAND_why].word);
    text_add_key(&line, "lease", lease);
    conn_again(conn, text_take(&line), uv_now(&conn->server->loop) + 1);
}

static bool look_at_some(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    struct search *search = container_of(answer, struct search, answer);
    struct core *core = search->conn->server->core;
    (void)moment, (void)enough;
    core_walk_leases(core, &search->cursor, MAX_LOOKED_AT, look_at_lease, search);
    if (search->cursor != 0) {
        return true;
    }
    if (search->found == 0) {
        say_that_none_is_found(search, out);
        return false;
    }
    if (core_find_lease(core, search->found)) {
        go_on_with(search->conn, search->found);
        return false;
    }
    search->found = 0; /* it has ended meanwhile */
    return true;
}

static void free_search(struct long_answer *answer)
{
    free(container_of(answer, struct search, answer));
}

void process_lease_why(struct call *call, const char *pid)
{
    static const struct long_answer_kind kind = {
        .more = look_at_some, .free = free_search, .has_no_end = true};
    uint64_t number;
    if (!number_parse(pid, INT32_MAX, &number) || number == 0) {
        call_refuse(call, CODE_BAD_VALUE, "pid");
        return;
    }
    if (!named_process_shares_pid_ns(call)) {
        return;
    }
    struct search *search = memory_new(sizeof *search);
    search->answer.kind = &kind;
    search->conn = call->conn;
    search->asked = (pid_t)number;
    search->n = process_and_ancestors(search->asked, search->pids);
    conn_begin_long(call->conn, &search->answer);
}
