/* pool.h - the threads of libuv's pool, for work that may take long. */
#pragma once

#include <uv.h>

/* Call it before anything else starts them. They get no signals: at the end, when libuv has
 * restored the default actions, the loop's thread blocks all signals, and one that came to another
 * thread would end us half-way. */
void pool_start(uv_loop_t *loop);
