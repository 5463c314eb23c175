/* why.h - what berthd said, in words for people. */
#ifndef BERTH_CLIENT_WHY_H
#define BERTH_CLIENT_WHY_H

#include "client/answer.h"
#include "client/grant.h"

/* "what it says (code)", fit to be shown; good until the next call. Decodes answer->text. */
const char *why(struct answer *answer);

/* -v: what was granted. */
void say_granted(const struct grant *grant);

#endif
