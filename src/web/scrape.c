#include "web/web.h"

#include "base/clock.h"
#include "base/memory.h"
#include "view/prometheus.h"
#include "web/berthd_request.h"

#include <stdlib.h>
#include <string.h>

#define TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { LIMIT_MS = 5000 };

static const nanoseconds longest_kept = NANOSECONDS_PER_SECOND;

static void scrape_ask(struct scrape *scrape);

/* ---- figures of berth-web itself ---- */

static void add_figure(
    struct text *out, const char *name, const char *kind, const char *help, uint64_t value)
{
    text_add_format(out, "# HELP berth_web_%s %s\n# TYPE berth_web_%s %s\nberth_web_%s ", name,
        help, name, kind, name);
    text_add_number(out, value);
    text_add(out, "\n");
}

static void add_answers(struct text *out, const struct http_figures *figures)
{
    text_add(out, "# HELP berth_web_answers_total Answers to HTTP requests.\n"
                  "# TYPE berth_web_answers_total counter\n");
    for (size_t i = 2; i < sizeof figures->answered / sizeof figures->answered[0]; i++) {
        text_add_format(out, "berth_web_answers_total{status=\"%zuxx\"} ", i);
        text_add_number(out, figures->answered[i]);
        text_add(out, "\n");
    }
}

/* What berth-web does. */
static void web_figures_print(const struct web *web, struct text *out)
{
    struct http_figures http;
    http_look(web->http, &http);
    add_figure(out, "connected", "gauge", "1 while it follows berthd.", web->follower.link.is_kept);
    add_figure(out, "follows_total", "counter", "Connections over which it has followed berthd.",
        web->follower.link.connections);
    add_figure(out, "http_connections", "gauge", "Connections of HTTP.", http.connections);
    add_figure(
        out, "polls", "gauge", "Requests that wait for a change.", web->polls.n_waiting);
    add_figure(out, "unread_bytes", "gauge", "Of answers that have not been read yet.",
        http.bytes_out);
    add_answers(out, &http);
}

/* ---- answers ---- */

static void finish(struct scrape *scrape)
{
    struct text text = TEXT_INIT;
    if (!scrape->asking.has_failed) {
        prometheus_print(&scrape->asking.host, &text);
    }
    web_figures_print(scrape->web, &text);
    metrics_deinit(&scrape->asking);
    http_bytes_drop(scrape->made);
    scrape->made = http_bytes_of(scrape->web->http, &text);
    scrape->made_at = clock_now();
    scrape->is_asking = false;
    size_t n = scrape->n_waiting;
    scrape->n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        http_answer(scrape->waiting[i], HTTP_OK, TYPE, scrape->made, NULL);
    }
}

/* ---- berthd ---- */

static void scrape_go_on(struct scrape *scrape, bool is_whole)
{
    if (metrics_go_on(&scrape->asking, is_whole)) {
        scrape_ask(scrape);
    } else {
        finish(scrape);
    }
}

static void scrape_on_end(void *context, const char *why)
{
    struct scrape *scrape = context;
    scrape->talk = NULL;
    scrape_go_on(scrape, !why);
}

static void scrape_ask(struct scrape *scrape)
{
    const struct request_callbacks talker = {
        prometheus_take, metrics_figures(&scrape->asking), scrape_on_end, scrape};
    const struct ctl_request request = metrics_request(&scrape->asking);
    struct web *web = scrape->web;
    struct text line = TEXT_INIT;
    request_print(&request, &line);
    scrape->talk = berthd_request_begin(
        web->loop, &web->follower.link.endpoint, line.bytes, LIMIT_MS, &talker);
    text_deinit(&line);
    if (!scrape->talk) {
        scrape_go_on(scrape, false);
    }
}

/* ---- requests ---- */

void scrape_take(struct scrape *scrape, struct http_request *request)
{
    if (scrape->made && clock_now() - scrape->made_at < longest_kept) {
        http_answer(request, HTTP_OK, TYPE, scrape->made, NULL);
        return;
    }
    scrape->waiting =
        memory_resize(scrape->waiting, scrape->n_waiting + 1, sizeof *scrape->waiting);
    scrape->waiting[scrape->n_waiting++] = request;
    if (!scrape->is_asking) {
        scrape->is_asking = true;
        scrape_ask(scrape);
    }
}

void scrape_deinit(struct scrape *scrape)
{
    berthd_request_stop(scrape->talk);
    scrape->asking.has_failed = true;
    finish(scrape);
    http_bytes_drop(scrape->made);
    free(scrape->waiting);
}
