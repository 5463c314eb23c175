/* store.h - what berth-web keeps of leases that have ended: a database of SQLite.
 *
 * All of SQLite runs on a thread of its own. No function here waits for it but store_open() and
 * store_close(); every callback is called on the thread of the loop, never from within the function
 * that was given it. A file that is damaged, or a disk that is full, is no error of any function:
 * store_health() says it, the log says it once, and the store goes on as well as it can. */
#pragma once

#include "base/text.h"
#include "base/time.h"

#include <stdint.h>
#include <uv.h>

struct past_lease;
struct store;

/* `path` NULL: there is no file, and what has ended is forgotten. What ended longer than
 * `retention` ago is removed. Never fails. */
struct store *store_open(uv_loop_t *loop, const char *path, nanoseconds retention);
/* Writes what has been added, and answers all queries, before it returns; the loop must then run
 * once more for its handles. */
void store_close(struct store *store);

/* A lease or a wait that is over, with its users' names. Copies what it keeps. One that is there
 * already (same lease, same end) is ignored. When the thread is too far behind, leases are dropped
 * and counted, and what they leave is a gap. */
void store_add(struct store *store, const struct past_lease *lease);
/* All that ended from .. until (milliseconds since 1970) has been added. What no such call has
 * covered is a gap. Called every few seconds while berthd is connected. */
void store_covers(struct store *store, uint64_t from, uint64_t until);
/* Until when it has been covered without a gap: 0 if it is empty. Asked at a (re)connection, to
 * fill what was missed. */
uint64_t store_covered_until(const struct store *store);

struct store_query {
    uint64_t from, until; /* milliseconds since 1970 */
    const char *resource; /* or NULL; copied */
    uint32_t limit; /* 1 .. 5000 */
};
/* `json` is the whole body of /history.json; the taker may take its bytes. NULL: `why` says what is
 * wrong. Called once for each query, at the latest within store_close(). */
typedef void store_taker(void *context, struct text *json, const char *why);
void store_find(
    struct store *store, const struct store_query *query, store_taker *taker, void *context);

/* NULL: it works, or there is no file. Else why not, in words, good until the loop goes on. */
const char *store_health(const struct store *store);

struct store_figures {
    uint64_t leases; /* in the file */
    uint64_t bytes; /* of the file */
    uint64_t added, dropped; /* since the start */
    uint64_t failures; /* of writing, since the start */
};
void store_look(const struct store *store, struct store_figures *figures);
