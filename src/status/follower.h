/* follower.h - produces the output of one `watch`: batches of lines, each a long answer. The first
 * one has a snapshot; the later ones have what has changed since, as it is when the line is made.
 * So a follower has a cursor in the news, and nothing else waits for it: if it reads so slowly that
 * the cursor falls out, its next batch begins with a fresh snapshot. Pure. */
#pragma once

#include "core/core.h"
#include "status/status_walk.h"

/* What followers are told about; the same for all, and good for as long as any follows. */
struct follow_source {
    struct walk_source walked; /* its context is that of all functions */
    /* Adds a database's `database` line. */
    void (*add_database)(void *context, struct text *out, uint8_t database);
    /* False: what the first snapshot needs is about to come. */
    bool (*is_ready)(void *context);
    /* Where the history ends now. */
    uint64_t (*ended_end)(void *context);
    /* Adds the `ended` lines from *positionp to `end`, some at a time; *missedp becomes true if
     * some have gone before. False: that was all. */
    bool (*add_ended)(void *context, uint64_t *positionp, uint64_t end, bool *missedp,
        const struct answer_moment *moment, struct text *out, size_t enough);
};

struct follower {
    struct long_answer answer; /* a batch; follower_has_news() says whether one is due */
    const struct follow_source *source;
    struct news *news;
    uint64_t cursor; /* in the news */
    struct status told; /* what it knows of this host */
    bool has_begun; /* it has had the first line */
    bool wants_ended; /* also the leases that are over */
    uint64_t ended; /* how far it has had these */

    /* The batch that is being made. */
    enum { PART_BEGIN, PART_SNAPSHOT, PART_CHANGES, PART_ENDED } part; /* of the batch */
    bool is_empty; /* nothing was said in it yet */
    bool has_missed; /* some `ended` lines */
    uint64_t until; /* in the news, or in the history: where the part ends */
    struct status_walk walk; /* of the snapshot; .of_all while there is one */
};

void follower_init(struct follower *follower, const struct follow_source *source, bool wants_ended);
void follower_deinit(struct follower *follower);
/* Whether a batch would say something. */
bool follower_has_news(const struct follower *follower);
