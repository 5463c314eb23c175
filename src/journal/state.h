/* state.h - the file in the state directory, for what must outlive a reboot: a high-water mark of
 * the numbers given out, the boot it was written in, and the runtime changes as lines of text.
 * changes.h has the meaning of these lines; fleet_journal.h that of databases' lines, which all
 * begin with "fleet ".
 *
 * Here is what the file says. state_file.h writes it: on the loop at the start, later for
 * state_writer.h in other threads. */
#pragma once

#include "base/text.h"
#include "journal/proof.h"
#include "journal/state_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOOT_ID_BYTES = 64,
    STATE_FLEET_BYTES = 16 * 1024 * 1024,
    /* How far the mark is ahead, so that it is seldom written. A berthd that was killed, and whose
     * journal is lost, goes on from the mark: then numbers are ahead of the clock, from which they
     * begin if the file is lost as well. This is a second of microseconds. */
    NUMBERS_AHEAD = 1 << 20,
};

enum state_found {
    STATE_MISSING,
    STATE_READ,
    STATE_DAMAGED, /* the mark may be a guess, the changes are lost */
    STATE_UNREADABLE, /* .read_error: not known, and never overwritten */
};

struct state {
    char *path; /* NULL if there is no place for a file; owned */
    char *next_path; /* beside it, for the next version of the file; owned */
    char *changes; /* lines that end in LF; never NULL; owned */
    char *fleet_changes; /* the same */
    uint64_t mark; /* on disk: all numbers given out are smaller; 0: none at all */
    uint64_t wanted_mark; /* to be stored; equal to `mark` if no more is wanted */
    enum state_found found;
    int read_error; /* errno with STATE_UNREADABLE; else 0 */
    char *why_unreadable; /* the same with the path, as text; owned */
    char *kept; /* of a damaged file: "kept as PATH.damaged-N", or "not kept: " and why; owned */
    bool same_boot; /* the host has not been restarted since the file was written */
    char boot_id[BOOT_ID_BYTES]; /* the present boot's */
    uint8_t secret[SECRET_BYTES]; /* the key of proofs, proof.h */
    bool is_old_secret; /* read from the file: earlier proofs are still good */
};

/* Of this file, whatever it says by now: it goes with the secret. Not 0. */
uint64_t state_fingerprint(const struct state *state);
/* Whether the file of a STATE_UNREADABLE is now gone, or can be read. May run in any thread. */
bool state_can_be_read(const struct state *state);
/* False: there are no random numbers for a secret; do not go on. Call state_deinit() in any
 * case. */
bool state_load(struct state *state, const char *socket_path);
void state_deinit(struct state *state);

/* These set what the file is to say, in memory alone: it is on disk once a later image has been
 * stored. */

/* Replaces the changes. */
void state_set_changes(struct state *state, const char *changes, size_t length);
/* Replaces the databases' changes. Refuses more than STATE_FLEET_BYTES, and keeps the old ones. */
bool state_set_fleet_changes(struct state *state, const char *changes, size_t length);

/* Whether numbers up to `next` may be given out. */
bool state_has_numbers(const struct state *state, uint64_t next);
/* Whether half of the stored numbers are used up, and no more have been asked for. */
bool state_is_short_of_numbers(const struct state *state, uint64_t next);
/* The next image gets a mark well above `next`. False: there are no numbers left. */
bool state_want_numbers(struct state *state, uint64_t next);

/* The whole state at one moment. */
struct state_image {
    struct text text;
    uint64_t mark;
};

/* The most bytes that an image of the present state can have. */
size_t state_max_bytes(const struct state *state);
/* The caller deinitializes its text. */
void state_image_init(struct state_image *image, const struct state *state);
/* state_file_make_room() for the next image. May run in any thread. */
int state_make_room(const struct state *state, size_t bytes);
/* May run in any thread: it reads only what state_load() has set. */
enum stored state_image_store(struct state_image *image, const struct state *state, int *errorp);
/* On the loop: if the image's mark is on disk, numbers below it may be used from now on. */
void state_image_settle(
    const struct state_image *image, struct state *state, enum stored stored);

/* ---- on the loop: at the start ---- */

/* Stores the present state. Sets *errorp unless the result is STORED. */
enum stored state_store(struct state *state, int *errorp);
