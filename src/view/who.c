#include "view/who.h"

#include "view/printable.h"

void text_add_user(struct text *text, const struct shown_user *user)
{
    if (user->name) {
        text_add_escaped(text, user->name);
    } else {
        text_add_number(text, user->uid.number);
    }
}

void text_add_who(
    struct text *text, const struct shown_user *user, const struct shown_user *login)
{
    text_add_user(text, user);
    if (login->uid.is_given && login->uid.number != user->uid.number) {
        text_add(text, " (");
        text_add_user(text, login);
        text_add(text, ")");
    }
}
