/* named_database.h - which database a request is about that names one, or need not. */
#ifndef BERTH_COMMAND_NAMED_DATABASE_H
#define BERTH_COMMAND_NAMED_DATABASE_H

#include "conn/command_call.h"

/* definition.database of the key `database`; without it `usual`, unless that is 0, or else the only
 * database of the file. 0: there is none; the request has been answered. */
uint8_t named_database(struct call *call, uint8_t usual);

#endif
