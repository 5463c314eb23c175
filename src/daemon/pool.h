/* pool.h - the threads of libuv's pool, for what may take long. */
#ifndef BERTH_DAEMON_POOL_H
#define BERTH_DAEMON_POOL_H

#include <uv.h>

/* Before anything else starts them. They get no signals: at the end, when libuv has put their default
 * actions back, the loop's thread has blocked them all, and one that came to another would end us
 * half-way. */
void pool_start(uv_loop_t *loop);

#endif
