/* disk_wait.h - requests that wait for the disk of the state directory; the loop never does.
 *
 * An operator's change is made once there is room for it on disk, and answered once it is there. If
 * it could not be stored after all, the answer and the log say the same: it stays in force. A lease
 * is requested once there are numbers for it, which are stored so far ahead that they run out only
 * if the disk does not answer for very long. */
#pragma once

#include "conn/command_call.h"
#include "record/state_writer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct held_request;
struct made_change;

TAILQ_HEAD(held_requests, held_request);
TAILQ_HEAD(made_changes, made_change);

struct disk_wait {
    struct server *server;
    struct state_writer writer;
    struct held_requests for_room, for_numbers; /* in the order in which they came */
    struct made_changes made; /* those that are not on disk yet, the oldest first */
    uint64_t runtime_change, fleet_change; /* the newest of each kind */
    uint64_t reload_change; /* the newest runtime change by a reload */
    uint64_t settled; /* the newest change that was stored, or could not be: */
    bool has_failed;
    bool numbers_are_kept; /* some could be stored at the start; else they depend on the clock */
    nanoseconds numbers_again_at; /* storing numbers has failed: not before then; or 0 */
};

void disk_wait_init(struct disk_wait *disk_wait, struct server *server);

/* At the start: stores a mark above the core's numbers, which waits for the disk. */
void disk_wait_reserve_numbers(struct disk_wait *disk_wait);

/* What a request needs before it does anything. False: it is held back, and carried out again when
 * there is some; it returns without an answer. */
bool disk_wait_has_room(struct call *call);
/* Also true, with *hasp false, if storing some has just failed. */
bool disk_wait_has_numbers(struct call *call, bool *hasp);

typedef void storing_answer(struct conn *conn, const char *was);

/* The request has just made the newest of the runtime changes, and is answered when that is on
 * disk: by answer(), with `was` (static), if it succeeds. */
void disk_wait_answer_later(struct call *call, storing_answer *answer, const char *was);

/* The same for a reload: at once if what it has ended is on disk. */
void disk_wait_answer_reload(struct conn *conn, storing_answer *answer);

/* Runtime changes, or databases' changes, have changed. They are stored soon, or the log says that
 * they could not be. */
void disk_wait_note_changes(struct disk_wait *disk_wait);
void disk_wait_note_reload(struct disk_wait *disk_wait, bool has_ended_changes);
void disk_wait_note_fleet_changes(struct disk_wait *disk_wait);

/* At the end of a turn. */
void disk_wait_end_turn(struct disk_wait *disk_wait);
/* The end of the run: stores what has changed, and which numbers are unused. False: the disk does
 * not answer, and a thread is still waiting for it. */
bool disk_wait_end(struct disk_wait *disk_wait);
