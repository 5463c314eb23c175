/* recorder.h - gives the store each lease that ends, and after a connection those that have ended
 * before it. */
#pragma once

#include "web/web.h"

/* Watches the follower's copy, before follower_start(). */
struct recorder *recorder_new(struct web *web);
/* Before the store is closed. The loop must run once more. */
void recorder_free(struct recorder *recorder);
/* The follower's connection may be another, or gone. */
void recorder_note(struct recorder *recorder);
