/* core_check.h - compares the derived figures of a core with the sets they are derived from. */
#pragma once

#include <stdint.h>

struct core;

/* Aborts where they disagree; O(everything). */
void core_check(struct core *core);
/* The last number that a request or a move has had: of a refused request nobody is told. */
uint64_t core_last_number(const struct core *core);
