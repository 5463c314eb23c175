/* status.h - parses the answer to `status`, line by line, into structs. Pure.
 *
 * Doc: doc/protocol.md, status. Unknown keys and lines are ignored; missing known keys are 0 or
 * NULL. Strings are decoded, but not escaped. */
#pragma once

#include "client/answer.h"
#include "wire/status_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void status_deinit(struct status *status);

answer_taker status_take; /* of a struct status */

/* What the lines of one kind make: records, which begin with their names. */
struct status_kind {
    size_t size; /* of a record; 0: the kind makes none */
    size_t line; /* its member: the copy of the line, into which all its strings point */
    /* Whether a record whose keys are taken is right; takes what has no row in status_keys.def. */
    bool (*finish)(void *record, char *const words[], size_t n);
    void (*deinit)(void *record); /* of what has no row there; or NULL */
    size_t list, n; /* members of the owner: the array, and how many it has */
    bool is_lease; /* the owner is the resource whose line came last; else the status */
};

extern const struct status_kind status_kinds[N_STATUS_LINES];

/* Takes a line of this kind into a record that is empty. False: malformed; the record is to be
 * freed all the same. */
bool status_record_take(enum status_line kind, void *record, const char *line);
void status_record_deinit(enum status_line kind, void *record);

/* Milliseconds from an instant of the answer until it was given, or the other way round; 0 where
 * that is negative. */
uint64_t status_since(const struct status *status, const struct instant *instant);
uint64_t status_until(const struct status *status, const struct instant *instant);

/* The record of this kind, but of leases, with this name; NULL: the answer has none. */
const void *status_record_named(
    const struct status *status, enum status_line kind, const char *name);
/* The lease with this id, or NULL. */
const struct status_lease *status_lease_find(
    const struct status_resource *resource, const char *id);
/* Lists those that hold, or wait, or do either, by id; one on several resources once. Returns how
 * many; the caller frees the list. */
size_t status_each_lease(const struct status *status, bool held, bool waiting,
    const struct status_lease ***listp);
/* Sorts the list by id, and has a lease on several resources once. Returns how many are left. */
size_t status_leases_once(const struct status_lease *list[], size_t n);
/* The first resource, or else template, that is it; or NULL. */
const struct status_resource *status_first(
    const struct status *status, bool (*is_it)(const struct status_resource *resource));
/* Its database is in a grace, and grants nothing new yet. */
bool status_is_in_grace(const struct status *status, const struct status_resource *resource);
/* Its rate lets nothing go at present. */
bool status_rate_holds(const struct status *status, const struct status_resource *resource);
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
