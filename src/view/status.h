/* status.h - parses the answer to `status`, line by line, into structs. Pure.
 *
 * Doc: doc/protocol.md, status. Unknown keys and lines are ignored; missing known keys are 0 or
 * NULL. Strings are decoded, but not escaped. */
#pragma once

#include "wire/status_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATUS_INIT                                                                                \
    {                                                                                              \
        .begun = false                                                                             \
    }

void status_deinit(struct status *status);
void status_resource_deinit(struct status_resource *resource);
void status_lease_deinit(struct status_lease *lease);
void status_database_deinit(struct status_database *database);

enum answer_result {
    ANSWER_MORE,
    ANSWER_END,
    ANSWER_MALFORMED, /* no daemon sends that */
};

/* Takes one line after another, the `ok` line first. Copies what it keeps. */
enum answer_result status_take(struct status *status, const char *line);

/* Each takes one line of its kind into a record that is empty. False: malformed; the record is to
 * be freed all the same. A template's line makes a resource, too. */
bool status_resource_take(struct status_resource *resource, const char *line);
bool status_lease_take(struct status_lease *lease, const char *line);
bool status_database_take(struct status_database *database, const char *line);
/* Takes the keys of the `ok` line, in place. */
bool status_figures_take(struct status *status, char *const words[], size_t n);

/* Milliseconds from an instant of the answer until it was given, or the other way round; 0 where
 * that is negative. */
uint64_t status_since(const struct status *status, const struct instant *instant);
uint64_t status_until(const struct status *status, const struct instant *instant);

/* By name; NULL: the answer has none. */
const struct status_resource *status_resource_named(const struct status *status, const char *name);
const struct status_database *status_database_named(const struct status *status, const char *name);
/* The lease with this id, or NULL. */
const struct status_lease *status_lease_find(const struct status_leases *leases, const char *id);
/* Lists those that hold, or wait, or do either, by id; one on several resources once. Returns how
 * many; the caller frees the list. */
size_t status_each_lease(const struct status *status, bool held, bool waiting,
    const struct status_lease ***listp);
/* Its database is in a grace, and grants nothing new yet. */
bool status_is_in_grace(const struct status *status, const struct status_resource *resource);
/* How many units this host could be granted now: of those free neither what is kept for waiters,
 * nor any in a drain or a grace. */
uint64_t status_grantable(const struct status *status, const struct status_resource *resource);
bool status_is_pool(const struct status_resource *resource);
bool words_contain(const struct words *words, const char *word);
/* Of a pool. */
bool status_item_is_held(const struct status_resource *resource, const char *item);
/* Why an item or slot is reserved, or NULL. */
const char *status_reserve_reason(const struct status_resource *resource, const char *item);
/* Parses "3-7" or "3". False if malformed, or beyond any resource. */
bool slots_parse(const char *word, uint64_t *firstp, uint64_t *lastp);
