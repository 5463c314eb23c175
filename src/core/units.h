/* units.h - lists of units as the protocol and the journal write them: "0-3,7", "gpu0,gpu1". The
 * parser takes untrusted text. */
#pragma once

#include "base/text.h"
#include "core/saved_lease.h"

struct core;
struct requested_resource;

/* What the rate of a claim adds to a record, at most. */
enum { UNITS_RATE_BYTES = sizeof " rate=15,,," - 1 + 3 * (sizeof "9223372036854775806" - 1) };

/* " slot=NAME,TOKEN,SLOTS item=NAME,TOKEN,ITEMS ..." of a held lease; of one of its claims. */
void units_write(struct text *text, const struct lease *lease);
void units_write_of(struct text *text, const struct claim *claim);
/* How long that gets at most if these wants, whose definitions are known, are granted, whatever
 * their units; a waiting lease's " want=NAME,COUNT" is no longer, and neither is a share's
 * " uses=NAME,COUNT,LEASE". */
size_t units_max_bytes(struct core *core, const struct requested_resource *wants, size_t n);
/* The same of a waiting lease. */
size_t units_max_bytes_of(struct core *core, const struct lease *lease);
/* "0-3,7" or "gpu0,gpu1"; a list of more than `max` bytes is cut and ends in "...". */
void units_write_claim(struct text *text, const struct claim *claim, size_t max);

/* How many units the list names; 0 if it is malformed or names more than MAX_UNITS. */
uint32_t units_count(const char *text, bool is_pool);
/* False unless the list names exactly `count` units, each once; `units` has room for them. Cuts the
 * text in place, and items point into it. */
bool units_parse(char *text, bool is_pool, uint32_t count, struct saved_unit *units);
/* Whether these, all items or all slots of one resource, are each there once. */
bool units_are_different(const struct saved_unit units[], uint32_t count);
