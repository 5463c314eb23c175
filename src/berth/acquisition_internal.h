/* acquisition_internal.h - shared by acquisition.c (connects, asks, waits, and ends) and
 * acquisition_answers.c (what berthd says meanwhile). */
#pragma once

#include "berth/acquisition.h"

/* After a connection that lasted this long, the next pause is short again. */
#define GOOD_CONNECTION NANOSECONDS_PER_SECOND

/* Sets the reason for the last failure. */
void outage_set(struct outage *outage, bool is_of_database, const char *why);

/* Sends the request, or after an interruption the one for the place that it has. */
enum acquisition_result acquisition_ask(struct acquisition *acquisition, nanoseconds now);
/* If the request has a place: `away` or `back`. */
void acquisition_say_presence(struct acquisition *acquisition, enum command_index command);
/* Carries out all whole lines that have been read, until one of them decides. */
enum acquisition_result acquisition_take_lines(struct acquisition *acquisition, nanoseconds now);

/* -w is over: says so, unless -q is given. */
enum acquisition_result acquisition_time_out(struct acquisition *acquisition);
/* The message of that: at least 1024 bytes. */
void append_timed_out(char *out, size_t size, const struct acquisition *acquisition);
/* Ends with this exit status; the caller has written the message. */
enum acquisition_result acquisition_refuse(struct acquisition *acquisition, int status);

/* Says why it was refused, as well as is known by now, and ends: state EXPLAINED. */
enum acquisition_result acquisition_end_explaining(struct acquisition *acquisition);

/* berthd was there a moment ago, or has no time at the moment: another try may help, until it
 * counts as down. acquisition->outage has the reason. */
enum acquisition_result acquisition_is_absent(struct acquisition *acquisition, nanoseconds now);
/* berthd, or the database, is not there: does what --if-down says. acquisition->outage has the
 * reason. */
enum acquisition_result acquisition_is_down(struct acquisition *acquisition, nanoseconds now);
