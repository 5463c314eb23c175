/* ctl_request.h - one command of berthctl as a line of the protocol. Pure. */
#ifndef BERTH_BERTHCTL_CTL_REQUEST_H
#define BERTH_BERTHCTL_CTL_REQUEST_H

#include "berthctl/printable.h"

#include <stdbool.h>
#include <stddef.h>

struct ctl_request {
    const char *word;
    char *const *arguments; /* not empty strings: the protocol has no word for them */
    size_t n_arguments;
    const char *reason, *database; /* or NULL */
    bool wait;
};

/* With its LF. Whatever is in the arguments, the daemon gets them as they are, and judges. False
 * if no line can be that long. */
bool request_print(const struct ctl_request *request, struct text *out);

#endif
