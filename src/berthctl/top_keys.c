#include "berthctl/top_keys.h"

const struct top_key top_keys[] = {
    {TOP_DO_UP, {TOP_KEY_UP, 'k'}, "Up k", "the row above"},
    {TOP_DO_DOWN, {TOP_KEY_DOWN, 'j'}, "Down j", "the row below"},
    {TOP_DO_PAGE_UP, {TOP_KEY_PAGE_UP, 'B' - '@'}, "PgUp ^B", "a page up"},
    {TOP_DO_PAGE_DOWN, {TOP_KEY_PAGE_DOWN, 'F' - '@'}, "PgDn ^F", "a page down"},
    {TOP_DO_FIRST, {TOP_KEY_HOME, 'g'}, "Home g", "the first row"},
    {TOP_DO_LAST, {TOP_KEY_END, 'G'}, "End G", "the last row"},
    {TOP_DO_ENTER, {TOP_KEY_ENTER}, "Enter",
        "of a resource: show or hide its leases; of a lease: details"},
    {TOP_DO_TOGGLE, {' '}, "Space", "show or hide the leases of the resource"},
    {TOP_DO_UNFOLD, {TOP_KEY_RIGHT, 'l'}, "Right l", "show them"},
    {TOP_DO_FOLD, {TOP_KEY_LEFT, 'h'}, "Left h", "hide them"},
    {TOP_DO_DETAILS, {'d'}, "d", "show all details of the row"},
    {TOP_DO_WHY, {'w'}, "w", "why it waits, or would wait, and for whom"},
    {TOP_DO_REVOKE, {'x'}, "x", "revoke the lease: stop its job; asks before it does"},
    {TOP_DO_FILTER, {'/'}, "/", "filter by text in name, user, program or host"},
    {TOP_DO_USER, {'u'}, "u", "only leases of this user"},
    {TOP_DO_BUSY, {'b'}, "b", "only what is held or waited for, or everything"},
    {TOP_DO_ARGUMENTS, {'a'}, "a", "show full arguments of this host's jobs, or programs only"},
    {TOP_DO_SORT_FILE, {'F'}, "F", "in the order of the file"},
    {TOP_DO_SORT_NAME, {'N'}, "N", "by name"},
    {TOP_DO_SORT_USED, {'U'}, "U", "by use, the largest first"},
    {TOP_DO_SORT_WAITING, {'W'}, "W", "by number of waiters"},
    {TOP_DO_SORT_AGE, {'A'}, "A", "by the age of the oldest lease"},
    {TOP_DO_REDRAW, {'L' - '@'}, "^L", "draw the screen again"},
    {TOP_DO_HELP, {'?'}, "?", "this help"},
    {TOP_DO_BACK, {TOP_KEY_ESCAPE}, "Esc", "back to the list, or show everything again"},
    {TOP_DO_QUIT, {'q'}, "q ^C", "back, or leave"},
    {0},
};

enum top_action top_key_action(uint32_t code)
{
    for (const struct top_key *key = top_keys; key->label; key++) {
        for (size_t i = 0; i < sizeof key->codes / sizeof key->codes[0] && key->codes[i]; i++) {
            if (key->codes[i] == code) {
                return key->action;
            }
        }
    }
    return TOP_DO_NOTHING;
}

void text_add_top_keys(struct text *text)
{
    for (const struct top_key *key = top_keys; key->label; key++) {
        text_add_format(text, "  %-9s %s\n", key->label, key->help);
    }
}
