/* stats_table.h - what `berthctl stats` shows to people. Pure but for the time zone. */
#ifndef BERTH_BERTHCTL_STATS_TABLE_H
#define BERTH_BERTHCTL_STATS_TABLE_H

#include "base/text.h"
#include "view/stats.h"

void stats_table_print(const struct stats *stats, struct text *out);

#endif
