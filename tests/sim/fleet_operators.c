/* fleet_operators.c - what operators change in the simulated fleet, and whether that lasts until
 * they undo it, whatever hosts come, go, or forget. */
#include "fleet_internal.h"

#include <stdio.h>
#include <string.h>

#define UNKNOWN_FOR (10 * SECOND) /* a request without an answer may still be on its way */

/* Resources, a template, and one of its instances, whose own changes come first. */
static const char *const names[N_CHANGED] = {"r2", "r3", "each/*", "each/x"};
/* Their limits in the file: set by an operator, they are no change. */
static const uint32_t limits_of_file[N_CHANGED] = {3, 5, 2, 2};

static const char *name_of(const struct fleet *fleet, const struct act *act)
{
    return names[act - fleet->acts];
}

/* Where a forgotten definition takes no other name's changes along. */
static bool may_be_forgotten(const struct fleet *fleet, const struct act *act)
{
    return !strchr(name_of(fleet, act), '/');
}

static void is_not_known(const struct fleet *fleet, struct act *act)
{
    act->is_known = act->is_asked = false;
    act->unknown_since = fleet->now;
}

/* What is stored, or NULL. */
static const struct member *stored(const struct fleet *fleet, const struct act *act)
{
    return redis_data_member(fleet->server.redis.data, "{berth}:changes", name_of(fleet, act));
}

static bool says(const struct member *member, const char *text)
{
    return member && memmem(member->value.at, member->value.n, text, strlen(text)) != NULL;
}

/* Limits have one digit. */
static void check(struct fleet *fleet, const struct act *act)
{
    char limit[32] = "\"limit\":";
    const struct member *member = stored(fleet, act);
    if (act->limit != UNBOUNDED) {
        snprintf(limit, sizeof limit, "\"limit\":%u", act->limit);
    }
    bool is_paused = says(member, "\"paused\":"), is_limited = says(member, limit);
    if (act->is_known && !act->is_asked &&
        (is_paused != act->is_paused || is_limited != (act->limit != UNBOUNDED))) {
        fail("what operators did to %s is not in force: %.*s", name_of(fleet, act),
            member ? (int)member->value.n : 0, member ? member->value.at : "");
    }
}

static void ask(
    struct fleet *fleet, struct host *host, struct act *act, enum act_word word, uint32_t limit)
{
    static const char *const words[] = {"pause", "resume", "limit", "reset", "forget"};
    char number[12];
    snprintf(number, sizeof number, "%u", limit);
    const char *name = name_of(fleet, act);
    const char *argv[] = {words[word], name, word == ACT_LIMIT ? number : "", "why"};
    trace(fleet, "%s: an operator: %s %s %s", host->name, words[word], name, argv[2]);
    act->is_asked = true;
    act->host = host->index;
    act->word = word;
    act->asked_limit = limit;
    act->asked_at = fleet->now;
    session_admin(host->session, NULL, act, 4, argv);
}

/* As if the host's file no longer had it. All files do, so it comes back at once. */
static void forget(struct fleet *fleet, struct host *host)
{
    const char *name = resource_to_forget(fleet);
    const char *argv[] = {"forget", name, ""};
    trace(fleet, "%s: an operator: forget %s", host->name, name);
    session_admin(host->session, NULL, NULL, 3, argv);
}

/* A random one of those that wait on any host. */
static void move(struct fleet *fleet, struct host *host)
{
    struct host *owner = &fleet->hosts[random_below(&fleet->random, fleet->n_hosts)];
    struct job *job = &owner->jobs[random_below(&fleet->random, MAX_JOBS)];
    const char *where = random_percent(&fleet->random, 60) ? "first" : "last";
    if (!owner->is_there || job->id == 0 || !job->is_waiting) {
        return;
    }
    char key[SESSION_ID_SIZE + LEASE_ID_SIZE], id[LEASE_ID_SIZE];
    lease_id_format(id, job->id);
    snprintf(key, sizeof key, "%s/%s", owner->name, id);
    const char *argv[] = {"move", key, where, "", ""};
    trace(fleet, "%s: an operator: move %s %s", host->name, key, where);
    job->was_moved = true;
    session_admin(host->session, NULL, &fleet->figures[FIGURE_MOVED], 5, argv);
}

/* What the operator says is true as long as no job has had a place. */
static void found(struct fleet *fleet, struct host *host)
{
    static const char *const argv[] = {"found", ""};
    trace(fleet, "%s: an operator: found", host->name);
    session_admin(host->session, NULL, &fleet->figures[FIGURE_FOUNDED], 2, argv);
}

void operator_acts(struct fleet *fleet, struct host *host)
{
    bool may_undo = fleet->is_calm && fleet->now > fleet->calm_since + 3 * fleet->ttl;
    uint32_t number = may_undo ? fleet->n_undone++ : random_below(&fleet->random, N_CHANGED);
    struct act *act = &fleet->acts[number % N_CHANGED];
    if (!host_is_live(fleet, host) || act->is_asked) {
        return;
    }
    if (fleet->figures[FIGURE_GRANTS] == 0) {
        found(fleet, host);
    }
    for (int i = 0; i < 4; i++) {
        move(fleet, host);
    }
    if (!fleet->is_calm) {
        forget(fleet, host);
        uint32_t n_words = may_be_forgotten(fleet, act) ? ACT_FORGET + 1 : ACT_FORGET;
        uint32_t limit = random_below(&fleet->random, MAX_CHANGED + 1);
        limit += limit == limits_of_file[act - fleet->acts];
        ask(fleet, host, act, (enum act_word)random_below(&fleet->random, n_words), limit);
    } else if (may_undo) {
        check(fleet, act);
        ask(fleet, host, act, ACT_RESET, 0);
    }
    host_turn(fleet, host);
}

static void is_done(struct fleet *fleet, struct act *act)
{
    act->is_asked = false;
    act->answered_at = fleet->now;
    switch (act->word) {
    case ACT_PAUSE:
    case ACT_RESUME:
        act->is_paused = act->word == ACT_PAUSE;
        break;
    case ACT_LIMIT:
        act->limit = act->asked_limit;
        break;
    case ACT_FORGET: /* with its changes */
    case ACT_RESET:
        act->is_paused = false;
        act->limit = UNBOUNDED;
        act->is_known |= act->asked_at > act->unknown_since + UNKNOWN_FOR;
    }
    if (server_was_blind(fleet, 0)) { /* earlier changes may be newer than that */
        is_not_known(fleet, act);
    }
}

void operator_hears(struct fleet *fleet, struct host *host)
{
    struct session_result result;
    while (session_take_result(host->session, &result)) {
        uint64_t *figure = result.context == &fleet->figures[FIGURE_FOUNDED] ||
                result.context == &fleet->figures[FIGURE_MOVED]
            ? result.context
            : NULL;
        bool is_ok = result.outcome == OUTCOME_OK;
        struct act *act = figure ? NULL : result.context;
        trace(fleet, "%s: the operator hears outcome %d %s", host->name, (int)result.outcome,
            result.detail);
        if (figure) {
            *figure += is_ok;
        } else {
            fleet->figures[FIGURE_FORGOTTEN] += is_ok && (!act || act->word == ACT_FORGET);
        }
        if (act && is_ok) {
            is_done(fleet, act);
        } else if (act) {
            is_not_known(fleet, act);
        }
        text_deinit(&result.rows);
    }
}

void operator_is_cut_off(struct fleet *fleet, const struct host *host)
{
    for (uint32_t i = 0; i < N_CHANGED; i++) {
        struct act *act = &fleet->acts[i];
        if (act->is_asked && act->host == host->index) {
            is_not_known(fleet, act);
        }
    }
}

/* Only this host may have heard the last change: while the server is away, no other one does. */
void operator_loses(struct fleet *fleet, const struct host *host)
{
    nanoseconds heard_until = server_is_there(fleet) ? fleet->now : fleet->server.died_at;
    for (uint32_t i = 0; i < N_CHANGED; i++) {
        struct act *act = &fleet->acts[i];
        if (act->host == host->index && heard_until < act->answered_at + fleet->ttl) {
            is_not_known(fleet, act);
        }
    }
}

void operators_begin(struct fleet *fleet)
{
    for (uint32_t i = 0; i < N_CHANGED; i++) {
        fleet->acts[i] = (struct act){.is_known = true, .limit = UNBOUNDED};
    }
}
