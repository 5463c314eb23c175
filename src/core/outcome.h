/* outcome.h - how an operation of the core, or a lease, ended. Named results that the caller must
 * handle, never "out of memory" (which ends the daemon: doc/architecture.md). */
#ifndef BERTH_CORE_OUTCOME_H
#define BERTH_CORE_OUTCOME_H

enum outcome {
    OUTCOME_OK, /* done; of an acquire: granted */
    OUTCOME_WAITING,
    OUTCOME_PENDING, /* its database is being asked */
    /* refused, or the wait ended without a grant */
    OUTCOME_WOULD_WAIT,
    OUTCOME_TIMEOUT,
    OUTCOME_PAUSED,
    OUTCOME_CLOSED,
    OUTCOME_DRAINING,
    OUTCOME_HELD,
    OUTCOME_ANCESTOR,
    OUTCOME_QUEUE_FULL,
    OUTCOME_QUOTA,
    OUTCOME_IN_USE, /* of what only idle ones allow */
    OUTCOME_GRACE, /* only who had a lease before may have one yet */
    OUTCOME_CANCELLED,
    OUTCOME_RELEASED, /* by somebody else than the client that holds it */
    OUTCOME_LOST, /* it is over */
    OUTCOME_DROPPED,
    OUTCOME_REVOKED,
    OUTCOME_WITHDRAWN, /* revoked by its own user: as far as that user's rights go */
    OUTCOME_MAX_HOLD,
    OUTCOME_EXPIRED,
    OUTCOME_DOWN, /* its database cannot be reached */
    OUTCOME_DEADLINE, /* it could not be kept alive in its database */
    OUTCOME_NO_SPACE, /* the caller could not write it down */
    OUTCOME_FORBIDDEN,
    OUTCOME_NOT_HOLDER,
    OUTCOME_UNKNOWN,
    OUTCOME_IMPOSSIBLE,
    OUTCOME_MIXED, /* resources of different scopes or databases */
    OUTCOME_DIFFERS, /* the fleet has another definition of it */
    OUTCOME_TOO_MUCH, /* changed by operators: more than every host of the fleet keeps */
    OUTCOME_KIND,
    N_OUTCOMES
};

#endif
