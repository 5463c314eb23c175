/* state.h - the file in the state directory: what must outlive a reboot. A high-water mark of
 * the numbers given out, the boot it was written in, and the runtime changes as lines of text whose
 * meaning is changes.h's; those of databases, which all begin with "fleet ", are fleet_journal.h's.
 *
 * This is what the file says. state_file.h writes it: at the start on the loop, else for
 * state_writer.h in other threads. */
#ifndef BERTH_JOURNAL_STATE_H
#define BERTH_JOURNAL_STATE_H

#include "base/text.h"
#include "journal/proof.h"
#include "journal/state_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOOT_ID_BYTES = 64,
    STATE_FLEET_BYTES = 16 * 1024 * 1024,
};

enum state_found {
    STATE_MISSING,
    STATE_READ,
    STATE_DAMAGED, /* logged; the mark is what could be made out of it, the changes are lost */
};

struct state {
    char *path; /* NULL if there is no place for it; owned */
    char *next_path; /* beside it: the file that is being written; owned */
    char *changes; /* lines, each with its LF; never NULL; owned */
    char *fleet_changes; /* the same */
    uint64_t mark; /* on disk: no number at or above it has been given out; 0: none at all */
    uint64_t wanted_mark; /* to be stored; the mark itself: nothing else is wanted */
    enum state_found found;
    bool same_boot; /* it was last written since the host has started */
    char boot_id[BOOT_ID_BYTES]; /* of now */
    uint8_t secret[SECRET_BYTES]; /* of proof.h */
    bool is_old_secret; /* from the file: what was proved by it before still is */
};

/* state_deinit() in any case. */
void state_load(struct state *state, const char *socket_path);
void state_deinit(struct state *state);

/* What the file is to say. The changes are set in memory alone: they are on disk once an image of
 * what is here has been stored. */

/* `changes` take the place of the ones before. */
void state_set_changes(struct state *state, const char *changes, size_t length);
/* The same of databases' changes. More than STATE_FLEET_BYTES are refused (logged, false), and the
 * ones before stay. */
bool state_set_fleet_changes(struct state *state, const char *changes, size_t length);

/* Whether numbers up to `next` may be given out. */
bool state_has_numbers(const struct state *state, uint64_t next);
/* Whether half of what was stored ahead has been used up, and no more is wanted yet. */
bool state_is_short_of_numbers(const struct state *state, uint64_t next);
/* The next image has a mark that is well above `next`. False (logged): there are no numbers left. */
bool state_want_numbers(struct state *state, uint64_t next);

/* All of it, at one moment. */
struct state_image {
    struct text text;
    uint64_t mark;
};

/* The bytes that an image of the state as it is now has at most. */
size_t state_most_bytes(const struct state *state);
/* state_image_deinit() in any case. */
void state_image_init(struct state_image *image, const struct state *state);
void state_image_deinit(struct state_image *image);
/* May run in any thread: of the state it reads only the paths. */
enum stored state_image_store(struct state_image *image, const struct state *state, int *errorp);
/* What became of it: logged, and if its mark is on disk, that may be used from now on. */
void state_image_settle(
    const struct state_image *image, struct state *state, enum stored stored, int error);

/* ---- on the loop: at the start and at the end ---- */

/* As it is now. */
enum stored state_store(struct state *state);
/* Numbers from `next` on may be given out: sees to it that the mark is well above, and on disk. */
bool state_reserve_numbers(struct state *state, uint64_t next);
/* The end of a run: none from `next` on has been given out. The next image says so. */
void state_give_back_numbers(struct state *state, uint64_t next);

#endif
