/* answer_lines.h - outcomes, leases and units as words of the protocol. Pure. */
#pragma once

#include "base/text.h"
#include "core/core.h"
#include "wire/protocol.h"

enum code outcome_code(enum outcome outcome);

/* "error CODE TEXT\n"; `subject` precedes the code's meaning (NULL: the meaning alone). */
void answer_error(struct text *text, enum code code, const char *subject);
/* The same with another text. */
__attribute__((format(printf, 3, 4))) void answer_error_saying(
    struct text *text, enum code code, const char *format, ...);

void answer_lease_id(struct text *text, const struct lease *lease);
/* Appends what the client must know to stop its job; nothing for a lease without a job. */
void answer_stop_rules(struct text *text, const struct lease *lease);
/* Appends the event that says until when a held lease is good; nothing if its time is not
 * limited. `clock_offset`: clock_namespace_offset(), which it subtracts. */
void answer_deadline(struct text *text, const struct lease *lease, nanoseconds clock_offset);
/* How long a line that grants this ask can get, besides its units (units_max_bytes()) and what its
 * proof says. */
size_t answer_longest_grant(const struct acquire_request *ask);
/* Whether no lease could have so many units, however many there are: it has at most MAX_UNITS, and
 * the line that grants it names them. `more`: the bytes of its units, and of its proof. */
bool answer_is_too_much(const struct acquire_request *ask, size_t more);
#define ANSWER_NO_LEASE "no such lease: it has ended, or the id is wrong"
#define ANSWER_TOO_MUCH "more units than one request can have"
#define ANSWER_TOO_HIGH "%s: one level too many; a lease has at most 16 resources"

/* Appends an event that names no lease. */
void answer_event(struct text *text, enum event event);
/* Appends the line for an effect on a lease, LF included. `what` is the proof (EFFECT_GRANTED), or
 * why (EFFECT_DENIED, EFFECT_LOST, EFFECT_STOP), or NULL. */
void answer_effect(struct text *text, const struct effect *effect, const char *what);
