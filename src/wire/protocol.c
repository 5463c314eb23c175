#include "wire/protocol.h"

#include "base/words.h"

#include <string.h>

const struct code_row code_table[N_CODES] = {
#define CODE(id, word, exit_status, meaning) [CODE_##id] = {word, exit_status, meaning},
#include "wire/codes.def"
#undef CODE
};

const char *const event_words[N_EVENTS] = {
#define EVENT(id, word, meaning) [EVENT_##id] = word,
#include "wire/events.def"
#undef EVENT
};

#define KEY(word) (UINT32_C(1) << KEY_INDEX_##word)
enum {
    ATTRIBUTES = 0
#define ATTRIBUTE(word, ...) | KEY(word)
#include "base/attributes.def"
#undef ATTRIBUTE
};

const struct command_row command_table[N_COMMANDS] = {
#define COMMAND(word, min, max, keys, right, help)                                                 \
    [COMMAND_##word] = {#word, min, max, keys, RIGHT_##right, help},
#include "wire/commands.def"
#undef COMMAND
};
#undef KEY

const char *const request_key_words[N_REQUEST_KEYS] = {
#define REQUEST_KEY(word, max) [KEY_INDEX_##word] = #word,
#include "wire/request_keys.def"
#undef REQUEST_KEY
};

static const uint8_t command_lengths[N_COMMANDS] = {
#define COMMAND(word, ...) [COMMAND_##word] = sizeof #word - 1,
#include "wire/commands.def"
#undef COMMAND
};

static const uint8_t request_key_lengths[N_REQUEST_KEYS] = {
#define REQUEST_KEY(word, max) [KEY_INDEX_##word] = sizeof #word - 1,
#include "wire/request_keys.def"
#undef REQUEST_KEY
};

/* Of the types of base/attributes.def. */
#define VALUE_BYTES_TEXT(bound) bound
#define VALUE_BYTES_NUMBER(bound) 10
#define VALUE_BYTES_SPAN(bound) 32
#define VALUE_BYTES_ON_LOST(bound) 4
#define VALUE_BYTES_SIGNAL(bound) 2
#define VALUE_BYTES_LEASE(bound) LEASE_ID_SIZE
static const size_t request_key_max_bytes[N_REQUEST_KEYS] = {
#define REQUEST_KEY(word, max) [KEY_INDEX_##word] = max,
#include "wire/request_keys.def"
#undef REQUEST_KEY
};

_Static_assert(N_REQUEST_KEYS <= 32, "command_row.keys has 32 bits");

enum code code_find(const char *word)
{
    for (enum code code = CODE_NONE + 1; code < N_CODES; code++) {
        if (strcmp(code_table[code].word, word) == 0) {
            return code;
        }
    }
    return CODE_NONE;
}

enum event event_find(const char *word)
{
    for (enum event event = EVENT_NONE + 1; event < N_EVENTS; event++) {
        if (strcmp(event_words[event], word) == 0) {
            return event;
        }
    }
    return EVENT_NONE;
}

/* Few are as long and begin alike. */
static bool is_word(const char *known, size_t known_length, const char *word, size_t length)
{
    return known_length == length && known[0] == word[0] && memcmp(known, word, length) == 0;
}

static enum command_index command_find(const char *word, size_t length)
{
    enum command_index i = 0;
    while (i < N_COMMANDS && !is_word(command_table[i].word, command_lengths[i], word, length)) {
        i++;
    }
    return i;
}

static enum request_key request_key_find(const char *word, size_t length)
{
    enum request_key i = 0;
    while (i < N_REQUEST_KEYS &&
        !is_word(request_key_words[i], request_key_lengths[i], word, length)) {
        i++;
    }
    return i;
}

/* Printable, and no two spaces behind each other. Looks at the byte behind the last. */
static inline bool are_clean(const char *bytes, size_t n)
{
    unsigned char wrong = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        wrong |= (unsigned char)((c < ' ') | (c > '~') | ((c == ' ') & (bytes[i + 1] == ' ')));
    }
    return !wrong;
}

/* In blocks, of which the compiler has all bytes looked at together. */
static bool line_is_clean(const char *line, size_t length)
{
    enum { BLOCK = 16 };
    bool clean = length > 0 && line[0] != ' ' && line[length - 1] != ' ';
    for (; clean && length >= BLOCK; line += BLOCK, length -= BLOCK) {
        clean = are_clean(line, BLOCK);
    }
    return clean && are_clean(line, length);
}

static enum code request_take_key(
    struct request *request, const struct command_row *row, char *word, char *equals)
{
    enum request_key key = request_key_find(word, (size_t)(equals - word));
    if (key == N_REQUEST_KEYS || !(row->keys & UINT32_C(1) << key)) {
        return CODE_UNKNOWN_KEY;
    }
    if (request->keys[key]) {
        return CODE_MALFORMED; /* the key is given twice */
    }
    char *value = equals + 1;
    if (!percent_decode(value)) {
        return CODE_MALFORMED;
    }
    if (value[0] == '\0' || strlen(value) > request_key_max_bytes[key]) {
        return CODE_BAD_VALUE;
    }
    request->keys[key] = value;
    return CODE_NONE;
}

static enum code request_take_argument(
    struct request *request, const struct command_row *row, char *word)
{
    if (request->n_arguments >= row->max || !percent_decode(word)) {
        return CODE_MALFORMED;
    }
    request->arguments[request->n_arguments++] = word;
    return CODE_NONE;
}

enum code request_parse(char *line, size_t length, struct request *request, const char **detailp)
{
    *detailp = NULL;
    *request = (struct request){0};
    if (!line_is_clean(line, length)) {
        return CODE_MALFORMED;
    }
    char *rest = word_cut(line);
    request->command = command_find(line, strlen(line));
    if (request->command == N_COMMANDS) {
        *detailp = line;
        return CODE_UNKNOWN_COMMAND;
    }
    const struct command_row *row = &command_table[request->command];
    while (rest) {
        char *word = rest;
        rest = word_cut(word);
        char *equals = strchr(word, '=');
        enum code code = equals ? request_take_key(request, row, word, equals)
                                : request_take_argument(request, row, word);
        if (code != CODE_NONE) {
            *detailp = word;
            return code;
        }
    }
    return request->n_arguments < row->min ? CODE_MALFORMED : CODE_NONE;
}
