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

/* Length and first byte of a word: few have the same. */
#define HEAD(word) (uint16_t)((sizeof(word) - 1) << 8 | (unsigned char)(word)[0])

static const uint16_t command_heads[N_COMMANDS] = {
#define COMMAND(word, ...) [COMMAND_##word] = HEAD(#word),
#include "wire/commands.def"
#undef COMMAND
};

static const uint16_t request_key_heads[N_REQUEST_KEYS] = {
#define REQUEST_KEY(word, max) [KEY_INDEX_##word] = HEAD(#word),
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

/* 0, which is no word's, if it is too long for one. */
static uint16_t head_of(const char *word, size_t length)
{
    return length <= UINT8_MAX ? (uint16_t)(length << 8 | (unsigned char)word[0]) : 0;
}

static enum command_index command_find(const char *word, size_t length)
{
    enum command_index i = 0;
    uint16_t head = head_of(word, length);
    while (i < N_COMMANDS &&
        !(command_heads[i] == head && memcmp(command_table[i].word, word, length) == 0)) {
        i++;
    }
    return i;
}

static enum request_key request_key_find(const char *word, size_t length)
{
    enum request_key i = 0;
    uint16_t head = head_of(word, length);
    while (i < N_REQUEST_KEYS &&
        !(request_key_heads[i] == head && memcmp(request_key_words[i], word, length) == 0)) {
        i++;
    }
    return i;
}

/* ---- a line's words ---- */

struct word {
    char *text, *end; /* up to its end, where a NUL is put */
    char *equals; /* the first; NULL: none */
    bool has_escape;
};

/* As many as a good line can have and one more, so that a longer line is never taken for one. */
enum { MAX_WORDS_TAKEN = 1 + MAX_ARGUMENTS + N_REQUEST_KEYS + 1 };

enum byte_class { BYTE_WRONG, BYTE_PLAIN, BYTE_SPACE, BYTE_EQUALS, BYTE_PERCENT };

static const uint8_t byte_classes[UINT8_MAX + 1] = {
    [' '] = BYTE_SPACE,
    ['!' ... '$'] = BYTE_PLAIN,
    ['%'] = BYTE_PERCENT,
    ['&' ... '<'] = BYTE_PLAIN,
    ['='] = BYTE_EQUALS,
    ['>' ... '~'] = BYTE_PLAIN,
};

static enum byte_class class_of(char byte)
{
    return (enum byte_class)byte_classes[(unsigned char)byte];
}

/* Finds the end of the word that begins at `text`. False: there is a wrong byte, or no word. */
static bool word_scan(char *text, const char *end_of_line, struct word *word)
{
    *word = (struct word){.text = text, .end = text};
    for (;; word->end++) {
        while (class_of(*word->end) == BYTE_PLAIN) {
            word->end++;
        }
        enum byte_class class = class_of(*word->end);
        if (class == BYTE_EQUALS) {
            word->equals = word->equals ? word->equals : word->end;
        } else if (class == BYTE_PERCENT) {
            word->has_escape = true;
        } else {
            bool ends = class == BYTE_SPACE || word->end == end_of_line;
            return ends && word->end > text;
        }
    }
}

/* Cuts the whole line up, but lists only the first MAX_WORDS_TAKEN words. Returns how many are
 * listed; 0: a byte is wrong, or there is a space too many. */
static size_t line_cut(char *line, size_t length, struct word words[MAX_WORDS_TAKEN])
{
    const char *end = line + length;
    size_t n = 0;
    for (char *next = line;; next++) {
        struct word word;
        if (!word_scan(next, end, &word)) {
            return 0;
        }
        next = word.end;
        *next = '\0';
        if (n < MAX_WORDS_TAKEN) {
            words[n++] = word;
        }
        if (next == end) {
            return n;
        }
    }
}

/* ---- requests ---- */

/* Sets `*lengthp` to the length of what is decoded in place. */
static bool decode(char *text, const struct word *word, size_t *lengthp)
{
    bool is_good = !word->has_escape || percent_decode(text);
    *lengthp = word->has_escape ? strlen(text) : (size_t)(word->end - text);
    return is_good;
}

static enum code request_take_key(
    struct request *request, const struct command_row *row, const struct word *word)
{
    enum request_key key = request_key_find(word->text, (size_t)(word->equals - word->text));
    if (key == N_REQUEST_KEYS || !(row->keys & UINT32_C(1) << key)) {
        return CODE_UNKNOWN_KEY;
    }
    if (request->keys[key]) {
        return CODE_MALFORMED; /* the key is given twice */
    }
    char *value = word->equals + 1;
    size_t length;
    if (!decode(value, word, &length)) {
        return CODE_MALFORMED;
    }
    if (length == 0 || length > request_key_max_bytes[key]) {
        return CODE_BAD_VALUE;
    }
    request->keys[key] = value;
    return CODE_NONE;
}

static enum code request_take_argument(
    struct request *request, const struct command_row *row, const struct word *word)
{
    size_t length;
    if (request->n_arguments >= row->max || !decode(word->text, word, &length)) {
        return CODE_MALFORMED;
    }
    request->arguments[request->n_arguments++] = word->text;
    return CODE_NONE;
}

enum code request_parse(char *line, size_t length, struct request *request, const char **detailp)
{
    struct word words[MAX_WORDS_TAKEN];
    *detailp = NULL;
    *request = (struct request){0};
    size_t n = line_cut(line, length, words);
    if (n == 0) {
        return CODE_MALFORMED;
    }
    request->command = command_find(line, (size_t)(words[0].end - line));
    if (request->command == N_COMMANDS) {
        *detailp = line;
        return CODE_UNKNOWN_COMMAND;
    }
    const struct command_row *row = &command_table[request->command];
    for (size_t i = 1; i < n; i++) {
        enum code code = words[i].equals ? request_take_key(request, row, &words[i])
                                         : request_take_argument(request, row, &words[i]);
        if (code != CODE_NONE) {
            *detailp = words[i].text;
            return code;
        }
    }
    return request->n_arguments < row->min ? CODE_MALFORMED : CODE_NONE;
}
