/* users.h - names of users, each looked up once. */
#pragma once

#include "view/past.h"
#include "view/status.h"

/* Sets every `user`; the names stay until the program ends. */
void users_fill_in(struct status *status);
void users_fill_in_past(struct past *past);
void users_fill_in_past_lease(struct past_lease *lease);
/* The user's name, good until the program ends; NULL: that uid has none. */
const char *user_name(uint64_t uid);
/* The uid of a user's name, or of its digits. False: there is no such user. */
bool user_find(const char *word, uint64_t *uidp);
