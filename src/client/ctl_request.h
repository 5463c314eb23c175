/* ctl_request.h - one command of berthctl as a line of the protocol. Pure. */
#pragma once

#include "base/text.h"
#include "wire/fields.h"

#include <stdbool.h>
#include <stddef.h>

struct ctl_request {
    const char *word;
    char *const *arguments; /* no empty strings: the protocol cannot express them */
    size_t n_arguments;
    const char *reason, *database, *lease; /* or NULL */
    struct optional from, since, until, user, limit;
    bool wait, failed;
};

/* Includes the LF. The daemon gets the arguments unchanged, and judges them. False if the line
 * would be too long. */
bool request_print(const struct ctl_request *request, struct text *out);
