/* top.h - what the files of `berthctl top` tell each other. Pure, but for top_draw.c, top_ask.c,
 * top_processes.c, the locale, and the names of users. */
#pragma once

#include "base/text.h"
#include "base/time.h"
#include "table/grid.h"
#include "client/connection.h"
#include "top/top_rows.h"
#include "view/status.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- top_line.c ---- */

enum { TOP_PARTS = 24 };

struct top_part {
    size_t begin; /* byte of the text; it ends where the next one begins */
    enum look look;
};

struct top_line {
    struct text text; /* escaped, at most `max` columns */
    size_t columns, max;
    struct top_part parts[TOP_PARTS];
    size_t n_parts;
    bool is_chosen; /* the cursor is here */
};

void top_line_init(struct top_line *line, size_t max);
void top_line_deinit(struct top_line *line);

/* Columns that are left. */
size_t top_line_room(const struct top_line *line);
/* Adds an escaped text, cut to what room is left. */
void top_line_add(struct top_line *line, enum look look, const char *escaped);
/* The same of a text that is the caller's, and that it frees. */
void top_line_take(struct top_line *line, enum look look, struct text *escaped);
/* The same, into so many columns, and a gap behind them. */
void top_line_add_cell(
    struct top_line *line, enum look look, const char *escaped, size_t width, bool is_right);
/* A name, of which the end tells most: cut in its middle. */
void top_line_add_name(
    struct top_line *line, enum look look, const char *escaped, size_t width);

/* Adds the words of an escaped text, in which each LF ends a paragraph, as lines of at most `width`
 * columns, each with its LF. */
void text_add_wrapped(struct text *text, const char *escaped, size_t width);

/* ---- top_state.c: the cursor ---- */

/* A resource, a template, or a lease on a resource: a row, while rows come and go. */
struct top_subject {
    char *name, *lease; /* owned; NULL: none */
};

struct top_cursor {
    size_t at; /* the row chosen */
    size_t first; /* the row in the first line */
    struct top_subject row; /* the row chosen */
};

/* `at`, moved by so many; to 0 or to `last`, if there are less. */
size_t top_moved(size_t at, ptrdiff_t by, size_t last);

/* Chooses the row so many rows below; the first or the last, if there are less. */
void top_cursor_move(
    struct top_cursor *cursor, const struct top_rows *rows, ptrdiff_t by, size_t height);

/* ---- top_state.c ---- */

/* A text that covers the list. */
enum top_page { TOP_NO_PAGE, TOP_HELP, TOP_DETAILS, TOP_REASONS };

/* What is typed into the last line. */
enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_USER, TOP_ASK_SURE, TOP_ASK_REASON };

/* `row` NULL: none. */
void top_subject_set(struct top_subject *subject, const struct top_row *row);
void top_subject_copy(struct top_subject *subject, const struct top_subject *other); /* into {0} */
void top_subject_deinit(struct top_subject *subject);

/* What berthd is to be asked over a connection of its own. */
enum top_asking { TOP_ASKS_NOTHING, TOP_ASKS_WHY, TOP_ASKS_REVOKE };

struct top_question {
    enum top_asking asking;
    bool is_new; /* not sent yet */
    struct top_subject subject;
    char reason[TOP_TYPED_BYTES]; /* of a revoke; or "" */
};

struct top {
    size_t width, height; /* of the terminal */
    const struct status *status; /* the last whole picture; NULL: there was none yet */
    bool is_stale; /* berthd does not tell any more */
    struct text trouble; /* why; escaped */
    char clock[16]; /* when the picture was good: "12:03:55" */
    const char *host; /* the name of this one */

    struct top_choice choice;
    struct top_folds folds;
    struct top_rows rows;
    struct top_cursor cursor;
    size_t units_width, id_width; /* of leases, on the screen that was made last */

    enum top_page page;
    struct top_subject subject; /* of the page */
    struct text reasons; /* of TOP_REASONS; escaped, with an LF behind each */
    size_t scroll; /* lines of the page above the screen */

    enum top_prompt prompt;
    char typed[TOP_TYPED_BYTES];
    char before[TOP_TYPED_BYTES]; /* the filter, for who gives up */
    struct top_subject revoked; /* of TOP_ASK_SURE and TOP_ASK_REASON */

    struct text message; /* escaped; until the next key */
    enum look message_look;
    struct top_question question;
    bool quits; /* for good */
    bool draws_again; /* the terminal may show something else */
};

void top_deinit(struct top *top);

/* After the picture, the size or a choice has changed: makes the rows. The picture must not change
 * between this and the use of the rows. */
void top_update(struct top *top);

/* Lines of the terminal, from the top. A little terminal has neither titles nor a last line; what
 * is asked or said then stands on the last line of the body. */
struct top_layout {
    size_t n_header, n_titles, n_body, n_last;
};

struct top_layout top_layout(const struct top *top);

/* The row under the cursor, or NULL. */
const struct top_row *top_row(const struct top *top);

/* `text` is escaped. */
void top_say(struct top *top, enum look look, const char *text);

/* The lease, or NULL: it is over. *resourcep is its resource, or a template; or NULL. */
const struct status_lease *top_find(const struct top *top, const struct top_subject *subject,
    const struct status_resource **resourcep);

/* ---- top_actions.c ---- */

/* A key is the character that it types, or one of these, which are beyond all characters. */
enum top_code {
    TOP_KEY_UP = 0x110000,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_BACKSPACE,
    TOP_KEY_ESCAPE,
};

struct top_key {
    uint32_t codes[3]; /* to a 0 */
    const char *label; /* the keys, as the help shows them */
    const char *help;
    void (*act)(struct top *top); /* or, if it is NULL: */
    void (*act_by)(struct top *top, ptrdiff_t by);
    ptrdiff_t by;
};

extern const struct top_key top_keys[]; /* to a label that is NULL */

/* Of rows that are up to date; leaves them so. `code` is a character or an enum top_code. */
void top_type(struct top *top, uint32_t code);

/* The answer to .question; `reply` is escaped, each sentence with an LF behind it. */
void top_answered(struct top *top, bool is_good, const char *reply);

/* ---- top_header.c ---- */

/* At least 1. */
size_t top_header_lines(const struct top *top);

/* Adds that one of them to an empty line. */
void top_header_line(const struct top *top, size_t number, struct top_line *line);

/* ---- top_pages.c ---- */

/* The title of the page, and its lines, each with an LF, in at most `width` columns. Escaped. */
void text_add_page_title(struct text *text, const struct top *top);
void text_add_page(struct text *text, const struct top *top, size_t width);

/* ---- top_table.c ---- */

/* Sets how wide the units and the ids of leases are: those that are seen now decide. */
void top_table_measure(struct top *top);

/* Adds it to an empty line. */
void top_table_titles(const struct top *top, struct top_line *line);
void top_table_line(const struct top *top, const struct top_row *row, struct top_line *line);

/* ---- top_units.c ---- */

/* Of a pool, where there is room, its items: [held], (reserved), free. Else a box for each unit:
 * [##.x~] with # held, x reserved, ~ cooling down, . free; where there are more units than columns,
 * a bar on which each column stands for several. At most `width` columns; nothing if that is too
 * little. */
void text_add_boxes(struct text *text, const struct status_resource *resource, size_t width);

/* ---- top_screen.c ---- */

struct top_screen {
    struct top_line *lines; /* owned */
    size_t n;
    bool is_grey; /* all but the first line: it is what was, not what is */
};

/* Makes all lines of the terminal, of the rows that top_update() has made. Brings the scroll of a
 * page into its bounds. */
void top_screen_make(struct top_screen *screen, struct top *top);
void top_screen_deinit(struct top_screen *screen);

/* ---- top_draw.c ---- */

/* Takes the terminal behind stdin and stdout. NULL; or why it cannot be taken: then nothing has
 * happened to it. */
const char *draw_begin(void);
/* Leaves the terminal as it was. */
void draw_end(void);

/* The same while the process is stopped. After draw_resume() everything is drawn again. */
void draw_pause(void);
void draw_resume(void);

/* Asks the terminal for its size. */
void draw_size(size_t *widthp, size_t *heightp);

/* `again`: the terminal may show something else than what was drawn last. */
void draw_screen(const struct top_screen *screen, bool again);

/* The next key (enum top_code) that was typed; 0: none. Never waits. */
uint32_t draw_key(void);

/* ---- top_ask.c ---- */

struct top_ask {
    const struct endpoint *endpoint;
    struct connection connection;
    nanoseconds deadline;
    bool is_why; /* else a revoke */
    bool is_ok; /* the first line has come */
    struct text reply; /* escaped */
};

/* Sends the question if it is a new one; gives up the one before it. */
void top_ask_send(struct top_ask *ask, struct top *top, nanoseconds now);

/* Reads what is there; calls top_answered() with a whole answer. */
void top_ask_read(struct top_ask *ask, struct top *top);

/* When berthd has not answered in time; NEVER: nothing is asked. */
nanoseconds top_ask_due(const struct top_ask *ask);
void top_ask_give_up(struct top_ask *ask, struct top *top);

void top_ask_end(struct top_ask *ask);

/* ---- top_processes.c ---- */

enum { TOP_PROCESSES = 512 }; /* more than a screen has lines */

/* One process; another one with the same place takes it over. */
struct top_process {
    char id[256]; /* of the lease; "": none */
    uint64_t pid;
    bool arguments;
    nanoseconds until;
    char command[1001];
};

/* Set to {0} at first. What is older than a few seconds at .now is looked up again. */
struct top_processes {
    nanoseconds now;
    struct top_process list[TOP_PROCESSES];
};

/* The arguments, with blanks between them, or the name of the lease's process; as program_read().
 * Good until the next call. NULL: not known. `context` is the struct. */
const char *top_process_of(void *context, const struct status_lease *lease, bool arguments);
