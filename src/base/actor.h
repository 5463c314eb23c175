/* actor.h - who paused a resource or took a lease away: the operator's uid and, if known and
 * different, the login uid (before sudo). Everybody may know both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct actor {
    bool is_known;
    bool has_login;
    uint32_t uid;
    uint32_t login; /* with .has_login: never .uid */
};

enum { ACTOR_SIZE = 24 };
/* "UID", or "UID LOGIN"; "" if it is not known. */
void actor_format(char text[static ACTOR_SIZE], const struct actor *by);
/* Not known if the text is malformed. */
struct actor actor_parse(const char *text);
