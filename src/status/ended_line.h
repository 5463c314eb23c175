/* ended_line.h - a line of `history`: one lease or wait that is over, or what an operator did.
 * Pure. */
#pragma once

#include "base/text.h"
#include "core/ended.h"
#include "core/saved_lease.h"
#include "status/long_answer.h"

struct ended_lease {
    const struct history_entry *entry;
    const struct saved_lease *lease; /* as it was last written down */
    const char *database; /* its name; NULL: host scope */
    const char *key, *host; /* of another host's: SESSION/LEASE, and its name; else NULL */
    const char *stream_id; /* for who copies it, with what it needs besides */
};

/* Appends the line, LF included; it is below LINE_BYTES. `ended_at`: milliseconds since 1970. The
 * details come last: viewer_sees_ended(). */
void ended_line_write(
    struct text *out, const struct ended_lease *ended, uint64_t ended_at, bool with_details);
/* How many bytes of such a line, or of one of what an operator did, without its LF, come before its
 * details. */
size_t ended_line_plain(const char *line);

/* Appends the line of what an operator did at `at`, milliseconds since 1970, LF included; it is
 * below LINE_BYTES. Who may not see the reason has none in *did. `copied`: for who copies it; or
 * NULL. */
void did_line_write(
    struct text *out, const struct did *did, uint64_t at, const struct ended_lease *copied);

/* How it ended: a code's word, "gone", or "denied" with the code in *codep (else NULL). */
const char *ended_how(const struct ended_lease *ended, const char **codep);
/* Milliseconds, by the clock that never steps; held: 0 if nothing was granted. */
uint64_t ended_held(const struct ended_lease *ended);
uint64_t ended_waited(const struct ended_lease *ended);
/* Appends NAME:UNITS of what it held, NAME=COUNT of what it waited for; a list that is too long for
 * a line ends in "...". */
void ended_units(struct text *out, const struct saved_lease *lease);

/* Appends "NAME COUNT,NAME COUNT": how much it held, or waited for. */
void ended_claims(struct text *out, const struct saved_lease *lease);

/* Milliseconds since 1970 at that instant, as the clock is set now. */
uint64_t wall_milliseconds(nanoseconds instant, const struct answer_moment *moment);
