/* feed.h - what /status.json says: all, or what has changed since a serial. Pure: instants come in
 * as arguments.
 *
 * The text of each resource is made when it is first asked for after the resource has changed, and
 * is kept. So an answer costs what has changed, and a copy of bytes.
 *
 * Doc: doc/man/berth-web.8.scd. */
#pragma once

#include "base/table.h"
#include "base/text.h"
#include "base/time.h"
#include "view/live.h"

#include <stdbool.h>
#include <stdint.h>

/* How far a reader's copy goes. */
struct feed_serial {
    uint64_t instance; /* of this process */
    uint64_t live; /* live.serial */
    uint64_t events; /* of what else is said: of struct feed_around */
};

/* INSTANCE.LIVE.EVENTS; false: malformed. */
enum { FEED_SERIAL_SIZE = 64 };
bool feed_serial_parse(const char *text, struct feed_serial *serial);
void feed_serial_format(char out[static FEED_SERIAL_SIZE], const struct feed_serial *serial);

/* What is said beside the copy. */
struct feed_around {
    bool is_connected;
    const char *why; /* if it is not */
    const char *host; /* this one's name */
    const char *hosts, *gone; /* JSON: arrays */
    uint64_t events;
    uint64_t wall; /* milliseconds since 1970 */
};

enum { FEED_REMOVED = 1024 };

struct feed {
    struct live *live;
    uint64_t instance;

    /* private */
    struct live_watcher watcher;
    struct table pieces; /* of resources and of templates, by name */
    uint64_t all_changed; /* the serial of live since which all resources are others */
    bool has_all_changed;
    struct feed_removed {
        char *name;
        uint64_t serial;
    } removed[FEED_REMOVED]; /* a ring; the newest is at n_removed - 1 */
    uint64_t n_removed, n_stamped;
};

/* Watches the copy, which outlives it. */
void feed_init(struct feed *feed, struct live *live, uint64_t instance);
void feed_deinit(struct feed *feed);
/* After each batch. */
void feed_note(struct feed *feed);

/* Whether a copy that goes so far lacks anything. */
bool feed_is_behind(
    const struct feed *feed, const struct feed_around *around, const struct feed_serial *after);
/* Adds the answer: what has changed after `after`, or all, if it is NULL or too long ago. */
void feed_print(struct feed *feed, const struct feed_around *around,
    const struct feed_serial *after, nanoseconds now, struct text *out);
