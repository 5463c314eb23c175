/* ended.h - how a lease or a wait ended, besides what is remembered of the lease itself
 * (saved_lease.h); and what operators do. Whoever fills it in owns the strings. */
#pragma once

#include "base/actor.h"
#include "core/types.h"

enum history_kind {
    HISTORY_ENDED,
    HISTORY_DID = 2, /* (1 was another kind) history_entry.h: as a struct did; .ended_at is when */
};

/* What an operator has done. What is not known, or not there, is NULL. */
struct did {
    const char *verb; /* the word of the request */
    const char *resource; /* or a template; NULL: it concerns the host, or a database */
    const char *others; /* if it was done to a lease: its other resources, with spaces between */
    uint16_t hiding; /* of that lease, as in an entry */
    const char *target; /* a lease, an item, a database */
    const char *old, *new; /* a limit, or the word of a state */
    struct actor by;
    const char *host; /* where, if it was another one */
    const char *reason;
};

/* Where a process comes from. */
struct process_origin {
    bool has_login;
    uint32_t login; /* the user who had logged in */
    const char *cgroup, *args; /* NULL: not known */
};

/* How the job's main process ended. */
enum history_status { HISTORY_STATUS_UNKNOWN, HISTORY_EXITED, HISTORY_SIGNALLED };

/* A lease that nobody gave back: its job, or its client, was gone. */
#define HISTORY_GONE "gone"

struct history_entry {
    enum history_kind kind;
    uint64_t lease;
    nanoseconds ended_at;
    uint32_t uid; /* of the lease */
    uint16_t hiding; /* bit 1 << i: its resource i hides what leases say of themselves */
    const char *how; /* a code's word, or HISTORY_GONE */
    enum history_status status;
    uint8_t number; /* the exit status, or the signal */
    bool was_unseen; /* it ended while there was no berthd: before .ended_at */
    struct process_origin origin; /* the job's */
    struct actor by; /* who took it away; the login may be the same user */
    const char *why; /* their reason; or NULL */
    const char *record; /* the lease's last record of the journal, without a NUL */
    size_t record_length;
};
