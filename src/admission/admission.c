#include "admission/admission.h"

#include "admission/asker.h"
#include "admission/fair_queue.h"
#include "base/clock.h"
#include "core/core.h"
#include "job/watch.h"
#include "log/log.h"

/* A job of root's gets no further than that, but its connection comes first. */
static bool has_operator_admission(
    const struct admissions *admissions, int fd, const struct peer *peer)
{
    struct asker asker;
    if (admissions->n_operators >= admissions->max_operators) {
        return false;
    }
    asker_init(&asker, fd, peer->uid, admissions->admins);
    bool is_admin = asker_may(&asker, rights_daemon, NULL);
    asker_deinit(&asker);
    return is_admin;
}

/* False: the user has as many as allowed. */
static bool take_client(const struct admissions *admissions, struct client *client,
    bool *is_operatorsp, int fd, const struct peer *peer)
{
    bool is_kept = *is_operatorsp;
    *is_operatorsp = is_kept || core_client_init(admissions->core, client, peer->uid) != OUTCOME_OK;
    if (*is_operatorsp) {
        client_init_uncounted(client, peer->uid);
    }
    return !*is_operatorsp || is_kept || has_operator_admission(admissions, fd, peer);
}

enum refused_cause admission_begin(struct admissions *admissions, struct client *client,
    struct fair_member *member, bool *is_operatorsp, int fd, const struct peer *peer)
{
    struct fair_queue *fair_queue = admissions->fair_queue;
    const struct log_subject subject = {
        .event = "limit", .asker = log_process_of(peer->uid, peer->pid)};
    *is_operatorsp =
        admissions->n_conns + 1 + admissions->watches->n_pidfds > admissions->max_conns;
    if (*is_operatorsp && !has_operator_admission(admissions, fd, peer)) {
        log_ratelimited_on(LOG_LEVEL_WARNING, &subject, "more than %u connections: uid %u refused",
            admissions->max_conns, peer->uid);
        return REFUSED_FULL;
    }
    if (!fair_user_join(fair_queue, member, peer->uid, clock_now())) {
        log_ratelimited_on(LOG_LEVEL_WARNING, &subject,
            "uid %u makes too many connections per second: refused", peer->uid);
        return REFUSED_RATE;
    }
    if (!take_client(admissions, client, is_operatorsp, fd, peer)) {
        fair_user_leave(fair_queue, member, clock_now());
        log_ratelimited_on(
            LOG_LEVEL_WARNING, &subject, "uid %u has too many connections: refused", peer->uid);
        return REFUSED_USER;
    }
    *(*is_operatorsp ? &admissions->n_operators : &admissions->n_conns) += 1;
    admissions_share_descriptors(admissions);
    return NOT_REFUSED;
}

void admission_end(struct admissions *admissions, bool is_operators)
{
    *(is_operators ? &admissions->n_operators : &admissions->n_conns) -= 1;
    admissions_share_descriptors(admissions);
}

void admissions_share_descriptors(struct admissions *admissions)
{
    uint32_t max = admissions->max_conns / 2;
    uint32_t left = admissions->n_conns < admissions->max_conns
        ? admissions->max_conns - admissions->n_conns
        : 0;
    admissions->watches->max = left < max ? left : max;
}
