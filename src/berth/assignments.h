/* assignments.h - what `berth acquire` prints. Pure but for the stream. */
#pragma once

#include "berth/environment.h"
#include "berth/grant.h"

#include <stdio.h>

/* NAME=value lines that shells and systemd's EnvironmentFile= read alike. */
void assignments_print(FILE *out, const struct environment *environment);

/* One JSON object on one line; doc: `berth acquire --help`. */
void assignments_print_json(FILE *out, const struct grant *grant, const char *socket);
