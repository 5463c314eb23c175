/* show_metrics.c - `berthctl metrics`: the host's figures, then those of the fleet from each
 * database that gives them. */
#include "berthctl/run.h"
#include "view/prometheus.h"

#include <inttypes.h>
#include <stdio.h>

/* All answers. False after a message. */
static bool read_answers(struct call *call, struct prometheus *prometheus)
{
    char from[24];
    uint64_t before;
    bool is_read;
    do {
        before = prometheus->next;
        is_read = call_take(call, prometheus_take, prometheus);
        snprintf(from, sizeof from, "%" PRIu64, prometheus->next);
        call->request.from = from;
    } while (is_read && prometheus->next > before);
    call->request.from = NULL;
    return is_read;
}

/* All that the database says, or that it has not said all. */
static void read_database(struct call *call, struct prometheus *prometheus, const char *name)
{
    struct prometheus part = {0};
    call->request.database = name;
    bool is_read = read_answers(call, &part);
    if (!is_read && call->code == CODE_NONE) {
        /* There may be more of this answer: the next comes over another connection. */
        call_end(call);
    }
    prometheus_add_database(prometheus, name, is_read ? &part : NULL);
    prometheus_deinit(&part);
}

int run_metrics(struct call *call, const struct line *line)
{
    (void)line;
    struct prometheus prometheus = {0};
    struct text out = TEXT_INIT;
    bool is_read = read_answers(call, &prometheus);
    call->is_silent = true;
    for (size_t i = 0; is_read && i < prometheus.n_databases; i++) {
        call->code = CODE_NONE;
        read_database(call, &prometheus, prometheus.databases[i]);
    }
    if (is_read) {
        prometheus_print(&prometheus, &out);
    }
    prometheus_deinit(&prometheus);
    return is_read ? show_print(&out) : call->exit_status;
}
