/* top_state.h - everything that `berthctl top` knows and shows. Pure: what it draws, asks and reads
 * of /proc, others do for it. */
#ifndef BERTH_BERTHCTL_TOP_STATE_H
#define BERTH_BERTHCTL_TOP_STATE_H

#include "berthctl/top_cursor.h"
#include "berthctl/top_line.h"
#include "berthctl/top_rows.h"

/* A text that covers the list. */
enum top_page { TOP_NO_PAGE, TOP_HELP, TOP_DETAILS, TOP_REASONS };

/* What is typed into the last line. */
enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_USER, TOP_ASK_SURE, TOP_ASK_REASON };

/* A resource, a template, or a lease on a resource: a row, while rows come and go. */
struct top_subject {
    char *name, *lease; /* owned; NULL: none */
};

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
    /* The arguments, or the name, of a lease's process of this host; not escaped, good until the
     * next call. NULL: not known, or not to be seen. */
    const char *(*process_of)(void *context, const struct status_lease *lease, bool arguments);
    void *context;

    struct top_choice choice;
    bool with_arguments;
    struct top_folds folds;
    struct top_rows rows;
    struct top_cursor cursor;
    size_t units_width; /* of leases, on the screen that was made last */

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

#define TOP_INIT                                                                                   \
    {                                                                                              \
        .folds = TOP_FOLDS_INIT, .rows = TOP_ROWS_INIT                                             \
    }

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

/* The lease, or NULL: it is over. *resourcep is its resource; or NULL. */
const struct status_lease *top_find(const struct top *top, const struct top_subject *subject,
    const struct status_resource **resourcep, bool *is_heldp);

#endif
