#include "web/web_figures.h"

#include "web/polls.h"

static void add(
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

void web_figures_print(const struct web *web, struct text *out)
{
    struct http_figures http;
    struct store_figures store;
    http_look(web->http, &http);
    store_look(web->store, &store);
    add(out, "connected", "gauge", "1 while it follows berthd.", web->follower.link.is_kept);
    add(out, "follows_total", "counter", "Connections over which it has followed berthd.",
        web->follower.link.connections);
    add(out, "http_connections", "gauge", "Connections of HTTP.", http.connections);
    add(out, "polls", "gauge", "Requests that wait for a change.", polls_waiting(web->polls));
    add(out, "unread_bytes", "gauge", "Of answers that have not been read yet.", http.bytes_out);
    add_answers(out, &http);
    add(out, "history_leases", "gauge", "Leases in the history.", store.leases);
    add(out, "history_bytes", "gauge", "Size of the history's file.", store.bytes);
    add(out, "history_added_total", "counter", "Leases given to the history.", store.added);
    add(out, "history_dropped_total", "counter", "Leases that it could not take.", store.dropped);
    add(out, "history_failures_total", "counter", "Failures to write it.", store.failures);
}
