#include "berthctl/look.h"

#include <stdlib.h>
#include <string.h>

bool look_wants_colour(void)
{
    const char *terminal = getenv("TERM"), *none = getenv("NO_COLOR");
    return terminal && strcmp(terminal, "dumb") != 0 && !(none && none[0] != '\0');
}

const char *look_begin(enum look look)
{
    static const char *const codes[N_LOOKS] = {
        [LOOK_PLAIN] = "",
        [LOOK_STRONG] = "\x1b[1m",
        [LOOK_QUIET] = "\x1b[2m",
        [LOOK_NOTICE] = "\x1b[33m",
        [LOOK_ALARM] = "\x1b[31m",
    };
    return codes[look];
}

const char *look_end(void)
{
    return "\x1b[0m";
}
