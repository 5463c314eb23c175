/* cell_text.h - resources and leases in a few words: what stands in one cell of a table. Pure. */
#pragma once

#include "table/grid.h"
#include "view/past.h"
#include "view/status.h"

/* Everything that an operator would not expect of a working resource: one word each, so that the
 * cell need not be cut. "paused, over limit"; "template, 3 instances, paused". */
void text_add_resource_state(
    struct text *text, const struct status *status, const struct status_resource *resource);
/* How that looks. */
enum look resource_state_look(const struct status_resource *resource);

/* The figure; "-" for a template: of itself nothing is granted. */
void text_add_figure(
    struct text *text, const struct status_resource *resource, uint64_t figure);

/* "slot 0", "slots 0-3,5", "item gpu0", so that a slot's number does not look like a count. */
void text_add_units(struct text *text, const struct words *units, bool is_pool);
/* "stopping (revoked), away" */
void text_add_lease_state(struct text *text, const struct status_lease *lease);
/* Why a waiter is passed over: another resource, what is wrong with this one, or a quota, of this
 * resource or of another. */
void text_add_blocked(
    struct text *text, const struct status_resource *resource, const struct status_lease *lease);
/* " since 02:03:11 by root (alice) on web1: too slow": who has made a change; "" if nothing of that
 * is known. */
void text_add_said(struct text *text, const struct shown_decision *said);
/* The same behind `mark`, if more than the reason is known. */
void text_add_noted(struct text *text, const char *mark, const struct shown_decision *said);
/* "limit 5 (file: 20), since 02:03:11 by root", "changed at runtime: items, since ...": what is
 * changed. */
void text_add_change(struct text *text, const struct status_resource *resource);
/* What the client said; or, in brackets, the name of the process. */
void text_add_program(struct text *text, const struct status_lease *lease);

/* The resources that it had, or waited for: "etl, gpus". */
void text_add_claims(struct text *text, const struct past_lease *lease);
/* How it has ended: "exit 0", the usual end, is that of the job alone. */
void text_add_how(struct text *text, const struct past_lease *lease);

/* Columns of what a lease says about itself, behind the first `n`: all but the program, which has a
 * fixed one. `offset` is that of .shown in a row. Returns how many columns there are with these. */
size_t add_shown_columns(struct column columns[MAX_COLUMNS], size_t n, size_t offset);
