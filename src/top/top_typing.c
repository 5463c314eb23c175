/* top_typing.c - what is typed into the last line of `berthctl top`. Pure but for the names of
 * users. */
#include "top/top_internal.h"
#include "view/printable.h"
#include "view/users.h"

#include <string.h>

enum { DELETE = 0x7f, BACKSPACE = '\b', KILL_LINE = 'U' - '@', LAST_CHARACTER = 0x10ffff };

/* ---- characters ---- */

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

void top_typed(struct top *top, uint32_t code)
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
