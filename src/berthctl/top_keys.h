/* top_keys.h - what the keys of `berthctl top` do: one table, which its help and its manual show.
 * Pure. */
#ifndef BERTH_BERTHCTL_TOP_KEYS_H
#define BERTH_BERTHCTL_TOP_KEYS_H

#include "base/text.h"

#include <stdint.h>

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

enum top_action {
    TOP_DO_NOTHING,
    TOP_DO_UP,
    TOP_DO_DOWN,
    TOP_DO_PAGE_UP,
    TOP_DO_PAGE_DOWN,
    TOP_DO_FIRST,
    TOP_DO_LAST,
    TOP_DO_ENTER,
    TOP_DO_FOLD,
    TOP_DO_UNFOLD,
    TOP_DO_TOGGLE,
    TOP_DO_DETAILS,
    TOP_DO_WHY,
    TOP_DO_REVOKE,
    TOP_DO_FILTER,
    TOP_DO_USER,
    TOP_DO_BUSY,
    TOP_DO_ARGUMENTS,
    TOP_DO_SORT_FILE,
    TOP_DO_SORT_NAME,
    TOP_DO_SORT_USED,
    TOP_DO_SORT_WAITING,
    TOP_DO_SORT_AGE,
    TOP_DO_REDRAW,
    TOP_DO_HELP,
    TOP_DO_BACK,
    TOP_DO_QUIT,
    N_TOP_ACTIONS
};

struct top_key {
    enum top_action action;
    uint32_t codes[3]; /* to a 0 */
    const char *label; /* the keys, as the help shows them */
    const char *help;
};

extern const struct top_key top_keys[]; /* to a label that is NULL */

/* TOP_DO_NOTHING: a key without meaning. */
enum top_action top_key_action(uint32_t code);

/* A line for each row of the table. */
void text_add_top_keys(struct text *text);

#endif
