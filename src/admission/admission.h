/* admission.h - connection admission. Some connections are reserved for operators' requests: an
 * admin of the daemon gets one when all others, or the user's own, are used up. They serve nothing
 * else, or root's jobs would take them all. */
#pragma once

#include "base/metrics.h"
#include "wire/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct core;
struct daemon_admins;
struct fair_member;
struct fair_queue;
struct peer;
struct watches;

enum { OPERATORS_CONNS = 8 }; /* fewer where the limit of open files is very low */

struct admissions {
    uint32_t n_conns, max_conns; /* without closing ones */
    uint32_t n_operators, max_operators; /* the same for operators' places, not in n_conns */
    struct core *core;
    struct fair_queue *fair_queue;
    const struct daemon_admins *admins;
    struct watches *watches; /* which need descriptors as well */
};

/* Begins `client` and `member`, of the user at the other end of `fd`; *is_operatorsp says whether
 * they have a reserved place. Or returns why there is no room (logged): then they have not
 * begun. */
enum refused_cause admission_begin(struct admissions *admissions, struct client *client,
    struct fair_member *member, bool *is_operatorsp, int fd, const struct peer *peer);
void admission_end(struct admissions *admissions, bool is_operators);

/* Sets how many watches there may be now. They share the descriptors with connections: a process
 * without a watch is looked at from time to time. */
void admissions_share_descriptors(struct admissions *admissions);
