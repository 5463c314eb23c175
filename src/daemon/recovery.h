/* recovery.h - at the start: takes over what an earlier berthd knew, from its journal and state
 * directory. */
#ifndef BERTH_DAEMON_RECOVERY_H
#define BERTH_DAEMON_RECOVERY_H

#include <stdbool.h>

struct core;
struct effects;
struct fleet;
struct fleet_journal;
struct fleet_names;
struct history;
struct history_log;
struct ledger;
struct numbers;
struct origins;
struct state;
struct turn;

/* What it brings back, and where to. */
struct recovery {
    struct core *core;
    struct effects *effects; /* the core's */
    struct turn *turn;
    struct ledger *ledger; /* its journal is opened here */
    struct history *history; /* of earlier runs; gets what ended since */
    struct history_log *history_log; /* begins behind the entries of earlier runs */
    struct origins *origins; /* looks up the others */
    struct numbers *numbers;
    struct state *state;
    const struct fleet_names *databases;
    struct fleet *fleet;
    struct fleet_journal *fleet_journal;
    const char *conf_path; /* the configuration's file, for messages */
    const char *listener_path; /* the socket, beside which the journal is */
    const char *socket_path; /* its one name */
};

/* Before clients can connect, and after definitions are in place. If something is missing or
 * damaged, logs it, and the daemon starts, with a grace where leases may be missing. False (logged)
 * if the file would make a resource in use another kind: then the daemon does not start. */
bool recovery_run(const struct recovery *recovery);

#endif
