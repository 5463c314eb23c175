/* stats_table.h - what `berthctl stats` shows to people. Pure but for the time zone. */
#pragma once

#include "view/stats.h"

/* `width`: of the terminal; 0: leave out nothing. */
void stats_table_print(
    const struct stats *stats, const struct past *past, size_t width, struct text *out);
