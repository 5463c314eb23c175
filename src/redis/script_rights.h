/* script_rights.h - asks a server what scripts may do there, and writes nothing. Pure. */
#pragma once

/* For EVAL. ARGV: any of the database's keys (among KEYS, it might not be allowed), and one of its
 * channels. Returns an array of strings: the error of INFO, or "" if scripts may use it; the error
 * of a write, or ""; what the user lacks, as ACL SETUSER takes it ("+hset"). */
extern const char script_rights_question[];

/* What that error of a write means; NULL: it is one of another kind, or none. */
const char *script_rights_unwritable(const char *error);
