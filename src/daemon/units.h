/* units.h - lists of units as the protocol and the journal write them: "0-3,7", "gpu0,gpu1". What
 * is parsed may be anybody's. Pure. */
#ifndef BERTH_DAEMON_UNITS_H
#define BERTH_DAEMON_UNITS_H

#include "core/remembered.h"

/* How many units the list names; 0 if it is not one, or names more than MAX_UNITS. */
uint32_t units_count(const char *text, bool is_pool);
/* False unless it names exactly `count`, each once; `units` has room for them. Items point into the
 * text, which is cut in place. */
bool units_parse(char *text, bool is_pool, uint32_t count, struct remembered_unit *units);

#endif
