/* commands.h - the subcommands of berth. Each returns the exit status. */
#ifndef BERTH_CLIENT_COMMANDS_H
#define BERTH_CLIENT_COMMANDS_H

#include "client/options.h"

int command_run(const struct options *options);
int command_run_in_place(const struct options *options); /* with options->no_fork */
int command_acquire(const struct options *options);
int command_renew(const struct options *options);
int command_release(const struct options *options);

#endif
