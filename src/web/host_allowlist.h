/* host_allowlist.h - allowed Host and Origin headers: a defence against DNS rebinding and
 * cross-site requests.
 *
 * A page of anybody's can make a browser send requests to loopback addresses, also under a name
 * that leads there; so the names in these headers count. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct name_list {
    char **names; /* owned, as each string */
    size_t n;
};

void name_list_add(struct name_list *list, const char *name);
void name_list_deinit(struct name_list *list);

/* Of the header Host: "localhost", an address of loopback or one of `hosts`, perhaps with a port.
 * Case does not count. */
bool host_is_known(const char *host, const struct name_list *hosts);

/* Of the header Origin: it is "http://" or "https://" and what the header Host says. */
bool origin_is_own(const char *origin, const char *host);

/* A name or an address, as the header Host has it without a port. */
bool host_is_valid(const char *host);
