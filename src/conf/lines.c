/* lines.c - one file -> calls of sections.h, by way of inih.
 *
 * inih takes lines of at most 197 bytes; much of what it does not take it cuts, joins to other
 * lines or skips silently. So this file reads whole lines of any length, keeps section headers to
 * itself, complains of malformed lines, and gives inih only lines that it takes: a long value in
 * pieces, as indented lines. */
#include "conf/sections.h"

#include "base/utf8.h"

#include <assert.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct reader {
    struct loading *loading;
    FILE *stream;
    char *line; /* the line being read; from `text` on without end, comment and indentation */
    size_t size;
    char *text;
    char *rest; /* words that inih has not been given yet; NULL if none */
    uint32_t number;
    enum {
        ABOVE_NOTHING, /* no key in this section yet */
        ABOVE_KEY, /* an indented line continues its value */
        ABOVE_ERROR, /* its continuation is passed over */
    } above;
    bool is_key; /* inih's current piece begins with a key */
    bool is_at_end;
    bool unanswered; /* inih has a piece and has not called the handler yet */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char *skip_blanks(char *text)
{
    return text + strspn(text, " \t");
}

static void reader_complain(struct reader *reader, const char *what)
{
    section_complain(reader->loading, reader->number, NULL, "%s", what);
}

/* Skips the line and its continuation. The caller complains. */
static void refuse_line(struct reader *reader)
{
    section_refuse(reader->loading, reader->number, reader->text);
    reader->above = ABOVE_ERROR;
    reader->rest = NULL;
    reader->unanswered = false;
}

/* ---- checking a line ---- */

/* As inih does: a comment begins at the start of a line, or with a semicolon after white space. */
static void cut_comment(char *line)
{
    char *text = skip_blanks(line);
    if (*text == '#' || *text == ';') {
        *text = '\0';
    }
    for (char *c = text; *c; c++) {
        if (*c == ';' && c > line && is_blank(c[-1])) {
            *c = '\0';
            break;
        }
    }
    size_t n = strlen(line);
    while (n > 0 && is_blank(line[n - 1])) {
        n--;
    }
    line[n] = '\0';
}

/* The length of the UTF-8 character at `text`, or 0 if there is none or it is a control. */
static size_t character_length(const char *text)
{
    uint32_t character;
    size_t n = utf8_decode(text, &character);
    bool is_control = n > 0 && (character < 0x20 || (character >= 0x7f && character < 0xa0));
    return is_control && character != '\t' ? 0 : n;
}

static const char *find_bad_byte(const char *text)
{
    while (*text) {
        size_t n = character_length(text);
        if (n == 0) {
            return text;
        }
        text += n;
    }
    return NULL;
}

/* False, with a complaint, if inih cannot take one of the words. */
static bool check_words(struct reader *reader)
{
    for (char *word = reader->text; *word; word = skip_blanks(word)) {
        size_t n = strcspn(word, " \t");
        if (*word == '#') {
            refuse_line(reader);
            reader_complain(reader, "a comment after a value begins with \" ;\", not with \"#\"");
            return false;
        }
        if (n > WORD_BYTES) {
            refuse_line(reader);
            section_complain(reader->loading, reader->number, NULL,
                "\"%.*s...\" is too long: a line may have any length, but a word of it at most %d "
                "bytes, and this one has %zu",
                quote_length(word), word, WORD_BYTES, n);
            return false;
        }
        word += n;
    }
    return true;
}

/* ---- kinds of lines ---- */

static void take_header(struct reader *reader, bool is_indented)
{
    char *inside = reader->text + 1;
    char *end = strchr(inside, ']');
    reader->above = ABOVE_NOTHING;
    if (end) {
        *end = '\0';
    }
    section_open(reader->loading, reader->number, end ? inside : NULL);
    if (!end) {
        reader_complain(reader, "no \"]\" follows the section's name");
    } else if (end[1] != '\0') {
        section_complain(reader->loading, reader->number, NULL,
            "\"%.*s%s\" follows the section's name; put it on a line of its own",
            QUOTE(skip_blanks(end + 1)));
    }
    if (is_indented) {
        reader_complain(reader, "a section begins at the start of its line");
    }
}

static void take_continuation(struct reader *reader)
{
    if (reader->above == ABOVE_NOTHING) {
        reader_complain(
            reader, "an indented line continues the value of the key above it, but there is none");
    } else if (reader->above == ABOVE_KEY) {
        reader->rest = reader->text;
        reader->is_key = false;
    }
}

static void take_text(struct reader *reader, bool is_indented)
{
    const char *bad = find_bad_byte(reader->text);
    if (bad) {
        refuse_line(reader);
        section_complain(reader->loading, reader->number, NULL,
            "the byte 0x%02x is neither text nor part of UTF-8", (unsigned char)*bad);
    } else if (reader->text[0] == '[') {
        take_header(reader, is_indented);
    } else if (!check_words(reader)) {
        return;
    } else if (is_indented && !strchr(reader->text, '=')) {
        take_continuation(reader);
    } else {
        if (is_indented) {
            reader_complain(reader,
                "a key begins at the start of its line (an indented line "
                "continues the value above it)");
        }
        reader->rest = reader->text;
        reader->is_key = true;
        reader->above = ABOVE_KEY;
    }
}

/* False at the end of the file. */
static bool next_line(struct reader *reader)
{
    ssize_t n = getline(&reader->line, &reader->size, reader->stream);
    if (n < 0) {
        if (!feof(reader->stream) && !ferror(reader->stream)) {
            abort(); /* no memory for the line: only a part of the file would be read */
        }
        return false;
    }
    reader->number++;
    bool has_zero = strlen(reader->line) != (size_t)n;
    char *line = reader->line;
    if (n > 0 && line[n - 1] == '\n') {
        line[--n] = '\0';
    }
    if (n > 0 && line[n - 1] == '\r') {
        line[--n] = '\0';
    }
    if (reader->number == 1 && strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
        line += strlen(BYTE_ORDER_MARK);
    }
    cut_comment(line);
    reader->text = skip_blanks(line);
    if (has_zero) {
        refuse_line(reader);
        reader_complain(reader, "contains a zero byte");
    } else if (reader->text[0] != '\0') {
        take_text(reader, reader->text > line);
    }
    return true;
}

/* ---- feeding inih ---- */

/* Writes as many words as fit into `size` bytes, at least one. */
static void write_piece(struct reader *reader, char *out, size_t size)
{
    size_t length = 0;
    char *word = reader->rest;
    while (*word) {
        size_t n = strcspn(word, " \t");
        bool blank = length > 0 || !reader->is_key;
        if (length + blank + n + 2 > size) {
            break;
        }
        if (blank) {
            out[length++] = ' ';
        }
        memcpy(out + length, word, n);
        length += n;
        word = skip_blanks(word + n);
    }
    assert(length + 2 <= size);
    out[length++] = '\n';
    out[length] = '\0';
    reader->rest = *word ? word : NULL;
    reader->unanswered = true;
}

/* Complains of what inih did not take for KEY = VALUE. */
static void check_answered(struct reader *reader)
{
    if (reader->unanswered) {
        refuse_line(reader);
        section_complain(reader->loading, reader->number, NULL,
            "\"%.*s%s\" has no \"=\"; a line is KEY = VALUE", QUOTE(reader->text));
    }
}

/* inih reads its lines with this, as with fgets. */
static char *give_line(char *out, int size, void *stream)
{
    struct reader *reader = stream;
    check_answered(reader);
    if (reader->rest) {
        reader->is_key = false;
        write_piece(reader, out, (size_t)size);
    } else if (!next_line(reader)) {
        reader->is_at_end = true;
        return NULL;
    } else if (reader->rest) {
        write_piece(reader, out, (size_t)size);
    } else {
        memcpy(out, "\n", 2);
    }
    return out;
}

static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct reader *reader = user;
    (void)section;
    reader->unanswered = false;
    if (reader->is_key) {
        section_key(reader->loading, reader->number, name, value);
    } else {
        section_more(reader->loading, reader->number, value);
    }
    return 1;
}

void lines_read(struct loading *loading, FILE *stream)
{
    struct reader reader = {.loading = loading, .stream = stream};
    /* its result adds nothing to the complaints */
    ini_parse_stream(give_line, &reader, take_pair, &reader);
    section_close(loading);
    if (!reader.is_at_end) {
        reader_complain(&reader, "inih stopped reading here");
    }
    free(reader.line);
}
