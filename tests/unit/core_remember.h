/* core_remember.h - what is to be written down about a lease, made from the lease itself: for tests
 * that end one core and begin another. */
#ifndef BERTH_TESTS_CORE_REMEMBER_H
#define BERTH_TESTS_CORE_REMEMBER_H

#include "core/core.h"

/* With copies of all strings. */
struct remembered *remember(const struct lease *lease);
/* Returns NULL. */
struct remembered *forget(struct remembered *remembered);
/* The name of the first thing that differs; NULL if nothing does. */
const char *remembered_difference(const struct remembered *a, const struct remembered *b);

#endif
