/* deadlines.h - a database was reached: tells clients until when their leases are good. */
#ifndef BERTH_CONN_DEADLINES_H
#define BERTH_CONN_DEADLINES_H

#include <stdint.h>

struct core;

/* Tells every client that holds a lease of this database. */
void deadlines_send(struct core *core, uint8_t database);

#endif
