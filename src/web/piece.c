#include "web/piece.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct piece *piece_new(const char *name)
{
    struct piece *piece = memory_new(sizeof *piece);
    piece->name = memory_string(name);
    return piece;
}

void piece_free(struct piece *piece)
{
    text_deinit(&piece->text);
    free(piece->numbers);
    free(piece->name);
    free(piece);
}

void piece_begin(struct piece *piece)
{
    piece->text.length = 0;
    piece->n_numbers = 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_number(struct piece *piece, size_t at, bool grows)
{
    const char *digits = piece->text.bytes + at;
    struct piece_number number = {.at = at, .grows = grows};
    for (; is_digit(digits[number.length]) && number.length < MAX_DIGITS - 1; number.length++) {
        number.value = number.value * 10 + (uint64_t)(digits[number.length] - '0');
    }
    if (number.length == 0) {
        return; /* null */
    }
    if (piece->n_numbers == piece->numbers_size) {
        piece->numbers_size = piece->numbers_size > 0 ? 2 * piece->numbers_size : 4;
        piece->numbers =
            memory_resize(piece->numbers, piece->numbers_size, sizeof *piece->numbers);
    }
    piece->numbers[piece->n_numbers++] = number;
}

/* Within a string a quote follows a backslash, so that no string contains such a key. */
void piece_end(struct piece *piece, uint64_t serial, nanoseconds now)
{
    static const char *const keys[] = {"\"age_ms\":", "\"left_ms\":"};
    const char *at = piece->text.bytes;
    while (at && (at = strstr(at, "_ms\":")) != NULL) {
        at += strlen("_ms\":");
        for (size_t i = 0; i < 2; i++) {
            size_t n = strlen(keys[i]), end = (size_t)(at - piece->text.bytes);
            if (end >= n && memcmp(at - n, keys[i], n) == 0) {
                add_number(piece, end, i == 0);
            }
        }
    }
    piece->made = serial;
    piece->made_at = now;
}

void piece_add(const struct piece *piece, nanoseconds now, struct text *out)
{
    uint64_t passed = milliseconds(now - piece->made_at);
    size_t from = 0;
    for (size_t i = 0; i < piece->n_numbers; i++) {
        const struct piece_number *number = &piece->numbers[i];
        uint64_t left = number->value > passed ? number->value - passed : 0;
        text_add_bytes(out, piece->text.bytes + from, number->at - from);
        text_add_number(out, number->grows ? number->value + passed : left);
        from = number->at + number->length;
    }
    text_add_bytes(out, piece->text.bytes + from, piece->text.length - from);
}
