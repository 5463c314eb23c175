/* exit_status.h - exit statuses that berth itself gives, or treats specially; all others are rows
 * of code_table (wire/protocol.h). Doc: berth(1). */
#pragma once

enum {
    STATUS_LOST = 1,
    STATUS_USAGE = 64,
    STATUS_DOWN = 69, /* berthd is not reachable, or something else answers */
    STATUS_NOT_ACQUIRED = 75, /* -E replaces it */
    STATUS_FORBIDDEN = 77,
    STATUS_UNKNOWN = 78,
    STATUS_STOPPED = 124, /* stopped by berth, because its lease was gone */
    STATUS_CANNOT_EXECUTE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128, /* plus the signal, if berth cannot die by that signal */
};
