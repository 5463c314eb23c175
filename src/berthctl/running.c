#include "berthctl/running.h"

#include "base/memory.h"
#include "berthctl/printable.h"

#include <stdlib.h>
#include <string.h>

static bool add_if_in(
    const struct status_leases *leases, const char *lease, const char *how, struct text *out)
{
    for (size_t i = 0; i < leases->n; i++) {
        if (strcmp(leases->list[i].id, lease) == 0) {
            text_add_format(
                out, "%s %s: berthctl why %s\n", leases->list[i].id, how, leases->list[i].id);
            return true;
        }
    }
    return false;
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

/* ---- a user ---- */

/* Leases, of which one on several resources is there several times. */
struct found {
    const struct status_lease **list;
    size_t n;
};

static void find(struct found *found, const struct status_leases *leases, uint64_t uid)
{
    found->list = memory_resized(found->list, found->n + leases->n + 1, sizeof found->list[0]);
    for (size_t i = 0; i < leases->n; i++) {
        /* SESSION/LEASE is one of another host. */
        if (leases->list[i].uid == uid && !strchr(leases->list[i].id, '/')) {
            found->list[found->n++] = &leases->list[i];
        }
    }
}

static int by_id(const void *left, const void *right)
{
    const struct status_lease *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

void running_add_user(const struct status *status, uint64_t uid, struct text *out)
{
    struct found found = {0};
    unsigned long long n = 0;
    for (size_t i = 0; i < status->n_resources; i++) {
        find(&found, &status->resources[i].holders, uid);
        find(&found, &status->resources[i].waiters, uid);
    }
    if (found.n > 0) {
        qsort(found.list, found.n, sizeof(const struct status_lease *), by_id);
        for (size_t i = 0; i < found.n; i++) {
            n += i == 0 || by_id(&found.list[i - 1], &found.list[i]) != 0;
        }
        const char *name = found.list[0]->user;
        text_add_format(out, "%llu still held or waiting: berthctl status --user ", n);
        if (name) {
            text_add_escaped(out, name);
        } else {
            text_add_number(out, uid);
        }
        text_add(out, "\n");
    }
    free(found.list);
}

/* ---- the fleet ---- */

void running_add_fleet(const struct status *status, struct text *out)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        if (status->resources[i].database) {
            text_add_escaped(out, status->resources[i].name);
            text_add(out, " is of fleet scope: each host remembers its own jobs alone\n");
            return;
        }
    }
}
