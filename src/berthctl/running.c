#include "berthctl/running.h"

#include "base/memory.h"
#include "view/printable.h"
#include "view/when.h"

#include <stdlib.h>
#include <string.h>

static bool add_if_in(
    const struct status_leases *leases, const char *lease, const char *how, struct text *out)
{
    bool is_there = status_lease_find(leases, lease);
    if (is_there) {
        text_add_format(out, "%s %s: berthctl why %s\n", lease, how, lease);
    }
    return is_there;
}

bool running_add_lease(const struct status *status, const char *lease, struct text *out)
{
    bool is_there = false;
    for (size_t i = 0; i < status->n_resources && !is_there; i++) {
        const struct status_resource *resource = &status->resources[i];
        is_there = add_if_in(&resource->holders, lease, "is still held", out) ||
            add_if_in(&resource->waiters, lease, "still waits", out);
    }
    return is_there;
}

/* ---- of a user, or since before an instant ---- */

/* Leases, of which one on several resources is there several times. */
struct found {
    const struct status_lease **list;
    size_t n;
};

static bool is_meant(const struct status *status, const struct status_lease *lease,
    const struct running_choice *choice)
{
    bool is_of_another_host = strchr(lease->id, '/'); /* SESSION/LEASE */
    bool was_there = !choice->before.is_given ||
        choice->now < choice->before.number + status_since(status, &lease->since);
    return !is_of_another_host && was_there &&
        (!choice->uid.is_given || lease->uid == choice->uid.number);
}

static void find(struct found *found, const struct status *status,
    const struct status_leases *leases, const struct running_choice *choice)
{
    found->list = memory_resize(found->list, found->n + leases->n + 1, sizeof found->list[0]);
    for (size_t i = 0; i < leases->n; i++) {
        if (is_meant(status, &leases->list[i], choice)) {
            found->list[found->n++] = &leases->list[i];
        }
    }
}

static int by_id(const void *left, const void *right)
{
    const struct status_lease *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

static size_t count_found(const struct found *found)
{
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        n += i == 0 || by_id(&found->list[i - 1], &found->list[i]) != 0;
    }
    return n;
}

/* The command that shows them. */
static void add_command(
    const struct status_lease *lease, const struct running_choice *choice, struct text *out)
{
    text_add(out, ": berthctl status");
    for (size_t i = 0; i < choice->n_names; i++) {
        text_add(out, " ");
        text_add_escaped(out, choice->names[i]);
    }
    if (choice->uid.is_given) {
        text_add(out, " --user ");
        if (lease->user) {
            text_add_escaped(out, lease->user);
        } else {
            text_add_number(out, lease->uid);
        }
    }
    text_add(out, "\n");
}

void running_add_some(
    const struct status *status, const struct running_choice *choice, struct text *out)
{
    struct found found = {0};
    for (size_t i = 0; i < status->n_resources; i++) {
        find(&found, status, &status->resources[i].holders, choice);
        find(&found, status, &status->resources[i].waiters, choice);
    }
    if (found.n > 0) {
        qsort(found.list, found.n, sizeof(const struct status_lease *), by_id);
        text_add_number(out, count_found(&found));
        text_add(out, " still held or waiting");
        if (choice->before.is_given) {
            text_add(out, " since before ");
            text_add_when(out, (int64_t)choice->before.number, (int64_t)choice->now);
        }
        add_command(found.list[0], choice, out);
    }
    free(found.list);
}

/* ---- the fleet ---- */

void running_add_fleet(const struct status *status, struct text *out)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        if (status->resources[i].database) {
            text_add_escaped(out, status->resources[i].name);
            text_add(out, " has fleet scope: each host keeps the history of its own jobs only\n");
            return;
        }
    }
}
