#include "setup/definition_diff.h"

#include "base/memory.h"
#include "conf/conf.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reload of a file with only new resources need not fill the log. */
enum { LINES_MAX = 8 };

/* ---- the list ---- */

static void add(struct definition_diff *diff, const char *name)
{
    diff->names = memory_resize(diff->names, diff->n + 1, sizeof *diff->names);
    diff->names[diff->n++] = name;
}

void definition_diff_compare(struct definition_diff *diff, struct core *core,
    const struct definition definitions[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct definition *now = core_find_definition(core, definitions[i].name);
        if (!now || !conf_same_definition(now, &definitions[i])) {
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

/* ---- logging ---- */

/* Logs as many as one line may be about; returns how many. */
static size_t say_some(const char *const names[], size_t n)
{
    struct log_subject subject = {.event = "reload"};
    size_t length = 0, i = 0;
    for (; i < n && i < MAX_RESOURCES_PER_LEASE; i++) {
        length += (size_t)snprintf(subject.resources + length, sizeof subject.resources - length,
            "%s%s", i > 0 ? " " : "", names[i]);
    }
    log_message_on(LOG_LEVEL_INFO, &subject, "reload: changed: %s", subject.resources);
    return i;
}

void definition_diff_log(const struct definition_diff *diff)
{
    size_t said = 0;
    for (int line = 0; line < LINES_MAX && said < diff->n; line++) {
        said += say_some(diff->names + said, diff->n - said);
    }
    if (said < diff->n) {
        const struct log_subject subject = {.event = "reload"};
        log_message_on(
            LOG_LEVEL_INFO, &subject, "reload: %zu more resources have changed", diff->n - said);
    }
}
