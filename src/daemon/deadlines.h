/* deadlines.h - a database was reached: until when that is good is told. */
#ifndef BERTH_DAEMON_DEADLINES_H
#define BERTH_DAEMON_DEADLINES_H

#include <stdint.h>

struct core;

/* To every client that holds a lease of this database. */
void deadlines_tell(struct core *core, uint8_t database);

#endif
