#include "daemon/seat.h"

#include "base/clock.h"
#include "daemon/asker.h"
#include "daemon/server.h"
#include "log/log.h"

/* Those that take or keep a lease. All others are short, and berthctl's. */
static const bool is_for_jobs[N_COMMANDS] = {
    [COMMAND_acquire] = true,
    [COMMAND_reclaim] = true,
    [COMMAND_bind] = true,
    [COMMAND_renew] = true,
    [COMMAND_release] = true,
    [COMMAND_cancel] = true,
};

bool seat_is_for(const struct conn *conn, enum command_index command)
{
    return !conn->is_operators || !is_for_jobs[command];
}

static struct log_about about_peer(const struct peer *peer)
{
    return (struct log_about){.event = "limit", .asker = {.uid = peer->uid, .pid = peer->pid}};
}

/* What root's jobs ask for gets no further than that, but their connections come first. */
static bool is_there_one_of_operators(const struct server *server, int fd, const struct peer *peer)
{
    struct asker asker;
    if (server->n_operators >= server->max_operators) {
        return false;
    }
    asker_init(&asker, fd, peer->uid, &server->admins);
    bool is_admin = asker_may(&asker, rights_daemon, NULL);
    asker_deinit(&asker);
    return is_admin;
}

struct seat seat_find(const struct server *server, int fd, const struct peer *peer)
{
    bool is_full = server->n_conns + 1 + server->watches.n_pidfds > server->max_conns;
    if (!is_full || is_there_one_of_operators(server, fd, peer)) {
        return (struct seat){.is_operators = is_full};
    }
    const struct log_about about = about_peer(peer);
    log_provoked_about(LOG_LEVEL_WARNING, &about, "more than %u connections: uid %u refused",
        server->max_conns, peer->uid);
    return (struct seat){.why_not = "too%20many%20connections"};
}

/* False: the user has as many as one may have. */
static bool take_client(const struct seat *seat, struct conn *conn, int fd, const struct peer *peer)
{
    conn->is_operators = seat->is_operators ||
        core_client_init(conn->server->core, &conn->client, peer->uid) != OUTCOME_OK;
    if (conn->is_operators) {
        client_init_uncounted(&conn->client, peer->uid);
    }
    return !conn->is_operators || seat->is_operators ||
        is_there_one_of_operators(conn->server, fd, peer);
}

const char *seat_take(const struct seat *seat, struct conn *conn, int fd, const struct peer *peer)
{
    struct server *server = conn->server;
    struct fair_queue *fair_queue = &server->scheduler.fair_queue;
    const struct log_about about = about_peer(peer);
    if (!fair_user_join(fair_queue, &conn->member, peer->uid, clock_now())) {
        log_provoked_about(LOG_LEVEL_WARNING, &about,
            "uid %u makes too many connections per second: refused", peer->uid);
        return "too%20many%20new%20connections%20of%20this%20user";
    }
    if (!take_client(seat, conn, fd, peer)) {
        fair_user_leave(fair_queue, &conn->member, clock_now());
        log_provoked_about(
            LOG_LEVEL_WARNING, &about, "uid %u has too many connections: refused", peer->uid);
        return "too%20many%20connections%20of%20this%20user";
    }
    *(conn->is_operators ? &server->n_operators : &server->n_conns) += 1;
    return NULL;
}

void seat_give_back(struct conn *conn)
{
    struct server *server = conn->server;
    *(conn->is_operators ? &server->n_operators : &server->n_conns) -= 1;
}
