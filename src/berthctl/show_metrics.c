/* show_metrics.c - `berthctl metrics`: the host's figures, then those of the fleet from each
 * database that gives them. */
#include "berthctl/run.h"
#include "view/prometheus.h"

int run_metrics(struct call *call, const struct line *line)
{
    (void)line;
    struct metrics_asking asking = {0};
    struct text out = TEXT_INIT;
    bool is_whole;
    do {
        call->is_silent = asking.database > 0;
        call->code = CODE_NONE;
        call->request = metrics_request(&asking);
        is_whole = call_take(call, prometheus_take, metrics_figures(&asking));
        if (!is_whole && call->code == CODE_NONE) {
            /* There may be more of this answer: the next comes over another connection. */
            call_end(call);
        }
    } while (metrics_go_on(&asking, is_whole));
    if (!asking.has_failed) {
        prometheus_print(&asking.host, &out);
    }
    bool has_failed = asking.has_failed;
    metrics_deinit(&asking);
    return has_failed ? call->exit_status : show_print(&out);
}
