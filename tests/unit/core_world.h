/* core_world.h - the one world of a test, for the fixture's own files alone. */
#pragma once

#include "core_fixture.h"

enum { MAX_CLIENTS = 64, MAX_LEASES = 512, TEXT_BYTES = 8192, N_TEXTS = 16 };

struct named_client {
    char name[16];
    struct client client;
};

struct named_lease {
    char name[16];
    uint64_t id;
    struct saved_lease *record; /* what a journal would have about it, or its units; or NULL */
    bool is_watched; /* EFFECT_WATCH has come, for its present process */
    bool is_there; /* its database has been asked for it, or has it from before */
};

struct world {
    struct core *core;
    struct effects effects;
    nanoseconds now;
    struct definitions *definitions;
    struct named_client *clients[MAX_CLIENTS];
    struct named_lease leases[MAX_LEASES];
    size_t n_leases;
    const char *about; /* the row of a table */
};

extern struct world world;

/* Instants are given in seconds since then. */
static const nanoseconds beginning = 1000 * NANOSECONDS_PER_SECOND;

/* ---- texts ---- */

struct text {
    char *bytes;
    size_t n;
};

struct text text_new(void);
__attribute__((format(printf, 2, 3))) void say(struct text *text, const char *format, ...);
/* "never" or seconds */
void say_instant(struct text *text, nanoseconds instant);
void say_units(struct text *text, const struct lease *lease);
const char *lease_name(const struct lease *lease);
/* Ends every operation: the effects, then all that must be true whatever they are. */
const char *and_effects(struct text *text);
const char *answer(enum outcome outcome, const char *at_fault);

/* ---- names ---- */

/* Connects it if necessary. */
struct client *client(const char *who);
struct named_client **find_client(const char *who);
/* NULL if there was none. */
struct named_lease *named(const char *lease);
struct named_lease *named_by_id(uint64_t id);
/* Fails if it is over. */
struct lease *living(const char *lease);
/* From now on, the lease with that id has this name. */
struct named_lease *name_id(const char *name, uint64_t id);

/* For a lease of an earlier run, or a reclaimed one: its database may have it. */
void note_there(const struct lease *lease);
/* "0,1", "a,b": slots are digits; exactly `count`. */
void parse_units(char *text, struct saved_unit *units, uint32_t count);
enum { MAX_COUNT = 8 };

/* "s:2 g:1:b wait=5" */
enum { MAX_ASK_WORDS = 24 };
struct parsed_ask {
    struct acquire_request ask; /* its strings point into `words` */
    char *units[MAX_RESOURCES_PER_LEASE]; /* what follows the count, or NULL */
    char words[MAX_ASK_WORDS][64];
};
void parsed_ask_read(struct parsed_ask *parsed, const char *text);
