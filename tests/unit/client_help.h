/* client_help.h - a berthd played by the test, for what berth does with its answers and with time
 * (berth/acquisition.h, held_lease.h): real sockets, the test's clock. */
#pragma once

#include "berth/acquisition.h"
#include "berth/held_lease.h"

#define S NANOSECONDS_PER_SECOND
#define MS NANOSECONDS_PER_MILLISECOND
#define T (1000 * S) /* when berth is started */

/* One berth and its berthd: those of this test. */
extern struct stage {
    struct options options; /* of "r"; for the test to change before stage_begin() */
    struct endpoint endpoint;
    struct connection connection;
    struct acquisition acquisition;
    int listener, peer; /* peer -1: not accepted */
    int said; /* berth's stderr */
    char line[LINE_BYTES + 1]; /* the last that stage_line() has read */
} stage;

/* A suite's .init, which calls stage_open(); .fini is scratch_end(). */
void stage_setup(void);
/* Default options, and no connection. */
void stage_open(void);
void stage_begin(void);
/* Closes the listener: nobody can connect. */
void stage_no_berthd(void);
/* As berth's loop does: reads what is there. */
enum acquisition_result stage_step(nanoseconds now);
/* The next line that berth has sent, over its newest connection; "": none. */
const char *stage_line(void);
/* Whole lines. */
void stage_say(const char *text);
/* The same, and then a step. */
enum acquisition_result stage_hear(const char *text, nanoseconds now);
void stage_hang_up(void);
/* All of stderr since the last call. */
const char *stage_said(void);
