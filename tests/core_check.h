/* core_check.h - compares the derived figures of a core with the sets they are derived from. */
#ifndef BERTH_TESTS_CORE_CHECK_H
#define BERTH_TESTS_CORE_CHECK_H

struct core;

/* Aborts where they disagree; O(everything). */
void core_check(struct core *core);

#endif
