/* top_screen.c - what the terminal shows of `berthctl top`, line by line. Pure. */
#include "top/top_internal.h"

#include "base/memory.h"
#include "view/printable.h"
#include "view/users.h"

#include <stdlib.h>
#include <string.h>

void top_screen_deinit(struct top_screen *screen)
{
    for (size_t i = 0; i < screen->n; i++) {
        top_line_deinit(&screen->lines[i]);
    }
    free(screen->lines);
    *screen = (struct top_screen){0};
}

/* ---- the last line ---- */

static void add_typed(struct top_line *line, const struct top *top, const char *question)
{
    struct text typed = TEXT_INIT;
    top_line_add(line, LOOK_STRONG, question);
    text_add_safe(&typed, "%s_", top->typed);
    size_t room = top_line_room(line), width = text_width(typed.bytes);
    const char *tail = typed.bytes; /* its end is where one types */
    while (width > room && *tail) {
        tail++;
        width = ((unsigned char)*tail & 0xc0) == 0x80 ? width : text_width(tail);
    }
    top_line_add(line, LOOK_PLAIN, tail);
    text_deinit(&typed);
}

/* Who is asked must see first that it is a question. */
static void add_question(struct top_line *line, const struct top *top)
{
    const struct status_resource *resource;
    const struct status_lease *lease = top_find(top, &top->revoked, &resource);
    struct text question = TEXT_INIT;
    text_add_safe(&question, "y/n: revoke %s", top->revoked.lease);
    if (lease && user_name(lease->uid)) {
        text_add_safe(&question, " of %s", user_name(lease->uid));
    }
    text_add_safe(&question, " on %s%s", top->revoked.name,
        !lease               ? ", which is over?"
            : lease->is_held ? ", and stop its job?"
                             : ", which waits?");
    top_line_take(line, LOOK_ALARM, &question);
}

/* Whole words, as many as there is room for. */
static void add_hints(struct top_line *line, const struct top *top)
{
    static const char *const list[] = {"? help", "q quit", "Enter opens", "/ find", "w why",
        "d details", "x revoke", "b busy", "u user", NULL};
    static const char *const page[] = {"q back", "arrows scroll", "w why", "x revoke", NULL};
    size_t gap = 0;
    for (const char *const *hint = top->page ? page : list; *hint; hint++) {
        if (top_line_room(line) >= gap + strlen(*hint)) {
            top_line_add(line, LOOK_QUIET, gap > 0 ? "  " : "");
            top_line_add(line, LOOK_QUIET, *hint);
            gap = 2;
        }
    }
}

static void add_last_line(struct top_line *line, const struct top *top)
{
    top_line_deinit(line);
    top_line_init(line, top->width);
    static const char *const questions[] = {
        [TOP_ASK_FILTER] = "with: ",
        [TOP_ASK_USER] = "user: ",
        [TOP_ASK_REASON] = "reason, or Enter: ",
    };
    if (top->prompt == TOP_ASK_SURE) {
        add_question(line, top);
    } else if (top->prompt != TOP_NO_PROMPT) {
        add_typed(line, top, questions[top->prompt]);
    } else if (top->message.length > 0) {
        top_line_add(line, top->message_look, top->message.bytes);
    } else {
        add_hints(line, top);
    }
}

/* ---- the body ---- */

static void add_rows(struct top_screen *screen, const struct top *top, size_t first, size_t n)
{
    for (size_t i = 0; i < n && top->cursor.first + i < top->rows.n; i++) {
        top_table_line(top, &top->rows.list[top->cursor.first + i], &screen->lines[first + i]);
    }
    if (top->rows.n == 0 && n > 0 && top->status) {
        top_line_add(&screen->lines[first], LOOK_PLAIN,
            top->status->n_resources + top->status->n_templates > 0
                ? "  nothing matches: Esc shows everything"
                : "  no resources are defined yet");
    }
}

static void add_page(struct top_screen *screen, struct top *top, size_t first, size_t n)
{
    struct text page = TEXT_INIT;
    text_add_page(&page, top, top->width);
    size_t n_lines = 0;
    for (const char *at = page.bytes; *at; at++) {
        n_lines += *at == '\n';
    }
    size_t most = n_lines > n ? n_lines - n : 0;
    top->scroll = top->scroll < most ? top->scroll : most;
    char *rest = page.bytes, *line;
    for (size_t i = 0; i < top->scroll + n && (line = strsep(&rest, "\n")); i++) {
        if (i >= top->scroll) {
            top_line_add(&screen->lines[first + i - top->scroll], LOOK_PLAIN, line);
        }
    }
    text_deinit(&page);
}

static void add_titles(struct top_line *line, const struct top *top)
{
    if (top->page) {
        struct text title = TEXT_INIT;
        text_add_page_title(&title, top);
        top_line_take(line, LOOK_STRONG, &title);
    } else {
        top_table_titles(top, line);
    }
}

void top_screen_make(struct top_screen *screen, struct top *top)
{
    *screen = (struct top_screen){
        .n = top->height,
        .lines = memory_resize(NULL, top->height + 1, sizeof *screen->lines),
        .is_grey = top->is_stale,
    };
    for (size_t i = 0; i < top->height; i++) {
        top_line_init(&screen->lines[i], top->width);
    }
    struct top_layout layout = top_layout(top);
    top_table_measure(top);
    size_t first = layout.n_header + layout.n_titles;
    for (size_t i = 0; i < layout.n_header; i++) {
        top_header_line(top, i, &screen->lines[i]);
    }
    if (layout.n_titles > 0) {
        add_titles(&screen->lines[layout.n_header], top);
    }
    if (top->page) {
        add_page(screen, top, first, layout.n_body);
    } else {
        add_rows(screen, top, first, layout.n_body);
    }
    if (layout.n_last > 0 || (top->height > 0 && (top->prompt || top->message.length > 0))) {
        add_last_line(&screen->lines[top->height - 1], top);
    }
}
