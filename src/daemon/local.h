/* local.h - scope = host: the core itself, in this process. */
#ifndef BERTH_DAEMON_LOCAL_H
#define BERTH_DAEMON_LOCAL_H

#include "daemon/store.h"

struct store *local_store_new(const struct core_options *options);
/* The core behind a local store, for looking and for core_define(). */
struct core *local_store_core(struct store *store);

#endif
