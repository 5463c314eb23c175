#include "status/database_line.h"

#include "status/status_lines.h"

#include <string.h>

static const char *const state_words[] = {
    [SESSION_DOWN] = "down",
    [SESSION_LISTING] = "listing",
    [SESSION_UP] = "up",
    [SESSION_REPLACED] = "replaced",
};

const char *database_state_word(enum session_state state)
{
    return state_words[state];
}

static void add_milliseconds(struct text *out, const char *key, nanoseconds span)
{
    text_add_number_key(out, key, milliseconds(span));
}

/* A server's description of itself may be anything. */
static void add_bounded(struct text *out, const char *key, const char *value, size_t max)
{
    char copy[512];
    size_t n = value ? strnlen(value, max) : 0;
    if (n > 0) {
        memcpy(copy, value, n);
        copy[n] = '\0';
        text_add_key(out, key, copy);
    }
}

static void add_load(struct text *out, const struct load_view *load)
{
    if (load->sessions > 0) {
        text_add_number_key(out, "sessions", load->sessions);
    }
    if (load->is_known) {
        text_add_number_key(out, "rate", load->rate);
        text_add_number_key(out, "busy", load->busy);
    }
    if (load->has_cpu) {
        text_add_number_key(out, "cpu", load->cpu);
    }
}

void database_line_write(struct text *out, const struct database *database,
    const struct session_view *view, const struct link_info *info, const struct load_view *load,
    nanoseconds now)
{
    text_add(out, "database ");
    text_add_encoded(out, database->name);
    text_add_key(out, "state", state_words[view->state]);
    add_milliseconds(out, "ttl", view->ttl);
    if (view->grace_until != NEVER) {
        add_milliseconds(out, "grace", view->grace_until - now);
        text_add(out, view->is_new ? " new=1" : "");
    }
    if (view->good_until != 0) {
        add_milliseconds(out, "good", view->good_until - now);
    }
    text_add_number_key(out, "incarnation", view->incarnation);
    text_add_number_key(out, "differing", view->n_differing);
    text_add_number_key(out, "calls", view->n_calls);
    if (view->state == SESSION_UP) {
        text_add_number_key(out, "layout", view->layout);
    }
    if (load) {
        add_load(out, load);
    }
    if (info) {
        add_bounded(out, "server", info->address, 160);
        add_bounded(out, "version", info->version, 32);
        add_bounded(out, "warning", info->warning, 256);
        add_bounded(out, "lacks", info->lacks, 160);
    }
    if (view->state != SESSION_UP) {
        add_bounded(out, "why", view->why, 256);
    }
    text_add(out, "\n");
}
