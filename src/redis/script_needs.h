/* script_needs.h - the script that asks a server what scripts may do there. It writes nothing.
 * Pure. */
#ifndef BERTH_REDIS_SCRIPT_NEEDS_H
#define BERTH_REDIS_SCRIPT_NEEDS_H

/* ARGV: any of the database's keys (among KEYS, it might not be allowed), and one of its channels.
 * Returns an array of strings: the error of INFO, or "" if scripts may use it; the error of a
 * write, or ""; what the user lacks, as ACL SETUSER takes it ("+hset"). */
extern const char script_needs_text[];

#endif
