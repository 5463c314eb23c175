/* top_keys.h - what the keys of `berthctl top` do: one table, which its help and its manual show.
 * Pure. */
#ifndef BERTH_BERTHCTL_TOP_KEYS_H
#define BERTH_BERTHCTL_TOP_KEYS_H

#include <stdint.h>

struct top;

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
    void (*act)(struct top *top);
    uint32_t codes[3]; /* to a 0 */
    const char *label; /* the keys, as the help shows them */
    const char *help;
};

extern const struct top_key top_keys[]; /* top_actions.c; to a label that is NULL */

#endif
