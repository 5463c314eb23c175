/* top_line.c - one line of the screen of `berthctl top`: text that never leaves its columns, and
 * how each part of it looks. Pure but for the locale, as printable.h. */
#include "top/top_internal.h"

#include "view/printable.h"

#include <string.h>

void top_line_init(struct top_line *line, size_t max)
{
    *line = (struct top_line){.max = max};
    text_add(&line->text, "");
}

void top_line_deinit(struct top_line *line)
{
    text_deinit(&line->text);
}

size_t top_line_room(const struct top_line *line)
{
    return line->max - line->columns;
}

/* What does not fit into the table of parts looks like the part before it. */
static void begin_part(struct top_line *line, enum look look)
{
    bool is_same =
        line->n_parts > 0 ? line->parts[line->n_parts - 1].look == look : look == LOOK_PLAIN;
    if (!is_same && line->n_parts < TOP_PARTS) {
        line->parts[line->n_parts++] = (struct top_part){line->text.length, look};
    }
}

static void add_cut(struct top_line *line, enum look look, const char *escaped, size_t width,
    void (*cut)(struct text *text, const char *escaped, size_t width))
{
    size_t before = line->text.length;
    if (width == 0) {
        return;
    }
    begin_part(line, look);
    cut(&line->text, escaped, width);
    line->columns += text_width(line->text.bytes + before);
}

static void add_blanks(struct top_line *line, size_t n)
{
    size_t room = top_line_room(line);
    n = n < room ? n : room;
    if (n > 0) {
        begin_part(line, LOOK_PLAIN);
        text_add_repeated(&line->text, ' ', n);
        line->columns += n;
    }
}

void top_line_add(struct top_line *line, enum look look, const char *escaped)
{
    add_cut(line, look, escaped, top_line_room(line), text_add_cut);
}

void top_line_take(struct top_line *line, enum look look, struct text *escaped)
{
    top_line_add(line, look, escaped->bytes);
    text_deinit(escaped);
}

static void add_cell(struct top_line *line, enum look look, const char *escaped, size_t width,
    bool is_right, void (*cut)(struct text *text, const char *escaped, size_t width))
{
    size_t room = top_line_room(line), needed = text_width(escaped);
    width = width < room ? width : room;
    needed = needed < width ? needed : width;
    add_blanks(line, is_right ? width - needed : 0);
    add_cut(line, look, escaped, needed, cut);
    add_blanks(line, (is_right ? 0 : width - needed) + 1);
}

void top_line_add_cell(
    struct top_line *line, enum look look, const char *escaped, size_t width, bool is_right)
{
    add_cell(line, look, escaped, width, is_right, text_add_cut);
}

void top_line_add_name(struct top_line *line, enum look look, const char *escaped, size_t width)
{
    add_cell(line, look, escaped, width, false, text_add_cut_inside);
}

/* ---- paragraphs ---- */

/* How many bytes of a word fit into so many columns: at least one character. */
static size_t fitting(const char *word, size_t n, size_t width)
{
    size_t first = n > 0;
    while (first < n && ((unsigned char)word[first] & 0xc0) == 0x80) {
        first++;
    }
    size_t most = text_fitting(word, n, &width);
    return most > first ? most : first;
}

/* One paragraph, which begins with blanks that stand before each of its lines. */
static void add_paragraph(struct text *text, const char *escaped, size_t n, size_t width)
{
    size_t indent = strspn(escaped, " ");
    indent = indent < width / 2 ? indent : 0;
    size_t at = 0, column = 0;
    while (at < n) {
        size_t blanks = strspn(escaped + at, " ");
        size_t word = strcspn(escaped + at + blanks, " \n");
        size_t columns = text_width_of(escaped + at + blanks, word);
        if (column > indent && column + blanks + columns > width) {
            text_add(text, "\n");
            column = 0;
        }
        blanks = column == 0 ? indent : blanks;
        text_add_repeated(text, ' ', blanks);
        column += blanks;
        at += strspn(escaped + at, " ");
        size_t part = fitting(escaped + at, word, width > column ? width - column : 1);
        text_add_bytes(text, escaped + at, part);
        column += text_width_of(escaped + at, part);
        at += part;
    }
    text_add(text, "\n");
}

void text_add_wrapped(struct text *text, const char *escaped, size_t width)
{
    text_add(text, "");
    while (*escaped) {
        size_t n = strcspn(escaped, "\n");
        add_paragraph(text, escaped, n, width > 0 ? width : 1);
        escaped += n + (escaped[n] == '\n');
    }
}
