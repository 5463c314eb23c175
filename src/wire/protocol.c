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

#define HEAD(word) (uint16_t)((sizeof(word) - 1) << 8 | (unsigned char)(word)[0])

const struct command_row command_table[N_COMMANDS] = {
#define COMMAND(word, min, max, keys, right, help)                                                 \
    [COMMAND_##word] = {#word, HEAD(#word), min, max, keys, RIGHT_##right, help},
#include "wire/commands.def"
#undef COMMAND
};
#undef KEY

/* Of the types of base/attributes.def. */
#define VALUE_BYTES_TEXT(bound) bound
#define VALUE_BYTES_NUMBER(bound) 10
#define VALUE_BYTES_SPAN(bound) 32
#define VALUE_BYTES_ON_LOST(bound) 4
#define VALUE_BYTES_SIGNAL(bound) 2
#define VALUE_BYTES_LEASE(bound) LEASE_ID_SIZE
#define VALUE_BYTES_REPLACE(bound) 7
const struct request_key_row request_key_table[N_REQUEST_KEYS] = {
#define REQUEST_KEY(word, max) [KEY_INDEX_##word] = {#word, HEAD(#word), max},
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
    size_t event = words_index(word, event_words, N_EVENTS);
    return event < N_EVENTS ? (enum event)event : EVENT_NONE;
}

/* 0, which is no word's, if it is too long for one. */
static uint16_t head_of(const char *word, size_t length)
{
    return length <= UINT8_MAX ? (uint16_t)(length << 8 | (unsigned char)word[0]) : 0;
}

enum command_index command_index_of(const char *word, size_t length)
{
    enum command_index i = 0;
    uint16_t head = head_of(word, length);
    while (i < N_COMMANDS &&
        !(command_table[i].head == head && memcmp(command_table[i].word, word, length) == 0)) {
        i++;
    }
    return i;
}

/* N_REQUEST_KEYS: there is none such. */
static enum request_key request_key_find(const char *word, size_t length)
{
    uint16_t head = head_of(word, length);
    for (enum request_key i = N_REQUEST_KEYS; i-- > 0;) {
        const struct request_key_row *row = &request_key_table[i];
        if (row->head == head && memcmp(row->word, word, length) == 0) {
            return i;
        }
    }
    return N_REQUEST_KEYS;
}

/* ---- a line's words ---- */

struct word {
    char *text, *end; /* up to its end, where a NUL is put */
    char *equals; /* the first; NULL: none */
    bool has_escape;
};

/* 0 is the commonest, which a loop tests for. */
enum byte_class { BYTE_PLAIN, BYTE_WRONG, BYTE_SPACE, BYTE_EQUALS, BYTE_PERCENT };

static const uint8_t byte_classes[UINT8_MAX + 1] = {
    [0 ... ' ' - 1] = BYTE_WRONG,
    [' '] = BYTE_SPACE,
    ['%'] = BYTE_PERCENT,
    ['='] = BYTE_EQUALS,
    ['~' + 1 ... UINT8_MAX] = BYTE_WRONG,
};

/* Finds the end of the word that begins at `text`, and ends it. False: there is a wrong byte, or no
 * word. */
static bool word_cut_off(char *text, const char *end_of_line, struct word *word)
{
    char *at = text;
    *word = (struct word){.text = text};
    for (;; at++) {
        uint8_t class;
        while ((class = byte_classes[(unsigned char)*at]) == BYTE_PLAIN) {
            at++;
        }
        if (class == BYTE_EQUALS) {
            word->equals = word->equals ? word->equals : at;
        } else if (class == BYTE_PERCENT) {
            word->has_escape = true;
        } else {
            bool ends = class == BYTE_SPACE || at == end_of_line;
            word->end = at;
            *at = '\0';
            return ends && at > text;
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

static enum code request_take_key(struct request *request, const struct word *word)
{
    enum request_key key = request_key_find(word->text, (size_t)(word->equals - word->text));
    if (key == N_REQUEST_KEYS ||
        !(command_table[request->command].keys & UINT32_C(1) << key)) {
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
    if (length == 0 || length > request_key_table[key].max_bytes) {
        return CODE_BAD_VALUE;
    }
    request->keys[key] = value;
    return CODE_NONE;
}

static enum code request_take_argument(struct request *request, const struct word *word)
{
    size_t length;
    if (request->n_arguments >= command_table[request->command].max ||
        !decode(word->text, word, &length)) {
        return CODE_MALFORMED;
    }
    request->arguments[request->n_arguments++] = word->text;
    return CODE_NONE;
}

static enum code request_take_command(struct request *request, const struct word *word)
{
    request->command = command_index_of(word->text, (size_t)(word->end - word->text));
    return request->command < N_COMMANDS ? CODE_NONE : CODE_UNKNOWN_COMMAND;
}

static enum code request_take(struct request *request, const struct word *word, const char *line)
{
    return word->text == line ? request_take_command(request, word)
        : word->equals        ? request_take_key(request, word)
                              : request_take_argument(request, word);
}

/* The first wrong word decides what the error is, but a wrong byte anywhere comes before it. */
enum code request_parse(char *line, size_t length, struct request *request, const char **detailp)
{
    const char *end = line + length;
    enum code code = CODE_NONE;
    struct word word;
    *detailp = NULL;
    *request = (struct request){0};
    for (char *next = line; next <= end; next = word.end + 1) {
        if (!word_cut_off(next, end, &word)) {
            *detailp = NULL;
            return CODE_MALFORMED;
        }
        if (code == CODE_NONE && (code = request_take(request, &word, line)) != CODE_NONE) {
            *detailp = word.text;
        }
    }
    bool is_short =
        code == CODE_NONE && request->n_arguments < command_table[request->command].min;
    return is_short ? CODE_MALFORMED : code;
}
