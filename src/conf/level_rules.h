/* level_rules.h - checks the levels (`also`) of all definitions. */
#pragma once

struct loading;

/* Call once all files are read, and their databases found. Complains of levels that are unknown,
 * lead in a circle, or are too small. */
void levels_check(struct loading *loading);
