/* past_table.h - what `berthctl history` shows to people. Pure but for the time zone. */
#pragma once

#include "view/past.h"
#include "view/printable.h"

/* `width`: of the terminal; 0: cut nothing. */
void past_table_print(
    const struct past *past, const struct past_choice *choice, size_t width, struct text *out);

/* Adds who has answered, and from when on that is complete: a line, or some. Nothing if nobody
 * knows anything. */
void past_add_sources(
    const struct past *past, const struct past_choice *choice, struct text *out);
/* Adds a line for each span in which something may be missing. */
void past_add_gaps(const struct past *past, struct text *out);
/* Adds why nothing or not all is shown: a line or none. `n_shown`: leases. */
void past_add_note(
    const struct past *past, uint64_t n_shown, const struct past_choice *choice, struct text *out);
