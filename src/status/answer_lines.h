/* answer_lines.h - outcomes, leases and units as words of the protocol. Pure. */
#ifndef BERTH_STATUS_ANSWER_LINES_H
#define BERTH_STATUS_ANSWER_LINES_H

#include "base/text.h"
#include "core/core.h"
#include "wire/protocol.h"

enum code outcome_code(enum outcome outcome);

/* "error CODE TEXT\n"; `about` is put in front of the code's meaning (NULL: the meaning alone). */
void answer_error(struct text *text, enum code code, const char *about);
/* The same with a text of its own. */
void answer_error_saying(struct text *text, enum code code, const char *what);

void answer_lease_id(struct text *text, const struct lease *lease);
/* What the client must know to stop its job: nothing if the lease has none. */
void answer_stop_rules(struct text *text, const struct lease *lease);
/* The event that says until when a held lease is good; nothing if its time is not limited. */
void answer_deadline(struct text *text, const struct lease *lease);
/* How long a line that grants this ask can get, besides its units (units_most_bytes()) and what its
 * proof says. */
size_t answer_longest_grant(const struct ask *ask);

/* An event without a lease. */
void answer_event(struct text *text, enum event event);
/* The line for an effect on a lease, LF included. */
void answer_effect(struct text *text, const struct effect *effect);
/* The same of EFFECT_DENIED, EFFECT_LOST and EFFECT_STOP, with a text of its own; of EFFECT_GRANTED,
 * with its proof. */
void answer_effect_saying(struct text *text, const struct effect *effect, const char *what);

#endif
