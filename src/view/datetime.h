/* datetime.h - times of day as an operator writes and reads them. Pure but for the time zone. */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* All times are milliseconds since 1970. */

/* Parses a span before `now` ("1h30m", as duration_parse()), the last such time of day ("03:00",
 * "03:00:30"), a day ("today" or "yesterday", when it began, or "2026-11-23"), or a day and a time
 * ("2026-11-23 03:00", "yesterday 03:00"; a T may stand in place of the space). False if malformed,
 * or if there is no such time. It may be after `now`. */
bool datetime_parse(const char *text, int64_t now, int64_t *whenp);

/* Adds it as datetime_parse() reads it: "yesterday 22:00", "today 02:00:30", "2026-11-23 03:00". */
void text_add_day_and_time(struct text *text, int64_t when, int64_t now);

/* Adds "14:02:11", behind its date unless that is today's. */
void text_add_datetime(struct text *text, int64_t when, int64_t now);
