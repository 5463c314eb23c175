/* who.h - users, as tables show them. Pure. */
#ifndef BERTH_VIEW_WHO_H
#define BERTH_VIEW_WHO_H

#include "base/text.h"
#include "wire/fields.h"

/* The name, else the uid. */
void text_add_user(struct text *text, const struct shown_user *user);
/* "root (alice)": who, and as whom they logged in. */
void text_add_who(
    struct text *text, const struct shown_user *user, const struct shown_user *login);

#endif
