#include "berth/tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int compare_pids(const void *a, const void *b)
{
    pid_t first = *(const pid_t *)a, second = *(const pid_t *)b;
    return (first > second) - (first < second);
}

static bool list_contains(const struct pid_list *list, pid_t pid)
{
    return list->n > 0 && bsearch(&pid, list->pids, list->n, sizeof pid, compare_pids);
}

/* Without memory a process is left out, and signalled once there is some. */
static void list_append(struct pid_list *list, pid_t pid)
{
    if (list->n == list->room) {
        size_t room = list->room * 2 + 16;
        pid_t *pids = realloc(list->pids, room * sizeof *pids);
        if (!pids) {
            return;
        }
        list->pids = pids;
        list->room = room;
    }
    list->pids[list->n++] = pid;
}

/* The children at present. Some may be missing if others are born or end meanwhile: repeat the call
 * to get all. */
static void list_fill_with_children(struct pid_list *list)
{
    char path[64];
    long pid;
    list->n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *file = fopen(path, "re");
    if (!file) {
        return;
    }
    while (fscanf(file, "%ld", &pid) == 1) {
        list_append(list, (pid_t)pid);
    }
    fclose(file);
    if (list->n > 0) {
        qsort(list->pids, list->n, sizeof *list->pids, compare_pids);
    }
}

bool tree_init(struct tree *tree)
{
    *tree = (struct tree){0};
    list_fill_with_children(&tree->strangers);
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

static bool is_apart(const struct tree *tree, pid_t pid, pid_t group)
{
    return !list_contains(&tree->strangers, pid) && getpgid(pid) != group;
}

void tree_signal(const struct tree *tree, pid_t group, int signal)
{
    struct pid_list now = {0};
    list_fill_with_children(&now);
    for (size_t i = 0; i < now.n; i++) {
        if (is_apart(tree, now.pids[i], group)) {
            kill(now.pids[i], signal);
        }
    }
    free(now.pids);
}

void tree_stop(struct tree *tree, pid_t group, int signal, bool only_new)
{
    struct pid_list now = {0};
    list_fill_with_children(&now);
    for (size_t i = 0; i < now.n; i++) {
        bool was_signalled = only_new && list_contains(&tree->signalled, now.pids[i]);
        if (!was_signalled && is_apart(tree, now.pids[i], group)) {
            kill(now.pids[i], signal);
            kill(now.pids[i], SIGCONT);
        }
    }
    free(tree->signalled.pids);
    tree->signalled = now;
}

bool tree_has_members(const struct tree *tree)
{
    struct pid_list now = {0};
    if (tree->strangers.n == 0) {
        return true;
    }
    list_fill_with_children(&now);
    size_t i = 0;
    while (i < now.n && list_contains(&tree->strangers, now.pids[i])) {
        i++;
    }
    bool has_members = i < now.n;
    free(now.pids);
    return has_members;
}
