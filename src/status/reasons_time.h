/* reasons_time.h - why a request waits, where all that it waits for is time. */
#pragma once

#include "status/reasons.h"

/* "lets it go at 12:00:05, in 5s". */
void rate_write(struct text *out, const struct reasons_resource *resource);
/* Add a sentence if there is something to say. */
void reasons_rate(struct reasons *reasons, const struct reasons_resource *resource);
void reasons_cooling(struct reasons *reasons, const struct reasons_resource *resource);
