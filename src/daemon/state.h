/* state.h - the file in the state directory: what must outlive a reboot. A high-water mark of
 * the numbers given out, the boot it was written in, and the runtime changes as lines of text whose
 * meaning is changes.h's; those of databases, which all begin with "fleet ", are fleet_journal.h's.
 *
 * The file is always written whole: beside the old one, fsynced, then renamed over it. */
#ifndef BERTH_DAEMON_STATE_H
#define BERTH_DAEMON_STATE_H

#include "daemon/proof.h"

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
    uint64_t mark; /* no number at or above it has been given out; 0: none at all */
    enum state_found found;
    bool same_boot; /* it was last written since the host has started */
    char boot_id[BOOT_ID_BYTES]; /* of now */
    uint8_t secret[SECRET_BYTES]; /* of proof.h */
    bool is_old_secret; /* from the file: what was proved by it before still is */
};

/* state_deinit() in any case. */
void state_load(struct state *state, const char *socket_path);
void state_deinit(struct state *state);

/* From now on numbers from `next` on may be given out: sees to it that the mark is well above, and
 * on disk. False (logged) if it could not be stored. */
bool state_reserve_numbers(struct state *state, uint64_t next);

/* The end of a run: none from `next` on has been given out. */
void state_give_back_numbers(struct state *state, uint64_t next);

/* Whether changes that are so much longer could be stored now; false with errno. */
bool state_can_store(struct state *state, size_t more_bytes);
/* `changes` take the place of the ones before, in memory in any case. False (logged) if they could
 * not be stored. */
bool state_store_changes(struct state *state, const char *changes, size_t length);
/* The same of databases' changes. More than STATE_FLEET_BYTES are not stored, and the ones before
 * stay. */
bool state_store_fleet_changes(struct state *state, const char *changes, size_t length);

#endif
