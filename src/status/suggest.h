/* suggest.h - "did you mean ...?" for an unknown name: the nearest name that the user who asks may
 * know. Pure. */
#pragma once

#include "base/words.h"
#include "core/definition.h"

/* "/NAME" for a template that was named without a name below it. */
enum { SUGGESTION_SIZE = NAME_BYTES + sizeof "/NAME" };

/* Whether the user who asks may know the definition. */
typedef bool suggest_filter(void *context, const struct definition *definition);

/* Looks at the first 1000 definitions. False: none is near. */
bool suggest_name(char out[static SUGGESTION_SIZE], const char *name,
    const struct definition definitions[], size_t n, suggest_filter *may, void *context);
