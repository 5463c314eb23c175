/* subcommands.h - the subcommands of berth. Each returns the exit status. */
#pragma once

#include "berth/options.h"

int command_run(const struct options *options);
int command_acquire(const struct options *options);
int command_renew(const struct options *options);
int command_release(const struct options *options);
