/* client_help.h - a berthd played by the test, for what berth does with its answers and with time
 * (berth/acquisition.h, held_lease.h): real sockets, the test's clock. */
#pragma once

#include "berth/acquisition.h"
#include "berth/held_lease.h"

#define S NANOSECONDS_PER_SECOND
#define MS NANOSECONDS_PER_MILLISECOND
#define T (1000 * S) /* when berth is started */

/* One berth and its berthd. */
struct stage {
    struct options options; /* of "r"; for the test to change before stage_begin() */
    struct endpoint endpoint;
    struct connection connection;
    struct acquisition acquisition;
    int listener, peer; /* peer -1: not accepted */
    int said; /* berth's stderr */
    char line[LINE_BYTES + 1]; /* the last that stage_line() has read */
};

/* A suite's .init; .fini is scratch_end(). */
void stage_setup(void);
/* The only one, with default options. */
struct stage *stage_open(void);
void stage_begin(struct stage *stage);
/* Closes the listener: nobody can connect. */
void stage_no_berthd(struct stage *stage);
/* As berth's loop does: reads what is there. */
enum acquisition_result stage_step(struct stage *stage, nanoseconds now);
/* The next line that berth has sent, over its newest connection; "": none. */
const char *stage_line(struct stage *stage);
/* Whole lines. */
void stage_say(struct stage *stage, const char *text);
void stage_hang_up(struct stage *stage);
/* All of stderr since the last call. */
const char *stage_said(struct stage *stage);
