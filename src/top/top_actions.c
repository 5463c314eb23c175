/* top_actions.c - what `berthctl top` does when a key is typed, or an answer comes. Pure but for
 * the names of users. */
#include "top/top_internal.h"

#include "view/printable.h"
#include "view/users.h"

#include <string.h>

enum { BY_FILE = -1 }; /* the order in place of an enum sort_column */

/* ---- moving ---- */

#define TO_FIRST (-(PTRDIFF_MAX / 4))
#define TO_LAST (PTRDIFF_MAX / 4)

static void move_by(struct top *top, ptrdiff_t by)
{
    if (top->page) {
        /* the screen knows how far it goes */
        top->scroll = top_moved(top->scroll, by, SIZE_MAX / 4);
    } else {
        top_cursor_move(&top->cursor, &top->rows, by, top_layout(top).n_body);
    }
}

static ptrdiff_t page_of(const struct top *top)
{
    size_t n = top_layout(top).n_body;
    return n > 1 ? (ptrdiff_t)n - 1 : 1;
}

static void move_pages(struct top *top, ptrdiff_t by)
{
    move_by(top, by * page_of(top));
}

/* ---- opening ---- */

/* Of the resource of the row; the cursor goes there if the row goes. */
static void set_open(struct top *top, ptrdiff_t is_open)
{
    const struct top_row *row = top_row(top);
    if (top->page || !row || row->resource->is_template) {
        return;
    }
    while (row->lease && !is_open && top->cursor.at > 0) {
        top_cursor_move(&top->cursor, &top->rows, -1, top_layout(top).n_body);
        row = top_row(top);
    }
    top_folds_set(&top->folds, row->resource->name, is_open);
    top_update(top);
}

static void act_toggle(struct top *top)
{
    const struct top_row *row = top_row(top);
    set_open(top, row && !row->lease && !row->is_open);
}

/* ---- pages ---- */

/* `page`: enum top_page. */
static void show_page(struct top *top, ptrdiff_t page)
{
    const struct top_row *row = top_row(top);
    if (page != TOP_HELP && row && !top->page) {
        top_subject_set(&top->subject, row);
    } else if (page != TOP_HELP && !top->subject.name) {
        return;
    }
    top->page = (enum top_page)page;
    top->scroll = 0;
}

static void act_enter(struct top *top)
{
    const struct top_row *row = top_row(top);
    if (top->page) {
        top->page = TOP_NO_PAGE;
    } else if (row && !row->lease && !row->resource->is_template) {
        act_toggle(top);
    } else {
        show_page(top, TOP_DETAILS);
    }
}

/* ---- questions ---- */

/* An answer to a revoke is worth waiting for. */
static bool may_ask(struct top *top)
{
    if (top->is_stale || !top->status) {
        top_say(top, LOOK_ALARM, "not connected to berthd: cannot ask it");
        return false;
    }
    if (top->question.asking == TOP_ASKS_REVOKE) {
        top_say(top, LOOK_NOTICE, "berthd has not answered the revoke yet");
        return false;
    }
    return true;
}

static void top_actions_ask(
    struct top *top, enum top_asking asking, const struct top_subject *subject)
{
    struct top_question *question = &top->question;
    top_subject_deinit(&question->subject);
    top_subject_copy(&question->subject, subject);
    question->asking = asking;
    question->is_new = true;
    question->reason[0] = '\0';
}

static void act_why(struct top *top)
{
    bool has_subject = top->page ? top->page != TOP_HELP : top_row(top) != NULL;
    if (has_subject && may_ask(top)) {
        show_page(top, TOP_REASONS);
        text_deinit(&top->reasons);
        text_add(&top->reasons, "asking berthd ...\n");
        top_actions_ask(top, TOP_ASKS_WHY, &top->subject);
    }
}

static void act_revoke(struct top *top)
{
    const struct top_row *row = top_row(top);
    struct top_subject subject = top->page ? top->subject : (struct top_subject){0};
    if (!top->page && row) {
        subject = (struct top_subject){(char *)row->resource->name, (char *)top_row_lease(row)};
    }
    if (top->page == TOP_HELP || !subject.lease) {
        top_say(top, LOOK_NOTICE, "choose a lease to revoke");
    } else if (may_ask(top)) {
        top_subject_deinit(&top->revoked);
        top_subject_copy(&top->revoked, &subject);
        top->prompt = TOP_ASK_SURE;
    }
}

static void answer_revoke(struct top *top, bool is_good, const char *answer)
{
    struct text text = TEXT_INIT;
    text_add_safe(&text, is_good ? "revoked %s" : "not revoked: %s",
        is_good ? top->question.subject.lease : "");
    text_add_bytes(&text, answer, strcspn(answer, "\n"));
    top_say(top, is_good ? LOOK_STRONG : LOOK_ALARM, text.bytes);
    text_deinit(&text);
}

void top_answered(struct top *top, bool is_good, const char *answer)
{
    if (top->question.asking == TOP_ASKS_REVOKE) {
        answer_revoke(top, is_good, answer);
    } else if (top->question.asking == TOP_ASKS_WHY) {
        text_deinit(&top->reasons);
        text_add(&top->reasons, answer);
    }
    top->question.asking = TOP_ASKS_NOTHING;
    top->question.is_new = false;
}

/* ---- choices ---- */

/* `prompt`: enum top_prompt. */
static void begin_typing(struct top *top, ptrdiff_t prompt)
{
    const char *typed = prompt == TOP_ASK_FILTER ? top->choice.filter : "";
    top->page = TOP_NO_PAGE;
    top->prompt = (enum top_prompt)prompt;
    strcpy(top->typed, typed);
    strcpy(top->before, typed);
}

static void act_busy(struct top *top)
{
    top->choice.only.busy = !top->choice.only.busy;
    top_update(top);
}

static void act_arguments(struct top *top)
{
    top->choice.with_arguments = !top->choice.with_arguments;
    top_update(top); /* they may be looked for */
}

/* The cursor goes to the first row: the largest is there. `column`: enum sort_column, or
 * BY_FILE. */
static void sort_by(struct top *top, ptrdiff_t column)
{
    top->choice.only.sort = column == BY_FILE ? NULL : &sort_rows[column];
    top_update(top);
    top_cursor_move(&top->cursor, &top->rows, TO_FIRST, top_layout(top).n_body);
}

/* ---- leaving ---- */

static void act_back(struct top *top)
{
    if (top->page) {
        top->page = TOP_NO_PAGE;
    } else {
        top->choice.only.busy = top->choice.only.uid.is_given = false;
        top->choice.filter[0] = '\0';
        top_update(top);
    }
}

static void act_quit(struct top *top)
{
    top->quits = !top->page;
    top->page = TOP_NO_PAGE;
}

static void act_redraw(struct top *top)
{
    top->draws_again = true;
}

/* ---- what is typed into the last line ---- */

enum { DELETE = 0x7f, BACKSPACE = '\b', KILL_LINE = 'U' - '@', LAST_CHARACTER = 0x10ffff };

/* As UTF-8; returns how many bytes. */
static size_t encode(char out[static 4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (char)((0xf00U >> n & 0xf0) | c);
    return n;
}

static void add_character(char *typed, uint32_t code)
{
    char bytes[4];
    size_t n = encode(bytes, code), length = strlen(typed);
    if (length + n < TOP_TYPED_BYTES) {
        memcpy(typed + length, bytes, n);
        typed[length + n] = '\0';
    }
}

static void drop_character(char *typed)
{
    size_t n = strlen(typed);
    while (n > 0 && ((unsigned char)typed[n - 1] & 0xc0) == 0x80) {
        n--;
    }
    typed[n > 0 ? n - 1 : 0] = '\0';
}

/* ---- prompts ---- */

static void filter(struct top *top, const char *text)
{
    strcpy(top->choice.filter, text);
    top_update(top);
}

static void choose_user(struct top *top)
{
    struct text text = TEXT_INIT;
    struct optional *uid = &top->choice.only.uid;
    uid->is_given = user_find(top->typed, &uid->number);
    if (top->typed[0] != '\0' && !uid->is_given) {
        text_add_safe(&text, "no such user: %s", top->typed);
        top_say(top, LOOK_NOTICE, text.bytes);
        text_deinit(&text);
    }
    top_update(top);
}

static void give_up(struct top *top)
{
    if (top->prompt == TOP_ASK_FILTER) {
        filter(top, top->before);
    } else if (top->prompt != TOP_ASK_USER) {
        top_say(top, LOOK_PLAIN, "not revoked");
    }
    top->prompt = TOP_NO_PROMPT;
}

static void take_sure(struct top *top, uint32_t code)
{
    if (code == 'y' || code == 'Y') {
        top->prompt = TOP_ASK_REASON;
        top->typed[0] = '\0';
    } else {
        give_up(top);
    }
}

static void top_typed(struct top *top, uint32_t code)
{
    bool is_control = code < ' ' || (code >= DELETE && code < 0xa0) || code > LAST_CHARACTER;
    if (top->prompt == TOP_ASK_SURE) {
        take_sure(top, code);
        return;
    }
    if (code == TOP_KEY_ESCAPE) {
        give_up(top);
        return;
    }
    if (code == TOP_KEY_ENTER) {
        bool is_user = top->prompt == TOP_ASK_USER;
        top->prompt = TOP_NO_PROMPT;
        if (is_user) {
            choose_user(top);
        }
        return;
    }
    if (code == TOP_KEY_BACKSPACE || code == DELETE || code == BACKSPACE) {
        drop_character(top->typed);
    } else if (code == KILL_LINE) {
        top->typed[0] = '\0';
    } else if (!is_control) {
        add_character(top->typed, code);
    }
    if (top->prompt == TOP_ASK_FILTER) {
        filter(top, top->typed);
    }
}

/* ---- keys ---- */

const struct top_key top_keys[] = {
    {{TOP_KEY_UP, 'k'}, "Up k", "the row above", .act_by = move_by, .by = -1},
    {{TOP_KEY_DOWN, 'j'}, "Down j", "the row below", .act_by = move_by, .by = 1},
    {{TOP_KEY_PAGE_UP, 'B' - '@'}, "PgUp ^B", "a page up", .act_by = move_pages, .by = -1},
    {{TOP_KEY_PAGE_DOWN, 'F' - '@'}, "PgDn ^F", "a page down", .act_by = move_pages, .by = 1},
    {{TOP_KEY_HOME, 'g'}, "Home g", "the first row", .act_by = move_by, .by = TO_FIRST},
    {{TOP_KEY_END, 'G'}, "End G", "the last row", .act_by = move_by, .by = TO_LAST},
    {{TOP_KEY_ENTER}, "Enter", "of a resource: show or hide its leases; of a lease: details",
        .act = act_enter},
    {{' '}, "Space", "show or hide the leases of the resource", .act = act_toggle},
    {{TOP_KEY_RIGHT, 'l'}, "Right l", "show them", .act_by = set_open, .by = true},
    {{TOP_KEY_LEFT, 'h'}, "Left h", "hide them", .act_by = set_open, .by = false},
    {{'d'}, "d", "show all details of the row", .act_by = show_page, .by = TOP_DETAILS},
    {{'w'}, "w", "why it waits, or would wait, and for whom", .act = act_why},
    {{'x'}, "x", "revoke the lease: stop its job; asks before it does", .act = act_revoke},
    {{'/'}, "/", "filter by text in name, user, program or host", .act_by = begin_typing,
        .by = TOP_ASK_FILTER},
    {{'u'}, "u", "only leases of this user", .act_by = begin_typing, .by = TOP_ASK_USER},
    {{'b'}, "b", "only what is held or waited for, or everything", .act = act_busy},
    {{'a'}, "a", "show full arguments of this host's jobs, or programs only", .act = act_arguments},
    {{'F'}, "F", "in the order of the file", .act_by = sort_by, .by = BY_FILE},
    {{'N'}, "N", "by name", .act_by = sort_by, .by = SORT_NAME},
    {{'U'}, "U", "by use, the largest first", .act_by = sort_by, .by = SORT_USED},
    {{'W'}, "W", "by number of waiters", .act_by = sort_by, .by = SORT_WAIT},
    {{'A'}, "A", "by the age of the oldest lease", .act_by = sort_by, .by = SORT_AGE},
    {{'L' - '@'}, "^L", "draw the screen again", .act = act_redraw},
    {{'?'}, "?", "this help", .act_by = show_page, .by = TOP_HELP},
    {{TOP_KEY_ESCAPE}, "Esc", "back to the list, or show everything again", .act = act_back},
    {{'q'}, "q ^C", "back, or leave", .act = act_quit},
    {.label = NULL},
};

static const struct top_key *find_key(uint32_t code)
{
    for (const struct top_key *key = top_keys; key->label; key++) {
        for (size_t i = 0; i < sizeof key->codes / sizeof key->codes[0] && key->codes[i]; i++) {
            if (key->codes[i] == code) {
                return key;
            }
        }
    }
    return NULL;
}

void top_type(struct top *top, uint32_t code)
{
    text_deinit(&top->message);
    if (top->prompt == TOP_ASK_REASON && code == TOP_KEY_ENTER) {
        top_actions_ask(top, TOP_ASKS_REVOKE, &top->revoked);
        strcpy(top->question.reason, top->typed);
        top->prompt = TOP_NO_PROMPT;
    } else if (top->prompt) {
        top_typed(top, code);
    } else {
        const struct top_key *key = find_key(code);
        if (key && key->act) {
            key->act(top);
        } else if (key) {
            key->act_by(top, key->by);
        } else {
            top_say(top, LOOK_QUIET, "no such key: ? shows them all");
        }
    }
}
