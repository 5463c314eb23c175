/* ctl_table.h - what `berthctl status` shows to people. Pure. */
#ifndef BERTH_CLIENT_CTL_TABLE_H
#define BERTH_CLIENT_CTL_TABLE_H

#include "client/ctl_status.h"
#include "client/ctl_text.h"

struct table_style {
    size_t width; /* of the terminal; 0: nothing is cut */
    size_t most_leases; /* of one resource; what is left out is counted. 0: all */
};

void table_print(const struct status *status, const struct table_style *style, struct text *out);

#endif
