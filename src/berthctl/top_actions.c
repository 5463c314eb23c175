#include "berthctl/top_actions.h"

#include "berthctl/top_keys.h"
#include "berthctl/top_typing.h"
#include "view/printable.h"

#include <string.h>

/* ---- moving ---- */

static void move_by(struct top *top, ptrdiff_t by)
{
    if (top->page) {
        size_t distance = by < 0 ? (size_t)0 - (size_t)by : (size_t)by;
        size_t up = distance < top->scroll ? distance : top->scroll;
        top->scroll = by < 0             ? top->scroll - up
            : top->scroll < SIZE_MAX / 4 ? top->scroll + distance
                                         : top->scroll; /* the screen knows how far it goes */
    } else {
        top_cursor_move(&top->cursor, &top->rows, by, top_layout(top).n_body);
    }
}

static ptrdiff_t page_of(const struct top *top)
{
    size_t n = top_layout(top).n_body;
    return n > 1 ? (ptrdiff_t)n - 1 : 1;
}

static void act_up(struct top *top)
{
    move_by(top, -1);
}

static void act_down(struct top *top)
{
    move_by(top, 1);
}

static void act_page_up(struct top *top)
{
    move_by(top, -page_of(top));
}

static void act_page_down(struct top *top)
{
    move_by(top, page_of(top));
}

static void act_first(struct top *top)
{
    move_by(top, -(PTRDIFF_MAX / 4));
}

static void act_last(struct top *top)
{
    move_by(top, PTRDIFF_MAX / 4);
}

/* ---- opening ---- */

/* Of the resource of the row; the cursor goes there if the row goes. */
static void set_open(struct top *top, bool is_open)
{
    const struct top_row *row = top_row(top);
    if (top->page || !row || !row->resource) {
        return;
    }
    while (row->lease && !is_open && top->cursor.at > 0) {
        top_cursor_move(&top->cursor, &top->rows, -1, top_layout(top).n_body);
        row = top_row(top);
    }
    top_folds_set(&top->folds, row->resource->name, is_open);
    top_update(top);
}

static void act_fold(struct top *top)
{
    set_open(top, false);
}

static void act_unfold(struct top *top)
{
    set_open(top, true);
}

static void act_toggle(struct top *top)
{
    const struct top_row *row = top_row(top);
    set_open(top, row && row->kind == TOP_RESOURCE && !row->is_open);
}

/* ---- pages ---- */

static void show_page(struct top *top, enum top_page page)
{
    const struct top_row *row = top_row(top);
    if (page != TOP_HELP && row && !top->page) {
        top_subject_set(&top->subject, row);
    } else if (page != TOP_HELP && !top->subject.name) {
        return;
    }
    top->page = page;
    top->scroll = 0;
}

static void act_details(struct top *top)
{
    show_page(top, TOP_DETAILS);
}

static void act_enter(struct top *top)
{
    const struct top_row *row = top_row(top);
    if (top->page) {
        top->page = TOP_NO_PAGE;
    } else if (row && row->kind == TOP_RESOURCE) {
        act_toggle(top);
    } else {
        act_details(top);
    }
}

static void act_help(struct top *top)
{
    show_page(top, TOP_HELP);
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

static void ask(struct top *top, enum top_asking asking, const struct top_subject *subject)
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
        ask(top, TOP_ASKS_WHY, &top->subject);
    }
}

static void act_revoke(struct top *top)
{
    const struct top_row *row = top_row(top);
    struct top_subject subject = top->page ? top->subject : (struct top_subject){0};
    if (!top->page && row) {
        subject = (struct top_subject){(char *)top_row_name(row), (char *)top_row_lease(row)};
    }
    if (top->page == TOP_HELP || !subject.lease) {
        top_say(top, LOOK_NOTICE, "choose a lease to revoke");
    } else if (may_ask(top)) {
        top_subject_deinit(&top->revoked);
        top_subject_copy(&top->revoked, &subject);
        top->prompt = TOP_ASK_SURE;
    }
}

static void answer_revoke(struct top *top, bool is_good, const char *said)
{
    struct text text = TEXT_INIT;
    text_add(&text, is_good ? "revoked " : "not revoked: ");
    text_add_escaped(&text, is_good ? top->question.subject.lease : "");
    text_add_bytes(&text, said, strcspn(said, "\n"));
    top_say(top, is_good ? LOOK_STRONG : LOOK_ALARM, text.bytes);
    text_deinit(&text);
}

void top_answered(struct top *top, bool is_good, const char *said)
{
    if (top->question.asking == TOP_ASKS_REVOKE) {
        answer_revoke(top, is_good, said);
    } else if (top->question.asking == TOP_ASKS_WHY) {
        text_deinit(&top->reasons);
        text_add(&top->reasons, said);
    }
    top->question.asking = TOP_ASKS_NOTHING;
    top->question.is_new = false;
}

/* ---- choices ---- */

static void begin_typing(struct top *top, enum top_prompt prompt, const char *typed)
{
    top->page = TOP_NO_PAGE;
    top->prompt = prompt;
    strcpy(top->typed, typed);
    strcpy(top->before, typed);
}

static void act_filter(struct top *top)
{
    begin_typing(top, TOP_ASK_FILTER, top->choice.filter);
}

static void act_user(struct top *top)
{
    begin_typing(top, TOP_ASK_USER, "");
}

static void act_busy(struct top *top)
{
    top->choice.busy = !top->choice.busy;
    top_update(top);
}

static void act_arguments(struct top *top)
{
    top->with_arguments = !top->with_arguments;
    top_update(top); /* they may be looked for */
}

/* The cursor goes to the first row: the largest is there. */
static void sort_by(struct top *top, const char *word)
{
    top->choice.sort = word ? sort_find(word) : NULL;
    top_update(top);
    top_cursor_move(&top->cursor, &top->rows, -(PTRDIFF_MAX / 4), top_layout(top).n_body);
}

static void act_sort_file(struct top *top)
{
    sort_by(top, NULL);
}

static void act_sort_name(struct top *top)
{
    sort_by(top, "name");
}

static void act_sort_used(struct top *top)
{
    sort_by(top, "used");
}

static void act_sort_waiting(struct top *top)
{
    sort_by(top, "wait");
}

static void act_sort_age(struct top *top)
{
    sort_by(top, "age");
}

/* ---- leaving ---- */

static void act_back(struct top *top)
{
    if (top->page) {
        top->page = TOP_NO_PAGE;
    } else {
        top->choice.busy = top->choice.by_user = false;
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

/* ---- keys ---- */

static void (*const acts[N_TOP_ACTIONS])(struct top *top) = {
    [TOP_DO_UP] = act_up,
    [TOP_DO_DOWN] = act_down,
    [TOP_DO_PAGE_UP] = act_page_up,
    [TOP_DO_PAGE_DOWN] = act_page_down,
    [TOP_DO_FIRST] = act_first,
    [TOP_DO_LAST] = act_last,
    [TOP_DO_ENTER] = act_enter,
    [TOP_DO_FOLD] = act_fold,
    [TOP_DO_UNFOLD] = act_unfold,
    [TOP_DO_TOGGLE] = act_toggle,
    [TOP_DO_DETAILS] = act_details,
    [TOP_DO_WHY] = act_why,
    [TOP_DO_REVOKE] = act_revoke,
    [TOP_DO_FILTER] = act_filter,
    [TOP_DO_USER] = act_user,
    [TOP_DO_BUSY] = act_busy,
    [TOP_DO_ARGUMENTS] = act_arguments,
    [TOP_DO_SORT_FILE] = act_sort_file,
    [TOP_DO_SORT_NAME] = act_sort_name,
    [TOP_DO_SORT_USED] = act_sort_used,
    [TOP_DO_SORT_WAITING] = act_sort_waiting,
    [TOP_DO_SORT_AGE] = act_sort_age,
    [TOP_DO_REDRAW] = act_redraw,
    [TOP_DO_HELP] = act_help,
    [TOP_DO_BACK] = act_back,
    [TOP_DO_QUIT] = act_quit,
};

void top_type(struct top *top, uint32_t code)
{
    text_deinit(&top->message);
    if (top->prompt == TOP_ASK_REASON && code == TOP_KEY_ENTER) {
        ask(top, TOP_ASKS_REVOKE, &top->revoked);
        strcpy(top->question.reason, top->typed);
        top->prompt = TOP_NO_PROMPT;
    } else if (top->prompt) {
        top_typed(top, code);
    } else {
        enum top_action action = top_key_action(code);
        if (action != TOP_DO_NOTHING) {
            acts[action](top);
        } else {
            top_say(top, LOOK_QUIET, "no such key: ? shows them all");
        }
    }
}
