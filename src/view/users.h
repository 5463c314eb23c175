/* users.h - names of users, each looked up once: when it is first shown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What shows a user calls this: the name, good until the program ends; NULL: the uid stands for
 * it. There are no names until a program sets it to user_look_up(). */
extern const char *(*user_name)(uint64_t uid);
const char *user_look_up(uint64_t uid);
/* The uid of a user's name, or of its digits. False: there is no such user. */
bool user_find(const char *word, uint64_t *uidp);
