/* script.h - the scripts by name, and what they and their callers agree on. doc/redis.md has their
 * arguments and answers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum script {
    SCRIPT_HELLO,
    SCRIPT_ACQUIRE,
    SCRIPT_RELEASE,
    SCRIPT_RENEW,
    SCRIPT_SNAPSHOT,
    SCRIPT_ADMIN,
    N_SCRIPTS
};

extern const char *const script_words[N_SCRIPTS];

/* The layouts that a berthd has scripts for, from the oldest to the newest, without gaps. */
struct layouts {
    unsigned from, to;
};

/* A call of a script, for data of that layout; `argv` are its ARGV. */
struct script_call {
    enum script script;
    unsigned layout;
    size_t argc;
    const char *const *argv;
    const size_t *lengths;
    uint64_t tag; /* of the answer */
};

/* Bounds on operators' changes in one database, the scripts' own: bytes of one name's JSON, and
 * names that are changed or were. */
struct script_bounds {
    size_t change_bytes, changes;
};
