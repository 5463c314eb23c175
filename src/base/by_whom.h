/* by_whom.h - who paused a resource or took a lease away: the operator's uid and, if known and
 * different, the login uid (before sudo). Everybody may know both. */
#ifndef BERTH_BASE_BY_WHOM_H
#define BERTH_BASE_BY_WHOM_H

#include <stdbool.h>
#include <stdint.h>

struct by_whom {
    bool is_known;
    bool has_login;
    uint32_t uid;
    uint32_t login; /* with .has_login: never .uid */
};

enum { BY_WHOM_SIZE = 24 };
/* "UID", or "UID LOGIN"; "" if it is not known. */
void by_whom_format(char text[static BY_WHOM_SIZE], const struct by_whom *by);
/* Not known if the text is malformed. */
struct by_whom by_whom_parse(const char *text);

#endif
