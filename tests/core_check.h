/* core_check.h - compares the derived figures of a core with the sets they are derived from. */
#pragma once

struct core;

/* Aborts where they disagree; O(everything). */
void core_check(struct core *core);
