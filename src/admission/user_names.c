#include "admission/user_names.h"

#include "base/memory.h"
#include "record/loop_iteration.h"

#include <assert.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_NAMES = 4096, BUFFER_BYTES = 16384 };

#define KEPT_FOR (600 * NANOSECONDS_PER_SECOND)

struct user_name {
    struct table_node by_uid;
    TAILQ_ENTRY(user_name) link; /* in names->known or .wanted */
    nanoseconds since;
    uint32_t uid;
    bool is_known;
    char *name; /* NULL: has none, or is not known */
};

/* ---- in the pool ---- */

static void user_names_on_work(uv_work_t *work)
{
    struct user_names *names = container_of(work, struct user_names, work);
    static char buffer[BUFFER_BYTES]; /* one look-up at a time */
    struct passwd entry, *found = NULL;
    names->found[0] = '\0';
    if (getpwuid_r(names->asked, &entry, buffer, sizeof buffer, &found) == 0 && found) {
        snprintf(names->found, sizeof names->found, "%s", entry.pw_name);
    }
}

/* ---- on the loop ---- */

static void on_done(uv_work_t *work, int status);

static struct user_name *find(const struct user_names *names, uint32_t uid)
{
    struct table_node *node = table_find_number(&names->by_uid, uid);
    return node ? container_of(node, struct user_name, by_uid) : NULL;
}

static void user_names_forget(struct user_names *names, struct user_name *name)
{
    table_remove(&names->by_uid, &name->by_uid);
    TAILQ_REMOVE(name->is_known ? &names->known : &names->wanted, name, link);
    free(name->name);
    free(name);
}

static void look_up_next(struct user_names *names)
{
    struct user_name *next = TAILQ_FIRST(&names->wanted);
    if (names->is_looking || !next || names->turn->stopping) {
        return;
    }
    names->is_looking = true;
    names->asked = next->uid;
    int error = uv_queue_work(names->loop, &names->work, user_names_on_work, on_done);
    assert(error == 0);
    (void)error;
}

static void tell_waiters(struct user_names *names)
{
    struct names_waiter *waiter;
    while (!user_names_are_coming(names) && (waiter = LIST_FIRST(&names->waiters))) {
        struct conn *conn = waiter->conn;
        user_names_leave(waiter);
        waiter->done(conn);
    }
}

static void on_done(uv_work_t *work, int status)
{
    struct user_names *names = container_of(work, struct user_names, work);
    struct user_name *name = find(names, names->asked);
    (void)status;
    names->is_looking = names->is_stuck = false;
    if (names->turn->stopping) {
        return;
    }
    if (name && !name->is_known) {
        TAILQ_REMOVE(&names->wanted, name, link);
        TAILQ_INSERT_TAIL(&names->known, name, link);
        name->is_known = true;
        name->name = names->found[0] ? memory_string(names->found) : NULL;
    }
    look_up_next(names);
    tell_waiters(names);
    loop_iteration_end(names->turn);
}

static void want(struct user_names *names, uint32_t uid, nanoseconds now)
{
    struct user_name *oldest = TAILQ_FIRST(&names->known);
    if (names->by_uid.n >= MAX_NAMES && oldest) {
        user_names_forget(names, oldest);
    }
    if (names->by_uid.n >= MAX_NAMES) {
        return; /* so many are wanted already */
    }
    struct user_name *name = memory_new(sizeof *name);
    name->uid = uid;
    name->since = now;
    table_insert(&names->by_uid, &name->by_uid, hash_number(uid));
    TAILQ_INSERT_TAIL(&names->wanted, name, link);
    look_up_next(names);
}

const char *user_names_find(struct user_names *names, uint32_t uid, nanoseconds now)
{
    struct user_name *name = find(names, uid);
    if (name && name->is_known && now - name->since >= KEPT_FOR) {
        user_names_forget(names, name);
        name = NULL;
    }
    if (!name) {
        want(names, uid, now);
    }
    return name ? name->name : NULL;
}

bool user_names_is_known(const struct user_names *names, uint32_t uid)
{
    const struct user_name *name = find(names, uid);
    return name && name->is_known;
}

bool user_names_are_coming(const struct user_names *names)
{
    return !TAILQ_EMPTY(&names->wanted) && !names->is_stuck;
}

void user_names_await(struct user_names *names, struct names_waiter *waiter)
{
    LIST_INSERT_HEAD(&names->waiters, waiter, link);
}

void user_names_leave(struct names_waiter *waiter)
{
    if (waiter->conn) {
        LIST_REMOVE(waiter, link);
        waiter->conn = NULL;
    }
}

void user_names_timed_out(struct user_names *names)
{
    names->is_stuck = names->is_looking;
}

void user_names_init(struct user_names *names, uv_loop_t *loop, struct loop_iteration *turn)
{
    *names = (struct user_names){.loop = loop, .turn = turn};
    TAILQ_INIT(&names->wanted);
    TAILQ_INIT(&names->known);
    LIST_INIT(&names->waiters);
}

void user_names_deinit(struct user_names *names)
{
    struct user_name *name;
    while ((name = TAILQ_FIRST(&names->known)) || (name = TAILQ_FIRST(&names->wanted))) {
        user_names_forget(names, name);
    }
    table_deinit(&names->by_uid);
}
