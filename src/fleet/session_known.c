/* session_known.c - definitions and changes by name, and which of them the database may lack. */
#include "fleet/session_internal.h"

#include <stdlib.h>
#include <string.h>

void session_known_init(struct session_known_set *set)
{
    TAILQ_INIT(&set->all);
    TAILQ_INIT(&set->unsent);
}

void session_known_deinit(struct session_known_set *set)
{
    while (!TAILQ_EMPTY(&set->all)) {
        session_known_free(set, TAILQ_FIRST(&set->all));
    }
    table_deinit(&set->by_name);
}

struct session_known *session_known_find(const struct session_known_set *set, const char *name)
{
    struct table_node *node = table_find(&set->by_name, hash_string(name, 0));
    while (node && strcmp(container_of(node, struct session_known, by_name)->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct session_known, by_name) : NULL;
}

struct session_known *session_known_add(struct session_known_set *set, const char *name)
{
    struct session_known *known = memory_new(sizeof *known);
    known->name = memory_string(name);
    table_insert(&set->by_name, &known->by_name, hash_string(name, 0));
    TAILQ_INSERT_TAIL(&set->all, known, link);
    return known;
}

void session_known_free(struct session_known_set *set, struct session_known *known)
{
    session_known_set_unsent(set, known, false);
    TAILQ_REMOVE(&set->all, known, link);
    table_remove(&set->by_name, &known->by_name);
    free(known->name);
    free(known->json);
    free(known);
}

void session_known_set_unsent(
    struct session_known_set *set, struct session_known *known, bool is_unsent)
{
    if (is_unsent && !known->is_unsent) {
        TAILQ_INSERT_TAIL(&set->unsent, known, unsent_link);
    } else if (!is_unsent && known->is_unsent) {
        TAILQ_REMOVE(&set->unsent, known, unsent_link);
    }
    known->is_unsent = is_unsent;
    known->is_missing = known->is_missing && is_unsent;
    known->sent_by = is_unsent ? 0 : known->sent_by;
}

void session_known_mark_unsent(struct session_known_set *set)
{
    struct session_known *known;
    TAILQ_FOREACH (known, &set->all, link) {
        session_known_set_unsent(set, known, false);
        session_known_set_unsent(set, known, true);
    }
}

void session_known_send(struct session_known_set *set, struct inflight_call *call, int most)
{
    struct session_known *known;
    for (int i = 0; i < most && (known = TAILQ_FIRST(&set->unsent)); i++) {
        arguments_add(call->arguments, known->name);
        arguments_add_number(call->arguments, known->version);
        arguments_add(call->arguments, known->json);
        session_known_set_unsent(set, known, false);
        known->sent_by = call->tag;
    }
}
