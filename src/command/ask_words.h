/* ask_words.h - from the words of an acquire or a reclaim to an ask. A function that returns false
 * has answered with an error. */
#pragma once

#include "core/acquire_request.h"

#include <stdbool.h>
#include <stddef.h>

struct call;

/* Takes `n` arguments apart in place: the names of the ask point into the line. With `units`, each
 * argument may be "NAME:COUNT:UNITS"; `units` has `n` elements, which get the third parts, and stay
 * as they are where there is none. */
bool ask_parse_wants(struct call *call, const char *const arguments[], size_t n,
    struct acquire_request *ask, char **units);

/* Afterwards the ask has its keys, its process, and a definition for each name; its user may use
 * all of them. */
bool ask_parse_attributes(struct call *call, struct acquire_request *ask);
