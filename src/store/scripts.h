/* scripts.h - the Lua scripts, embedded at build time from scripts/: each is common.lua and one
 * file of its own. What they take and answer: doc/fleet.md. */
#ifndef BERTH_STORE_SCRIPTS_H
#define BERTH_STORE_SCRIPTS_H

#include <stddef.h>

enum script {
    SCRIPT_HELLO,
    SCRIPT_ACQUIRE,
    SCRIPT_RELEASE,
    SCRIPT_RENEW,
    SCRIPT_SNAPSHOT,
    SCRIPT_ADMIN,
    N_SCRIPTS
};

/* The layouts of the data that this version reads and writes; another one is refused. */
enum { LAYOUT_FROM = 2, LAYOUT_TO = 2 };

#define SCRIPT_KEYS_WORD "21" /* their number, as EVALSHA takes it */

enum { N_SCRIPT_KEYS = 21, SCRIPT_KEY_BYTES = 96 };

struct script_source {
    const char *name;
    const char *text;
    size_t length;
};

extern const struct script_source script_table[N_SCRIPTS];

/* Of operators' changes in one database, as the scripts have them: bytes of one name's JSON, and names
 * that are changed or were. */
struct script_bounds {
    size_t change_bytes, changes;
};

extern const struct script_bounds script_bounds;
/* Without their prefix: "db", "sessions", ... in the order of KEYS. */
extern const char *const script_key_words[N_SCRIPT_KEYS];

#endif
