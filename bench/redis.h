/* redis.h - a bare client of Redis that calls Berth's scripts as berthd's do, with nothing in
 * between: raw RESP over a blocking connection, one lease in each call, the commands made
 * beforehand. */
#ifndef BERTH_BENCH_REDIS_H
#define BERTH_BENCH_REDIS_H

#include "redis/scripts.h"

#include <stddef.h>

struct redis;

/* Loads the scripts and says hello; the database must know the definition of `name` already, and be
 * past its grace. */
struct redis *redis_new(const char *socket, const char *prefix, const char *name);
/* The session lives for a ttl after this. */
void redis_renew(struct redis *redis);
/* Both send `depth` calls at once and read all their answers. What is acquired is released by the
 * next redis_release() of the same depth. */
void redis_acquire(struct redis *redis, unsigned depth);
void redis_release(struct redis *redis, unsigned depth);

#endif
