/* core_remember.h - what is to be written down about a lease, made from the lease itself: for tests
 * that end one core and begin another. */
#pragma once

#include "core/core.h"

/* With copies of all strings. */
struct saved_lease *remember(const struct lease *lease);
/* Returns NULL. */
struct saved_lease *forget(struct saved_lease *saved);
/* The name of the first thing that differs; NULL if nothing does. */
const char *saved_lease_difference(const struct saved_lease *a, const struct saved_lease *b);
