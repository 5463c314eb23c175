#include "daemon/definition_diff.h"

#include "base/memory.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who reloads a file of which everything is new need not have it all in the log. */
enum { LINES_MOST = 8 };

/* ---- the same? ---- */

#if defined(__x86_64__)
_Static_assert(sizeof(struct definition) == 208, "whatever is added is compared below");
#endif

static bool same_ids(const struct id_set *a, const struct id_set *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0);
}

static bool same_rights(const struct rights *a, const struct rights *b)
{
    return same_ids(&a->allow_users, &b->allow_users) &&
        same_ids(&a->allow_groups, &b->allow_groups) && same_ids(&a->deny_users, &b->deny_users) &&
        same_ids(&a->deny_groups, &b->deny_groups) && same_ids(&a->admin_users, &b->admin_users) &&
        same_ids(&a->admin_groups, &b->admin_groups);
}

static bool same_items(const struct definition *a, const struct definition *b)
{
    if (a->n_items != b->n_items) {
        return false;
    }
    size_t i = 0;
    while (i < a->n_items && strcmp(a->items[i], b->items[i]) == 0) {
        i++;
    }
    return i == a->n_items;
}

static bool same_times(const struct definition *a, const struct definition *b)
{
    return a->cooldown == b->cooldown && a->max_hold == b->max_hold &&
        a->kill_after == b->kill_after && a->keep == b->keep;
}

static bool same_bounds(const struct definition *a, const struct definition *b)
{
    return a->limit == b->limit && a->max_waiters == b->max_waiters &&
        a->max_units_per_user == b->max_units_per_user && a->max_overtakes == b->max_overtakes &&
        a->max_instances == b->max_instances && a->max_priority == b->max_priority;
}

static bool same(const struct definition *a, const struct definition *b)
{
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->database == b->database &&
        a->order == b->order && a->selection == b->selection && a->on_lost == b->on_lost &&
        a->identity_shared == b->identity_shared &&
        a->shows_to_owner_only == b->shows_to_owner_only && same_bounds(a, b) && same_times(a, b) &&
        same_items(a, b) && same_rights(&a->rights, &b->rights);
}

/* ---- the list ---- */

static void add(struct definition_diff *diff, const char *name)
{
    diff->names = memory_resize(diff->names, diff->n + 1, sizeof *diff->names);
    diff->names[diff->n++] = name;
}

void definition_diff_compare(
    struct definition_diff *diff, struct core *core, const struct definition definitions[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct definition *now = core_find_definition(core, definitions[i].name);
        if (!now || !same(now, &definitions[i])) {
            add(diff, definitions[i].name);
        }
    }
}

void definition_diff_add_gone(
    struct definition_diff *diff, struct core *core, const struct definition before[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct definition *now = core_find_definition(core, before[i].name);
        if (!now || strcmp(now->name, before[i].name) != 0) {
            add(diff, before[i].name);
        }
    }
}

void definition_diff_deinit(struct definition_diff *diff)
{
    free(diff->names);
    *diff = (struct definition_diff)DEFINITION_DIFF_INIT;
}

/* ---- saying it ---- */

/* As many as one line may be about; how many. */
static size_t say_some(const char *const names[], size_t n)
{
    struct log_about about = {.event = "reload"};
    size_t length = 0, i = 0;
    for (; i < n && i < MAX_RESOURCES_PER_LEASE; i++) {
        length += (size_t)snprintf(about.resources + length, sizeof about.resources - length,
            "%s%s", i > 0 ? " " : "", names[i]);
    }
    log_about(LOG_LEVEL_INFO, &about, "reload: changed: %s", about.resources);
    return i;
}

void definition_diff_log(const struct definition_diff *diff)
{
    size_t said = 0;
    for (int line = 0; line < LINES_MOST && said < diff->n; line++) {
        said += say_some(diff->names + said, diff->n - said);
    }
    if (said < diff->n) {
        const struct log_about about = {.event = "reload"};
        log_about(LOG_LEVEL_INFO, &about, "reload: %zu more are changed", diff->n - said);
    }
}
