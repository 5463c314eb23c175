/* sight.h - what a user may see of past leases: what berthd answers to `sees`. Pure.
 *
 * One's own rows are whole. Of another's the details show if the user sees what each of its
 * resources hid then, or hides now (status/viewer.h). */
#pragma once

#include "client/answer.h"
#include "history/day_file.h"

struct sight_definition {
    char *name; /* owned */
    bool hides, is_seen;
};

struct sight {
    bool has_begun;
    bool is_known; /* berthd has said it; else nobody knows what is hidden */
    bool sees_all;
    struct sight_definition *list; /* owned; by their names */
    size_t n;
};

answer_taker sight_take; /* of a struct sight, at first zero */
void sight_deinit(struct sight *sight);
bool sight_sees(const struct sight *sight, uint32_t uid, const struct day_row *row);
