#include "status/database_line.h"

#include "wire/status_keys.h"

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

/* Texts that a server says of itself: they may be anything. */
struct bounded {
    char server[161], version[33], warning[257], lacks[161], why[257];
};

/* NULL: there is none. */
static const char *bounded(char *room, size_t size, const char *value)
{
    size_t n = value ? strnlen(value, size - 1) : 0;
    memcpy(room, value ? value : "", n);
    room[n] = '\0';
    return n > 0 ? room : NULL;
}

static void fill_load(struct status_database *line, const struct load_view *load)
{
    line->sessions = (struct optional){load->sessions > 0, load->sessions};
    line->calls_per_1000_s = (struct optional){load->is_known, load->rate};
    line->busy_us_per_s = (struct optional){load->is_known, load->busy};
    line->cpu_us_per_s = (struct optional){load->has_cpu, load->cpu};
}

static void fill_server(
    struct status_database *line, struct bounded *room, const struct link_info *info)
{
    line->server = bounded(room->server, sizeof room->server, info->address);
    line->redis_version = bounded(room->version, sizeof room->version, info->version);
    line->warning = bounded(room->warning, sizeof room->warning, info->warning);
    line->lacks.joined = bounded(room->lacks, sizeof room->lacks, info->lacks);
}

void database_line_write(struct text *out, const struct database *database,
    const struct session_view *view, const struct link_info *info, const struct load_view *load)
{
    struct bounded room;
    struct status_database line = {
        .state = state_words[view->state],
        .ttl = milliseconds(view->ttl),
        .incarnation = view->incarnation,
        .differing = view->n_differing,
        .calls = view->n_calls,
        .layout = {view->state == SESSION_UP, view->layout},
    };
    if (view->grace_until != NEVER) {
        line.grace_until = instant_of(view->grace_until);
        line.new = view->is_new;
    }
    if (view->good_until != 0) {
        line.good_until = instant_of(view->good_until);
    }
    if (load) {
        fill_load(&line, load);
    }
    if (info) {
        fill_server(&line, &room, info);
    }
    if (view->state != SESSION_UP) {
        line.why = bounded(room.why, sizeof room.why, view->why);
    }
    status_line_write(out, LINE_DATABASE, database->name, &line);
}
