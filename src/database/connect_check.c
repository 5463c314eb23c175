#include "database/connect_check.h"

#include "base/memory.h"
#include "base/text.h"
#include "database/session_name.h"
#include "redis/link.h"
#include "redis/one_line.h"
#include "redis/secret.h"
#include "redis/tls.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define LONGEST_STEP (3 * NANOSECONDS_PER_SECOND)
enum { LONGEST_MS = 15000 };

struct tried {
    const struct database *database;
    struct link *link; /* NULL: it is over */
    size_t n_silent; /* nodes of a cluster, in a row */
    struct check *check;
    int exit_status;
    char line[1024]; /* the line, without the name */
};

struct check {
    uv_loop_t loop;
    uv_timer_t timer;
    size_t n, n_left;
    struct tried *tried;
};

/* ---- results ---- */

static void connect_check_end(struct tried *tried, int exit_status)
{
    struct check *check = tried->check;
    tried->exit_status = exit_status;
    if (tried->link) {
        link_close(tried->link);
    }
    tried->link = NULL;
    if (--check->n_left == 0) {
        uv_close((uv_handle_t *)&check->timer, NULL);
    }
}

static void on_ready(void *context, const struct link_info *info)
{
    struct tried *tried = context;
    struct text lacks = TEXT_INIT;
    text_add(&lacks, info->lacks[0] ? "; without " : "");
    text_add_list(&lacks, info->lacks);
    const char *unwritable = info->unwritable;
    snprintf(tried->line, sizeof tried->line, "%s: %s%s at %s%s%s%s%s%s",
        unwritable ? "not writable" : "ok", link_info_kind(info), link_info_version(info),
        info->address, unwritable ? ": " : ", ", unwritable ? unwritable : "all that Berth needs",
        lacks.bytes, info->warning[0] ? "; warning: " : "", info->warning);
    text_deinit(&lacks);
    connect_check_end(tried, unwritable ? EX_UNAVAILABLE : EXIT_SUCCESS);
}

/* Any node of a cluster will do: the link goes on with the next one. */
static void on_down(void *context, const char *why, bool refused)
{
    struct tried *tried = context;
    snprintf(tried->line, sizeof tried->line, "%s: %s", refused ? "refused" : "not reached", why);
    if (!refused && ++tried->n_silent < tried->database->url.n_hosts &&
        tried->database->is_cluster) {
        return;
    }
    connect_check_end(tried, refused ? EX_CONFIG : EX_UNAVAILABLE);
}

/* The link is closed as soon as it is ready: no reply and no message come. */
static const struct link_events link_events = {
    .on_ready = on_ready,
    .on_down = on_down,
};

static void connect_check_on_timer(uv_timer_t *timer)
{
    struct check *check = container_of(timer, struct check, timer);
    for (struct tried *tried = check->tried; tried < check->tried + check->n; tried++) {
        if (tried->link) {
            if (tried->n_silent == 0) {
                snprintf(tried->line, sizeof tried->line, "not reached: no answer in %d s",
                    LONGEST_MS / 1000);
            }
            connect_check_end(tried, EX_UNAVAILABLE);
        }
    }
}

/* ---- trying ---- */

/* What the link reads when it connects. To berthd, a file that is missing is an outage, which may
 * pass: here it is a fault of the configuration. */
static bool files_are_good(const struct database *database, char *why, size_t size)
{
    const char *const secrets[] = {database->password_file, database->sentinel_password_file};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        char *secret = NULL;
        if (secrets[i] && !secret_read(secrets[i], &secret, why, size)) {
            return false;
        }
        secret_free(secret);
    }
    struct tls_context *tls =
        database->url.is_tls ? tls_context_new(database, why, size) : NULL;
    tls_context_unref(tls);
    return tls || !database->url.is_tls;
}

static void connect_check_begin(struct check *check, struct tried *tried)
{
    char session[SESSION_NAME_SIZE], host[SESSION_HOST_SIZE], client_name[SESSION_HOST_SIZE + 16];
    char why[ONE_LINE_BYTES];
    tried->check = check;
    if (!files_are_good(tried->database, why, sizeof why)) {
        snprintf(tried->line, sizeof tried->line, "not tried: %s", why);
        connect_check_end(tried, EX_CONFIG);
        return;
    }
    session_name_random(session); /* so that no message of another daemon comes here */
    session_host_read(host);
    snprintf(client_name, sizeof client_name, "berthd-check:%s", host);
    const struct link_options options = {
        .database = tried->database,
        .session = session,
        .client_name = client_name,
        .timeout = earlier(tried->database->ttl / 12, LONGEST_STEP),
    };
    tried->link = link_new(&check->loop, &options, &link_events, tried);
}

static int print(const struct check *check, FILE *out)
{
    int exit_status = EXIT_SUCCESS;
    for (size_t i = 0; i < check->n; i++) {
        const struct tried *tried = &check->tried[i];
        fprintf(out, "%s: %s\n", tried->database->name, tried->line);
        /* EX_CONFIG is the larger one */
        exit_status = tried->exit_status > exit_status ? tried->exit_status : exit_status;
    }
    fflush(out);
    return exit_status;
}

int connect_check(const struct conf *conf, FILE *out)
{
    struct check check = {.n = conf->n_databases, .n_left = conf->n_databases};
    signal(SIGPIPE, SIG_IGN);
    if (conf->n_databases == 0) {
        return EXIT_SUCCESS;
    }
    uv_loop_init(&check.loop);
    uv_timer_init(&check.loop, &check.timer);
    uv_timer_start(&check.timer, connect_check_on_timer, LONGEST_MS, 0);
    check.tried = memory_new(check.n * sizeof check.tried[0]);
    for (size_t i = 0; i < check.n; i++) {
        check.tried[i].database = &conf->databases[i];
        connect_check_begin(&check, &check.tried[i]);
    }
    while (check.n_left > 0) {
        uv_run(&check.loop, UV_RUN_ONCE);
    }
    int exit_status = print(&check, out);
    if (link_is_looking_up()) {
        _exit(exit_status); /* libuv would wait for its thread */
    }
    uv_run(&check.loop, UV_RUN_DEFAULT);
    int error = uv_loop_close(&check.loop);
    assert(error == 0);
    (void)error;
    free(check.tried);
    return exit_status;
}
