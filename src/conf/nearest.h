/* nearest.h - "did you mean ...?" */
#ifndef BERTH_CONF_NEAREST_H
#define BERTH_CONF_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word; /* what was written */
    const char *best; /* the nearest candidate so far that is near enough; or NULL */
    size_t distance;
};

#define NEAREST_INIT(written)                                                                      \
    {                                                                                              \
        .word = (written)                                                                          \
    }

void nearest_try(struct nearest *nearest, const char *candidate);

#endif
