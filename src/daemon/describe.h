/* describe.h - a resource, a holder, a waiter as the lines of `status`. Pure. */
#ifndef BERTH_DAEMON_DESCRIBE_H
#define BERTH_DAEMON_DESCRIBE_H

#include "core/core.h"
#include "wire/textbuf.h"

void describe_resource(struct text *out, const struct resource *resource);
void describe_holder(struct text *out, const struct claim *claim, nanoseconds now);
void describe_waiter(
    struct text *out, const struct claim *claim, uint32_t position, nanoseconds now);

#endif
