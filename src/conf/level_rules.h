/* level_rules.h - `also`: the levels of which who takes units of a resource takes some as well. */
#pragma once

struct loading;

/* All files have been read, and their databases found: complains of levels that cannot be. */
void levels_check(struct loading *loading);
