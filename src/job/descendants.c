#include "job/descendants.h"

#include "base/memory.h"
#include "base/words.h"
#include "job/process.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

struct candidate {
    struct descendant descendant;
    pid_t parent;
    bool is_alive, is_ours;
};

struct candidates {
    struct candidate *list; /* by pid */
    size_t n, size;
};

static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    pid_t left = x->descendant.process.pid, right = y->descendant.process.pid;
    return (left > right) - (left < right);
}

static void add(struct candidates *all, pid_t pid)
{
    struct process_stat stat;
    if (!process_look(pid, &stat, NULL)) {
        return;
    }
    if (all->n == all->size) {
        all->size = all->size > 0 ? 2 * all->size : 256;
        all->list = memory_resize(all->list, all->size, sizeof *all->list);
    }
    all->list[all->n++] = (struct candidate){
        .descendant = {.process = {.pid = pid, .started = stat.started}},
        .parent = stat.parent,
        .is_alive = process_stat_is_alive(&stat),
    };
}

static void look_at_all(struct candidates *all)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        uint64_t pid;
        if (number_parse(entry->d_name, INT32_MAX, &pid)) {
            add(all, (pid_t)pid);
        }
    }
    if (folder) {
        closedir(folder);
    }
    if (all->n > 0) {
        qsort(all->list, all->n, sizeof *all->list, compare);
    }
}

static struct candidate *find(const struct candidates *all, pid_t pid)
{
    const struct candidate key = {.descendant = {.process = {.pid = pid}}};
    return all->n == 0 ? NULL : bsearch(&key, all->list, all->n, sizeof key, compare);
}

static bool is_child(
    const struct candidates *all, const struct candidate *candidate, const struct process *ancestor,
    uint64_t since)
{
    if (candidate->descendant.process.pid == getpid()) {
        return false; /* started by a job, it would stop itself */
    }
    if (candidate->parent == ancestor->pid) {
        return candidate->descendant.process.started >= since;
    }
    const struct candidate *parent = find(all, candidate->parent);
    return parent && parent->is_ours;
}

/* Marks one generation each time. */
static void mark(struct candidates *all, const struct process *ancestor, uint64_t since)
{
    bool any;
    do {
        any = false;
        for (size_t i = 0; i < all->n; i++) {
            struct candidate *candidate = &all->list[i];
            if (!candidate->is_ours && is_child(all, candidate, ancestor, since)) {
                candidate->is_ours = any = true;
            }
        }
    } while (any);
}

size_t descendants_for_each(const struct process *ancestor, uint64_t since,
    void (*function)(const struct descendant *descendant, void *context), void *context)
{
    struct candidates all = {.list = NULL};
    size_t n = 0;
    look_at_all(&all);
    const struct candidate *top = find(&all, ancestor->pid);
    if (top && top->descendant.process.started == ancestor->started) {
        mark(&all, ancestor, since);
    }
    for (size_t i = 0; i < all.n; i++) {
        if (all.list[i].is_ours && all.list[i].is_alive) {
            function(&all.list[i].descendant, context);
            n++;
        }
    }
    free(all.list);
    return n;
}
