/* top_units.h - the units of a resource as a row of boxes. Pure. */
#ifndef BERTH_BERTHCTL_TOP_UNITS_H
#define BERTH_BERTHCTL_TOP_UNITS_H

#include "view/status.h"

/* Of a pool, where there is room, its items: [held], (reserved), free. Else a box for each unit:
 * [##.x~] with # held, x reserved, ~ cooling down, . free; where there are more units than columns,
 * a bar on which each column stands for several. At most `width` columns; nothing if that is too
 * little. */
void text_add_boxes(struct text *text, const struct status_resource *resource, size_t width);

#endif
