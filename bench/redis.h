/* redis.h - a bare client of Redis that calls Berth's scripts as berthd does, with nothing in
 * between: raw RESP over a blocking connection, one lease in each call, commands made
 * beforehand. */
#pragma once

#include "redis/scripts.h"

#include <stddef.h>

struct redis;

/* Loads the scripts and says hello. The database must know the definition of `name` already, and be
 * past its grace. */
struct redis *redis_new(const char *socket, const char *prefix, const char *name);
/* Prolongs the session by a ttl. */
void redis_renew(struct redis *redis);
/* Both send `depth` calls at once and read all their answers. The next redis_release() of the same
 * depth releases what was acquired. */
void redis_acquire(struct redis *redis, unsigned depth);
void redis_release(struct redis *redis, unsigned depth);
/* Sends `depth` calls of a function that does nothing, and reads their answers. */
void redis_nothing(struct redis *redis, unsigned depth);
