/* resp_text.h - replies of Redis in short: a number is an integer, 'quoted' texts and other words
 * are strings, _ is nil, +WORD a status, [ ] an array; "-ERR text" is an error as a whole. */
#pragma once

#include "redis/resp.h"

/* Good until the next call. */
const struct resp *resp_of(const char *text);
