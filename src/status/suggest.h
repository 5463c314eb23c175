/* suggest.h - "did you mean ...?" of an unknown name: the nearest of those that the asker may know. Pure. */
#ifndef BERTH_STATUS_SUGGEST_H
#define BERTH_STATUS_SUGGEST_H

#include "base/words.h"
#include "core/definition.h"

/* "/NAME" for a template that was named without a name below it. */
enum { SUGGESTION_SIZE = NAME_BYTES + sizeof "/NAME" };

/* Whether the asker may be told of it. */
typedef bool suggest_may(void *context, const struct definition *definition);

/* Looks at the first 1000 definitions. False: none is near. */
bool suggest_name(char out[static SUGGESTION_SIZE], const char *name,
    const struct definition definitions[], size_t n, suggest_may *may, void *context);

#endif
