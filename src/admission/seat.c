#include "admission/seat.h"

#include "admission/asker.h"
#include "admission/fair_queue.h"
#include "base/clock.h"
#include "core/core.h"
#include "job/watch.h"
#include "log/log.h"

/* Requests that take or keep a lease. All others are short, and berthctl's. */
static const bool is_for_jobs[N_COMMANDS] = {
    [COMMAND_acquire] = true,
    [COMMAND_reclaim] = true,
    [COMMAND_bind] = true,
    [COMMAND_renew] = true,
    [COMMAND_release] = true,
    [COMMAND_cancel] = true,
    [COMMAND_away] = true,
    [COMMAND_back] = true,
};

bool seat_is_for(bool is_operators, enum command_index command)
{
    return !is_operators || !is_for_jobs[command];
}

static struct log_subject peer_subject(const struct peer *peer)
{
    return (struct log_subject){.event = "limit", .asker = {.uid = peer->uid, .pid = peer->pid}};
}

/* A job of root's gets no further than that, but its connection comes first. */
static bool has_operator_seat(const struct seats *seats, int fd, const struct peer *peer)
{
    struct asker asker;
    if (seats->n_operators >= seats->max_operators) {
        return false;
    }
    asker_init(&asker, fd, peer->uid, seats->admins);
    bool is_admin = asker_may(&asker, rights_daemon, NULL);
    asker_deinit(&asker);
    return is_admin;
}

struct seat seat_find(const struct seats *seats, int fd, const struct peer *peer)
{
    bool is_full = seats->n_conns + 1 + seats->watches->n_pidfds > seats->max_conns;
    if (!is_full || has_operator_seat(seats, fd, peer)) {
        return (struct seat){.is_operators = is_full};
    }
    const struct log_subject subject = peer_subject(peer);
    log_provoked_on(LOG_LEVEL_WARNING, &subject, "more than %u connections: uid %u refused",
        seats->max_conns, peer->uid);
    return (struct seat){.why_not = "too%20many%20connections", .cause = REFUSED_FULL};
}

/* False: the user has as many as allowed. */
static bool take_client(const struct seats *seats, struct seat *seat, struct client *client, int fd,
    const struct peer *peer)
{
    bool is_kept = seat->is_operators;
    seat->is_operators =
        is_kept || core_client_init(seats->core, client, peer->uid) != OUTCOME_OK;
    if (seat->is_operators) {
        client_init_uncounted(client, peer->uid);
    }
    return !seat->is_operators || is_kept || has_operator_seat(seats, fd, peer);
}

bool seat_take(struct seats *seats, struct seat *seat, struct client *client,
    struct fair_member *member, int fd, const struct peer *peer)
{
    struct fair_queue *fair_queue = seats->fair_queue;
    const struct log_subject subject = peer_subject(peer);
    if (!fair_user_join(fair_queue, member, peer->uid, clock_now())) {
        log_provoked_on(LOG_LEVEL_WARNING, &subject,
            "uid %u makes too many connections per second: refused", peer->uid);
        seat->cause = REFUSED_RATE;
        seat->why_not = "too%20many%20new%20connections%20of%20this%20user";
        return false;
    }
    if (!take_client(seats, seat, client, fd, peer)) {
        fair_user_leave(fair_queue, member, clock_now());
        log_provoked_on(
            LOG_LEVEL_WARNING, &subject, "uid %u has too many connections: refused", peer->uid);
        seat->cause = REFUSED_USER;
        seat->why_not = "too%20many%20connections%20of%20this%20user";
        return false;
    }
    *(seat->is_operators ? &seats->n_operators : &seats->n_conns) += 1;
    return true;
}

void seat_give_back(struct seats *seats, bool is_operators)
{
    *(is_operators ? &seats->n_operators : &seats->n_conns) -= 1;
}

uint32_t seats_max_watches(const struct seats *seats)
{
    uint32_t max = seats->max_conns / 2;
    uint32_t left = seats->n_conns < seats->max_conns ? seats->max_conns - seats->n_conns : 0;
    return left < max ? left : max;
}
