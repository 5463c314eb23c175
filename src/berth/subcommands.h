/* subcommands.h - the subcommands of berth. Each returns the exit status. */
#ifndef BERTH_BERTH_SUBCOMMANDS_H
#define BERTH_BERTH_SUBCOMMANDS_H

#include "berth/options.h"

int command_run(const struct options *options);
int command_acquire(const struct options *options);
int command_renew(const struct options *options);
int command_release(const struct options *options);

#endif
