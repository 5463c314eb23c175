/* run.c - revoking leases that are named, or chosen by what status shows of them, waiting until
 * they have ended, and other commands of several requests. */
#include "berthctl/run.h"

#include "base/closest_match.h"
#include "base/memory.h"
#include "base/words.h"
#include "client/exit_status.h"
#include "top/top.h"
#include "view/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_AGAIN_SECONDS = 1, /* where only a database knows, which tells nobody */
};

static const char idle[] = "* idle";

/* ---- status ---- */

/* False after a message. */
static bool ask_status(struct call *call, char *const names[], size_t n, struct status *status)
{
    call_set(call, COMMAND_status, names, n);
    return call_take(call, status_take, status);
}

/* A fleet's figures are only this host's while its database does not answer. */
static bool is_busy(const struct status_resource *resource)
{
    return !resource->is_template && (resource->in_use > 0 || resource->database_state);
}

/* False after a message: `until` comes first. */
static bool pause_before_looking(struct call *call, nanoseconds until)
{
    nanoseconds now = clock_now();
    if (until <= now) {
        call_timed_out(call);
        return false;
    }
    poll_until(NULL, 0, earlier(until, now + LOOK_AGAIN_SECONDS * NANOSECONDS_PER_SECOND));
    return true;
}

/* ---- until nothing is held ---- */

static void say_what_is_awaited(const struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        if (resource->database_state) {
            message("waiting for the database of %s to answer", resource->name);
        } else if (is_busy(resource)) {
            message("waiting for %llu unit%s of %s to be given back",
                (unsigned long long)resource->in_use, resource->in_use == 1 ? "" : "s",
                resource->name);
        }
    }
}

/* Waits for some of what is busy; the caller looks again. False after a message. */
static bool wait_for_some(struct call *call, const struct status *status, nanoseconds until)
{
    char *names[MAX_NAMES];
    size_t n = 0;
    for (size_t i = 0; i < status->n_resources && n < MAX_NAMES; i++) {
        const struct status_resource *resource = &status->resources[i];
        if (is_busy(resource) && !resource->database) {
            names[n++] = (char *)resource->name;
        }
    }
    if (n == 0) {
        return pause_before_looking(call, until);
    }
    call_set(call, COMMAND_wait, names, n);
    return call_answer(call) && call_wait_event(call, idle, until);
}

static nanoseconds deadline_of(const struct line *line)
{
    return line->options & OPTION_TIMEOUT ? clock_now() + line->timeout : NEVER;
}

/* ---- until leases have ended ---- */

/* Of another host: only its database knows, and is asked now and then. While that does not answer,
 * the lease may be there. */
static bool wait_gone_elsewhere(struct call *call, const char *id, nanoseconds until)
{
    bool is_there;
    do {
        struct text why = TEXT_INIT;
        call_set(call, COMMAND_why, NULL, 0);
        call->request.lease = id;
        call->code = CODE_NONE;
        call->is_silent = true;
        is_there = call_take(call, why_take, &why) || call->code == CODE_DOWN;
        call->is_silent = false;
        call->exit_status =
            is_there || call->code == CODE_UNKNOWN ? EXIT_SUCCESS : call->exit_status;
        text_deinit(&why);
    } while (is_there && pause_before_looking(call, until));
    if (call->exit_status != EXIT_SUCCESS && call->code != CODE_NONE && !is_there) {
        message("%s", call->refusal.bytes); /* it is no lease */
    }
    return call->exit_status == EXIT_SUCCESS;
}

static bool wait_gone_here(struct call *call, const char *id, nanoseconds until)
{
    call_set(call, COMMAND_wait, NULL, 0);
    call->request.lease = id;
    return call_answer(call) && call_wait_event(call, idle, until);
}

/* Returns when these leases have ended, or at `until`: the exit status. SESSION/LEASE is one of
 * another host. */
static int wait_gone(struct call *call, char *const leases[], size_t n, nanoseconds until)
{
    call->awaits_berthd = true;
    for (size_t i = 0; i < n && call->exit_status == 0; i++) {
        bool is_here = !strchr(leases[i], '/');
        do {
            (is_here ? wait_gone_here : wait_gone_elsewhere)(call, leases[i], until);
        } while (call->has_closed && call_again(call, until));
    }
    return call->exit_status;
}

/* ---- wait ---- */

int run_wait(struct call *call, const struct line *line)
{
    nanoseconds until = deadline_of(line);
    char *lease = (char *)line->past.lease;
    if (lease) {
        return wait_gone(call, &lease, 1, until);
    }
    const struct ctl_request asked = call->request;
    bool has_said = false, goes_on = true;
    while (goes_on || (call->has_closed && call_again(call, until))) {
        struct status status = {0};
        goes_on = ask_status(call, asked.arguments, asked.n_arguments, &status) &&
            status_first(&status, is_busy);
        call->awaits_berthd = true;
        if (goes_on && !has_said) {
            say_what_is_awaited(&status);
            has_said = true;
        }
        goes_on = goes_on && wait_for_some(call, &status, until);
        status_deinit(&status);
    }
    return call->exit_status;
}

/* ---- revoke ---- */

static bool is_chosen(const struct lease_filter *choice, const struct status_lease *lease)
{
    bool is_here = !strchr(lease->id, '/'); /* another host's processes have other numbers */
    return (choice->all && lease->is_held) ||
        (choice->holder && lease->holder && strcmp(choice->holder, lease->holder) == 0) ||
        (choice->pid != 0 && is_here && lease->pid == choice->pid);
}

struct revoking {
    struct call *call;
    struct ctl_request request;
    char **ids; /* of those that were revoked; they point into the status */
    size_t n;
    size_t n_chosen;
    int exit_status; /* the first failure's */
};

static void print_revoked(const struct status_resource *resource, const struct status_lease *lease)
{
    struct text out = TEXT_INIT;
    text_add_safe(&out, "%s: revoked %s (pid %llu", resource->name, lease->id,
        (unsigned long long)lease->pid);
    const char *const details[] = {lease->host, user_name(lease->uid), lease->shown[SHOWN_program]};
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        if (details[i]) {
            text_add(&out, i == 0 ? " on " : ", ");
            text_add_escaped(&out, details[i]);
        }
    }
    text_add(&out, ")");
    puts(out.bytes);
    text_deinit(&out);
}

static void revoke_one(struct revoking *revoking, const struct status_resource *resource,
    const struct status_lease *lease)
{
    struct call *call = revoking->call;
    char *id = (char *)lease->id;
    call->request = revoking->request;
    call->request.arguments = &id;
    call->request.n_arguments = 1;
    call->exit_status = 0;
    if (call_answer(call)) {
        print_revoked(resource, lease);
        revoking->ids[revoking->n++] = id;
    } else if (call->code != call->unsaid && revoking->exit_status == 0) {
        revoking->exit_status = call->exit_status;
    }
}

static void revoke_of(struct revoking *revoking, const struct lease_filter *choice,
    const struct status_resource *resource)
{
    const struct status_leases *leases = &resource->leases;
    revoking->ids = memory_resize(
        revoking->ids, revoking->n + leases->n + 1, sizeof *revoking->ids);
    for (size_t i = 0; i < leases->n && revoking->exit_status != STATUS_DOWN; i++) {
        if (is_chosen(choice, &leases->list[i])) {
            revoking->n_chosen++;
            revoke_one(revoking, resource, &leases->list[i]);
        }
    }
}

/* With `--all`, nothing held is a success; a holder or pid that nobody has is an error. */
static int found_none(
    const struct lease_filter *choice, const char *name, const struct status *status)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(choice->holder ? choice->holder : "");
    const struct status_lease **leases;
    size_t n = status_each_lease(status, true, true, &leases);
    for (size_t i = 0; i < n; i++) {
        if (leases[i]->holder) {
            closest_match_try(&nearest, leases[i]->holder);
        }
    }
    free(leases);
    if (choice->all) {
        struct text complaint = TEXT_INIT;
        text_add_safe(&complaint, "%s: nothing is held\n", name);
        return show_print(&complaint);
    }
    bool is_near = choice->holder && nearest.best;
    message("revoke: %s: no such lease, or you may not see whose it is%s%s%s", name,
        is_near ? "; did you mean " : "", is_near ? nearest.best : "", is_near ? "?" : "");
    return STATUS_LOST;
}

/* Adds "; did you mean LEASE?" if status shows a lease whose word is near enough. Adds nothing if
 * the word may name a lease that has ended: the word of the next lease is always near. */
static void suggest(struct call *call, const char *word, struct text *out)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    struct status status = {0};
    const struct status_lease **leases = NULL;
    uint64_t id, newest = 0;
    bool is_known = ask_status(call, NULL, 0, &status);
    size_t n = is_known ? status_each_lease(&status, true, true, &leases) : 0;
    for (size_t i = 0; i < n; i++) {
        closest_match_try(&nearest, leases[i]->id);
        newest = lease_id_parse(leases[i]->id, &id) && id > newest ? id : newest;
    }
    free(leases);
    bool may_have_been = strchr(word, '/') || (lease_id_parse(word, &id) && id <= newest);
    if (nearest.best && !may_have_been) {
        text_add_format(out, "; did you mean %s?", nearest.best);
    }
    status_deinit(&status);
}

/* What the call asks for is done to each of these: `revoke` of the chosen leases of the resource
 * that its first argument names. With `wait`, returns when they have ended, or (after a message) at
 * `until`. Returns the exit status. */
static int revoke_chosen(
    struct call *call, const struct lease_filter *choice, bool wait, nanoseconds until)
{
    struct revoking revoking = {.call = call, .request = call->request};
    struct status status = {0};
    char *const *name = revoking.request.arguments;
    if (!ask_status(call, name, 1, &status)) {
        status_deinit(&status);
        return call->exit_status;
    }
    call->is_one_of_several = true;
    call->unsaid = CODE_LOST; /* it has ended meanwhile */
    for (size_t i = 0; i < status.n_resources; i++) {
        revoke_of(&revoking, choice, &status.resources[i]);
    }
    call->exit_status = revoking.exit_status;
    if (revoking.n_chosen == 0) {
        call->exit_status = found_none(choice, *name, &status);
    } else if (wait && call->exit_status == 0) {
        fflush(stdout);
        call->exit_status = wait_gone(call, revoking.ids, revoking.n, until);
    }
    free(revoking.ids);
    status_deinit(&status);
    return fflush(stdout) == 0 ? call->exit_status : EXIT_FAILURE;
}

/* ---- one request after another ---- */

/* False after a message. Asks what has ended on them just now: for that berthd looks the names up,
 * and asks no database. */
static bool are_resources(struct call *call, char *const names[], size_t n)
{
    bool are = true;
    for (size_t i = 0; i < n && are; i += MAX_NAMES) {
        struct past past = {0};
        call_set(call, COMMAND_history, names + i, n - i < MAX_NAMES ? n - i : MAX_NAMES);
        call->request.since.is_given = true; /* 0 */
        are = call_take(call, past_take, &past);
        past_deinit(&past);
    }
    return are;
}

int run_each(struct call *call, size_t n, show_function *show)
{
    const struct ctl_request all = call->request;
    int exit_status = 0;
    bool are_names = call->right == RIGHT_RESOURCE_ADMIN;
    if (n > 1 && are_names && !are_resources(call, all.arguments, n)) {
        return call->exit_status;
    }
    call->request = all;
    call->is_one_of_several = n > 1 && call->right == RIGHT_OWNER;
    for (size_t i = 0; i < n; i++) {
        char *words[] = {all.arguments[i], all.n_arguments > n ? all.arguments[n] : NULL};
        call->request.arguments = words;
        call->request.n_arguments = 1 + all.n_arguments - n;
        call->exit_status = 0;
        int now = show_answer(call, show);
        exit_status = exit_status == 0 ? now : exit_status;
        if (now == STATUS_DOWN) {
            break;
        }
    }
    call->request = all;
    return exit_status;
}

int run_top(struct call *call, const struct line *line)
{
    return top_run(&call->endpoint, &line->shown);
}

/* A resource in place of a lease: says what to add. */
static bool is_resource(struct call *call, char *word)
{
    call_set(call, COMMAND_status, &word, 1);
    bool is_known = call_answer(call);
    if (is_known) {
        message("revoke: %s is a resource: add --all, --holder ID or --pid PID", word);
    }
    return is_known;
}

/* Of a word that was to be a lease. */
static void explain_refusal(struct call *call, char *word, int *exit_statusp)
{
    struct text refusal = call->refusal;
    bool is_no_lease = call->code == CODE_LOST || call->code == CODE_BAD_VALUE;
    call->refusal = (struct text)TEXT_INIT;
    if (is_no_lease && is_resource(call, word)) {
        *exit_statusp = STATUS_USAGE;
    } else {
        if (is_no_lease) {
            suggest(call, word, &refusal);
        }
        message("%s", refusal.bytes);
    }
    text_deinit(&refusal);
}

int run_revoke(struct call *call, const struct line *line)
{
    bool wait = line->options & OPTION_WAIT;
    nanoseconds until = deadline_of(line);
    const struct ctl_request all = call->request;
    if (line->options & OPTIONS_OF_CHOICE) {
        return revoke_chosen(call, &line->choice, wait, until);
    }
    call->is_silent = all.n_arguments == 1; /* there may be more to say */
    int exit_status = run_each(call, all.n_arguments, NULL);
    if (call->is_silent && call->refusal.length > 0) {
        explain_refusal(call, all.arguments[0], &exit_status);
    }
    call->is_silent = false;
    return exit_status != 0 || !wait
        ? exit_status
        : wait_gone(call, all.arguments, all.n_arguments, until);
}

int run_finish_upgrade(struct call *call, const struct line *line)
{
    (void)line;
    if (call->request.n_arguments > 0) {
        call->request.n_arguments = 0;
        call->request.database = call->request.arguments[0];
    }
    return show_answer(call, show_upgraded);
}

/* NAME=N is NAME:N on the wire, as = would make it a key. */
int run_why(struct call *call, const struct line *line)
{
    struct text out = TEXT_INIT;
    (void)line;
    for (size_t i = 0; i < call->request.n_arguments; i++) {
        char *equals = strchr(call->request.arguments[i], '=');
        if (equals) {
            *equals = ':';
        }
    }
    if (call_take(call, why_take, &out)) {
        return show_print(&out);
    }
    text_deinit(&out);
    return call->exit_status;
}
