/* connect_check.h - `berthd --check --connect`: tries each database of the file once, as the daemon
 * would connect to it, without a session there: nothing is read or written under its keys. */
#pragma once

#include "conf/conf.h"

#include <stdio.h>

/* Prints one line for each database, in the order of the file. Returns the exit status: EX_CONFIG
 * if one is refused, or refuses us; else EX_UNAVAILABLE if one cannot be reached. Takes 15 seconds
 * at most. Does not return if a name service does not answer, but ends the process with that
 * status. */
int connect_check(const struct conf *conf, FILE *out);
