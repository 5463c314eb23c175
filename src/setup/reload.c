#include "setup/reload.h"

#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "conn/conn.h"
#include "conn/disk_wait.h"
#include "setup/notify.h"
#include "setup/settings.h"
#include "status/answer_lines.h"

#include <assert.h>
#include <stdlib.h>

/* ---- requests that wait for it ---- */

struct reload_waiter {
    LIST_ENTRY(reload_waiter) link;
    struct conn *conn;
    uint64_t reading; /* the first reading that began after the request */
};

static void waiter_free(void *state)
{
    struct reload_waiter *waiter = state;
    LIST_REMOVE(waiter, link);
    free(waiter);
}

static void waiter_is_late(struct conn *conn)
{
    answer_error_saying(conn_answers(conn), CODE_DOWN,
        "names of users and groups are still being looked up; the log says how the reload ends");
    parked_end(conn);
}

/* As many messages as fit on a line; the log has all. */
static void join_messages(struct text *all, const struct conf_errors *errors)
{
    enum { ENCODED_MAX = LINE_BYTES - 256 };
    size_t encoded = 0;
    for (size_t i = 0; i < errors->n; i++) {
        size_t length = percent_encode(NULL, 0, errors->messages[i]) + 3;
        if (encoded + length > ENCODED_MAX) {
            text_add_format(
                all, "\n... and %zu more: see the log, or berthd --check", errors->n - i);
            break;
        }
        encoded += length;
        text_add(all, i > 0 ? "\n" : "");
        text_add(all, errors->messages[i]);
    }
    text_add(all, "");
}

static void answer_errors(struct text *out, const struct conf_errors *errors)
{
    struct text all = TEXT_INIT;
    join_messages(&all, errors);
    answer_error_saying(out, CODE_CONFIG, "%s", all.bytes);
    text_deinit(&all);
}

static void answer_ok(struct conn *conn, const char *was)
{
    (void)was;
    struct text notes = TEXT_INIT, *out = conn_answers(conn);
    join_messages(&notes, &conn->server->reload->notes);
    text_add(out, "ok");
    text_add_key(out, "notes", notes.length > 0 ? notes.bytes : NULL);
    text_add(out, "\n");
    text_deinit(&notes);
}

static void reload_answer(struct conn *conn, const struct conf_errors *errors)
{
    if (errors->n > 0) {
        answer_errors(conn_answers(conn), errors);
    }
    parked_end(conn);
    if (errors->n == 0) {
        disk_wait_answer_reload(conn, answer_ok);
    }
}

static void answer_all(struct reload *reload)
{
    struct reload_waiter *next;
    for (struct reload_waiter *waiter = LIST_FIRST(&reload->waiters); waiter; waiter = next) {
        next = LIST_NEXT(waiter, link);
        if (waiter->reading <= reload->n_begun) {
            reload_answer(waiter->conn, &reload->errors);
        }
    }
}

/* ---- reading ---- */

static void reload_on_work(uv_work_t *work)
{
    struct reload *reload = container_of(work, struct reload, work);
    reload->loaded = conf_load(reload->running->path, reload->running, NULL, &reload->errors);
    if (reload->loaded) {
        certificates_read(&reload->certificates, reload->running, reload->loaded, &reload->errors);
    }
    if (reload->errors.n > 0) {
        reload->loaded = conf_free(reload->loaded);
    }
}

static void on_read(uv_work_t *work, int status)
{
    struct reload *reload = container_of(work, struct reload, work);
    struct server *server = reload->server;
    (void)status;
    reload->is_reading = false;
    if (server->turn.stopping) {
        conf_free(reload->loaded);
        conf_errors_deinit(&reload->errors);
        certificates_forget(&reload->certificates);
        return;
    }
    conf_errors_deinit(&reload->notes);
    if (settings_reload(server, reload->loaded, &reload->errors, &reload->notes)) {
        certificates_use(&reload->certificates, server->fleet);
    }
    certificates_forget(&reload->certificates);
    notify_reloaded(reload->notify);
    answer_all(reload);
    conf_errors_deinit(&reload->errors);
    if (reload->is_wanted) {
        reload_begin(reload, &reload->next);
    }
    loop_iteration_end(&server->turn);
}

void reload_begin(struct reload *reload, const struct actor *by)
{
    struct server *server = reload->server;
    struct actor *asked = reload->is_reading ? &reload->next : &reload->by;
    *asked = by ? *by : (struct actor){.is_known = false};
    reload->is_wanted = reload->is_reading;
    if (reload->is_reading) {
        return;
    }
    notify_reloading(reload->notify);
    reload->is_reading = true;
    reload->n_begun++;
    reload->running = server->conf; /* only another reload would replace it */
    int error = uv_queue_work(&server->loop, &reload->work, reload_on_work, on_read);
    assert(error == 0);
    (void)error;
}

void reload_for(struct conn *conn, const struct actor *by)
{
    static const struct parked_ops ops = {.late = waiter_is_late, .free = waiter_free};
    struct reload *reload = conn->server->reload;
    struct reload_waiter *waiter = memory_new(sizeof *waiter);
    reload_begin(reload, by);
    waiter->conn = conn;
    waiter->reading = reload->n_begun + (reload->is_wanted ? 1 : 0);
    LIST_INSERT_HEAD(&reload->waiters, waiter, link);
    parked_begin(conn, &ops, waiter);
}

void reload_init(struct reload *reload, struct server *server, struct notify *notify)
{
    *reload = (struct reload){
        .server = server,
        .notify = notify,
        .errors = CONF_ERRORS_INIT,
        .notes = CONF_ERRORS_INIT,
    };
    LIST_INIT(&reload->waiters);
}
