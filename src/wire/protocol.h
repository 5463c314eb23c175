/* protocol.h - one line of the protocol <-> one struct, and the tables of requests, keys, error
 * codes and events. Pure; shared by daemon and client. What a request does is the daemon's
 * business.
 *
 * Doc: doc/protocol.md. */
#pragma once

#include "base/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LINE_BYTES = 4096, /* the longest line, LF included */
    PROTOCOL_VERSION = 1,
    MAX_WORDS = 1024, /* of a received line; a line that grants has at most 16 + 2 */
    MAX_ARGUMENTS = 1 + 16, /* a lease and resources */
};

/* ---- codes ---- */

enum code {
    CODE_NONE, /* no error */
#define CODE(id, word, exit_status, meaning) CODE_##id,
#include "wire/codes.def"
#undef CODE
    N_CODES
};

struct code_row {
    const char *word;
    int exit_status;
    const char *meaning;
};

extern const struct code_row code_table[N_CODES]; /* [CODE_NONE] is empty */

/* CODE_NONE if the word is not in the table (a newer daemon's). */
enum code code_find(const char *word);

/* ---- events ---- */

enum event {
    EVENT_NONE,
#define EVENT(id, word, meaning) EVENT_##id,
#include "wire/events.def"
#undef EVENT
    N_EVENTS
};

extern const char *const event_words[N_EVENTS];

enum event event_find(const char *word);

/* ---- requests ---- */

enum request_key {
#define REQUEST_KEY(word, max) KEY_INDEX_##word,
#include "wire/request_keys.def"
#undef REQUEST_KEY
    N_REQUEST_KEYS
};

enum command_index {
#define COMMAND(word, min, max, keys, right, help) COMMAND_##word,
#include "wire/commands.def"
#undef COMMAND
    N_COMMANDS
};

/* 0 is no right, so that a test finds a forgotten column. */
enum right {
    RIGHT_ANYONE = 1,
    RIGHT_HISTORY, /* root, the daemon's own uid and its history-user: they see all */
    RIGHT_USE, /* allow-users and allow-groups of each named resource */
    RIGHT_OWNER, /* the lease's uid, or an admin of its resources */
    RIGHT_LEASE_ADMIN, /* an admin of all the lease's resources, or of the daemon */
    RIGHT_RESOURCE_ADMIN, /* an admin of the resource named first, or of the daemon */
    RIGHT_DAEMON_ADMIN,
};

struct command_row {
    const char *word;
    uint16_t head; /* the word's length and first byte: few have the same */
    uint8_t min, max; /* positional arguments */
    uint32_t keys; /* bit 1 << enum request_key for each key it takes */
    enum right right;
    const char *help;
};

extern const struct command_row command_table[N_COMMANDS];

/* N_COMMANDS: there is none such. */
enum command_index command_index_of(const char *word, size_t length);
/* Whether the request is about a lease, whose resources may hide it. */
static inline bool command_is_of_lease(enum command_index command)
{
    enum right right = command_table[command].right;
    return right == RIGHT_OWNER || right == RIGHT_LEASE_ADMIN;
}

struct request_key_row {
    const char *word;
    uint16_t head;
    uint16_t max_bytes; /* of its decoded value */
};

extern const struct request_key_row request_key_table[N_REQUEST_KEYS];

/* A parsed request. All pointers point into the line it was parsed from. */
struct request {
    enum command_index command;
    size_t n_arguments;
    const char *arguments[MAX_ARGUMENTS]; /* decoded */
    const char *keys[N_REQUEST_KEYS]; /* decoded; NULL if absent */
};

/* Parses `line` in place; its LF is a NUL already, and `length` does not count it. Returns
 * CODE_NONE or the error; on an error *detailp is the offending word, or NULL. */
enum code request_parse(char *line, size_t length, struct request *request, const char **detailp);
