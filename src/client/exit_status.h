/* exit_status.h - exit statuses that berth gives by itself, or treats in a way of its own; all others
 * are rows of code_table (wire/protocol.h). Doc: berth(1). */
#ifndef BERTH_CLIENT_EXIT_STATUS_H
#define BERTH_CLIENT_EXIT_STATUS_H

enum {
    STATUS_LOST = 1,
    STATUS_USAGE = 64,
    STATUS_DOWN = 69, /* berthd is not reachable, or it is something else that answers */
    STATUS_NOT_ACQUIRED = 75, /* what -E replaces */
    STATUS_FORBIDDEN = 77,
    STATUS_UNKNOWN = 78,
    STATUS_STOPPED = 124, /* by berth, because its lease was gone */
    STATUS_CANNOT_EXECUTE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128, /* plus the signal, where dying by it is not possible */
};

#endif
