#include "base/words.h"

#include <stdio.h>
#include <string.h>

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    static const bool are[UINT8_MAX + 1] = {
        ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['.'] = true,
        ['_'] = true, ['/'] = true, ['@'] = true, ['+'] = true, ['-'] = true};
    return are[(unsigned char)c];
}

static bool is_dots(const char *part, size_t n)
{
    return (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
}

/* `n` bytes of a name, without a template's star. */
static bool name_bytes_are_valid(const char *name, size_t n)
{
    if (n < 1 || n > NAME_BYTES || !is_alnum(name[0])) {
        return false;
    }
    size_t part = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && name[i] != '/') {
            if (!is_name_byte(name[i])) {
                return false;
            }
            continue;
        }
        if (i == part || is_dots(name + part, i - part)) {
            return false;
        }
        part = i + 1;
    }
    return true;
}

bool name_is_valid(const char *name)
{
    return name_bytes_are_valid(name, strlen(name));
}

bool template_name_is_valid(const char *name)
{
    size_t n = strlen(name);
    return n >= 3 && n <= NAME_BYTES && name[n - 1] == '*' && name[n - 2] == '/' &&
        name_bytes_are_valid(name, n - 2);
}

bool item_is_valid(const char *item)
{
    size_t n = 0;
    while (is_alnum(item[n]) || (item[n] != '\0' && strchr("._/:@+-", item[n]))) {
        n++;
    }
    return item[n] == '\0' && n >= 1 && n <= ITEM_BYTES;
}

bool number_parse(const char *text, uint64_t max, uint64_t *valuep)
{
    if (!is_digit(text[0]) || (text[0] == '0' && text[1] != '\0')) {
        return false;
    }
    uint64_t value = 0;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (!is_digit(*text) || value > max / 10 || digit > max - value * 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *valuep = value;
    return true;
}

int numbers_compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

bool range_parse(
    const char *text, size_t length, uint64_t max, uint64_t *firstp, uint64_t *lastp)
{
    char copy[48];
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *dash = strchr(copy, '-');
    if (dash) {
        *dash = '\0';
    }
    if (!number_parse(copy, max, firstp)) {
        return false;
    }
    *lastp = *firstp;
    return !dash || (number_parse(dash + 1, max, lastp) && *lastp > *firstp);
}

bool size_parse(const char *text, uint64_t max, uint64_t *bytesp)
{
    static const char suffixes[] = "KMG";
    char digits[24];
    size_t n = strcspn(text, suffixes);
    const char *suffix = text[n] ? strchr(suffixes, text[n]) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if (n >= sizeof digits || (suffix && text[n + 1] != '\0')) {
        return false;
    }
    memcpy(digits, text, n);
    digits[n] = '\0';
    bool is_good = number_parse(digits, max >> shift, bytesp);
    *bytesp = is_good ? *bytesp << shift : 0;
    return is_good;
}

bool signed_number_parse(const char *text, int64_t max, int64_t *valuep)
{
    bool negative = text[0] == '-';
    uint64_t magnitude;
    if (!number_parse(text + negative, (uint64_t)max, &magnitude)) {
        return false;
    }
    *valuep = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* Largest first. The plain number's "" comes last so that formatting never chooses it. */
static const struct {
    const char *suffix;
    int64_t nanoseconds;
} duration_units[] = {
    {"d", INT64_C(86400) * 1000000000},
    {"h", INT64_C(3600) * 1000000000},
    {"m", INT64_C(60) * 1000000000},
    {"s", INT64_C(1000000000)},
    {"ms", INT64_C(1000000)},
    {"", INT64_C(1000000000)},
};

enum {
    N_DURATION_UNITS = sizeof duration_units / sizeof duration_units[0],
    MAX_DURATION_SECONDS = 10 * 365 * 86400,
};

enum { N_SUFFIXES = N_DURATION_UNITS - 1 }; /* the last unit is written without one */

/* The unit of `text` up to the next digit or its end; N_DURATION_UNITS if there is none such. */
static size_t duration_unit(const char *text, size_t *lengthp)
{
    size_t length = strcspn(text, "0123456789");
    size_t u = 0;
    while (u < N_DURATION_UNITS &&
        (strlen(duration_units[u].suffix) != length ||
            strncmp(duration_units[u].suffix, text, length) != 0)) {
        u++;
    }
    *lengthp = length;
    return u;
}

/* Parses one number with its unit, which must be at or behind *unitp, and adds it. Sets *unitp to
 * the first unit that may follow. Returns the rest; NULL if it is malformed or too long. */
static const char *duration_part(const char *text, size_t *unitp, int64_t *sump)
{
    const int64_t max = MAX_DURATION_SECONDS * INT64_C(1000000000);
    uint64_t whole = 0;
    const char *first = text, *fraction = "";
    for (; is_digit(*text); text++) {
        whole = whole * 10 + (uint64_t)(*text - '0');
        if (whole > (uint64_t)MAX_DURATION_SECONDS * 1000) {
            return NULL;
        }
    }
    bool is_number = text > first;
    if (*text == '.') {
        fraction = ++text;
        is_number = is_number && is_digit(*fraction);
        text += strspn(text, "0123456789");
    }
    size_t length, u = duration_unit(text, &length);
    bool is_bare = u == N_SUFFIXES;
    if (!is_number || u == N_DURATION_UNITS || u < *unitp || (is_bare && *unitp > 0)) {
        return NULL;
    }
    int64_t unit = duration_units[u].nanoseconds;
    if ((int64_t)whole > max / unit) {
        return NULL;
    }
    int64_t value = (int64_t)whole * unit;
    for (int64_t place = unit / 10; is_digit(*fraction); fraction++, place /= 10) {
        value += (*fraction - '0') * place;
    }
    *unitp = u + 1;
    *sump += value;
    return *sump <= max ? text + length : NULL;
}

bool duration_parse(const char *text, int64_t *nanosecondsp)
{
    int64_t sum = 0;
    size_t unit = 0;
    do {
        text = duration_part(text, &unit, &sum);
    } while (text && *text);
    if (!text) {
        return false;
    }
    *nanosecondsp = sum;
    return true;
}

size_t duration_format(char *out, size_t size, int64_t nanoseconds)
{
    int64_t milliseconds = nanoseconds / 1000000;
    size_t u = 0;
    while (u < N_DURATION_UNITS - 2 &&
        (milliseconds == 0 || milliseconds % (duration_units[u].nanoseconds / 1000000) != 0)) {
        u++;
    }
    if (milliseconds == 0) {
        return (size_t)snprintf(out, size, "0s");
    }
    return (size_t)snprintf(out, size, "%lld%s",
        (long long)(milliseconds / (duration_units[u].nanoseconds / 1000000)),
        duration_units[u].suffix);
}

size_t age_format(char *out, size_t size, uint64_t milliseconds)
{
    static const struct {
        uint64_t seconds, part; /* of the unit; of the next smaller unit */
        char unit, smaller;
    } units[] = {{86400, 3600, 'd', 'h'}, {3600, 60, 'h', 'm'}, {60, 1, 'm', 's'}};
    uint64_t seconds = milliseconds / 1000;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (seconds >= units[i].seconds) {
            return (size_t)snprintf(out, size, "%llu%c%02llu%c",
                (unsigned long long)(seconds / units[i].seconds), units[i].unit,
                (unsigned long long)(seconds % units[i].seconds / units[i].part), units[i].smaller);
        }
    }
    return (size_t)snprintf(out, size, "%llus", (unsigned long long)seconds);
}

static bool stays_plain(char c)
{
    static const bool are_plain[UINT8_MAX + 1] = {['!' ... '$'] = true, ['&' ... '~'] = true};
    return are_plain[(unsigned char)c];
}

size_t percent_plain(const char *text)
{
    size_t n = 0;
    while (stays_plain(text[n])) {
        n++;
    }
    return n;
}

size_t percent_encoded_length(const char *text)
{
    size_t n = percent_plain(text); /* all of it, as a rule */
    return text[n] ? n + percent_encode(NULL, 0, text + n) : n;
}

size_t percent_encode(char *out, size_t size, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    if (size > 0) {
        out[0] = '\0';
    }
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        const char encoded[] = {'%', hex[c >> 4], hex[c & 15]};
        bool is_plain = stays_plain(*text);
        size_t need = is_plain ? 1 : sizeof encoded;
        if (n + need < size) {
            memcpy(out + n, is_plain ? text : encoded, need);
            out[n + need] = '\0';
        } else if (n < size) {
            size = n + 1; /* after one part that did not fit, no shorter one may follow */
        }
        n += need;
    }
    return n;
}

static int hex_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool percent_decode(char *text)
{
    char *out = strchr(text, '%');
    if (!out) {
        return true;
    }
    for (const char *in = out; *in; in++) {
        if (*in != '%') {
            *out++ = *in;
            continue;
        }
        int high = hex_value(in[1]);
        int low = high < 0 ? -1 : hex_value(in[2]);
        if (low < 0 || (high == 0 && low == 0)) {
            return false;
        }
        *out++ = (char)(high << 4 | low);
        in += 2;
    }
    *out = '\0';
    return true;
}

char *word_cut(char *text)
{
    char *space = strchr(text, ' ');
    if (!space) {
        return NULL;
    }
    *space = '\0';
    return space + 1;
}

size_t words_split(char *line, char *words[], size_t max)
{
    size_t n = 0;
    for (char *rest = line; rest && *rest; ) {
        if (n == max) {
            return 0;
        }
        words[n++] = rest;
        rest = word_cut(rest);
    }
    return n;
}

size_t words_index(const char *word, const char *const list[], size_t n)
{
    size_t i = 0;
    while (i < n && !(list[i] && strcmp(list[i], word) == 0)) {
        i++;
    }
    return i;
}

bool word_look_up(const char *const words[], const char *word, unsigned *placep)
{
    unsigned i = 0;
    while (words[i] && strcmp(words[i], word) != 0) {
        i++;
    }
    if (words[i]) {
        *placep = i;
    }
    return words[i];
}

char *words_find(char *const words[], size_t n, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(words[i], key, length) == 0 && words[i][length] == '=') {
            return words[i] + length + 1;
        }
    }
    return NULL;
}

bool words_find_number(char *const words[], size_t n, const char *key, uint64_t *numberp)
{
    const char *value = words_find(words, n, key);
    return value && number_parse(value, INT64_MAX, numberp);
}

void names_cut(char *out, size_t size, const char *names)
{
    size_t n = strlen(names);
    if (n >= size) {
        n = size - sizeof ",...";
        while (n > 0 && names[n] != ',') {
            n--;
        }
        snprintf(out, size, "%.*s%s...", (int)n, names, n > 0 ? "," : "");
    } else {
        memcpy(out, names, n + 1);
    }
}

/* Crockford's base 32: no i, l, o or u. https://www.crockford.com/base32.html */
static const char base32[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Of each digit its value, plus 1. */
static const uint8_t base32_values[UINT8_MAX + 1] = {
    ['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['g'] = 17, ['h'] = 18, ['j'] = 19, ['k'] = 20, ['m'] = 21, ['n'] = 22, ['p'] = 23, ['q'] = 24,
    ['r'] = 25, ['s'] = 26, ['t'] = 27, ['v'] = 28, ['w'] = 29, ['x'] = 30, ['y'] = 31, ['z'] = 32,
};

size_t lease_id_format(char out[static LEASE_ID_SIZE], uint64_t id)
{
    size_t bits = (size_t)(64 - __builtin_clzll(id | 1)), length = (bits + 4) / 5;
    out[length] = '\0';
    for (size_t n = length; n > 0; id >>= 5) {
        out[--n] = base32[id & 31];
    }
    return length;
}

bool lease_id_parse(const char *text, uint64_t *idp)
{
    uint64_t id = 0;
    size_t n = 0;
    for (; n < LEASE_ID_SIZE - 1 && text[n]; n++) {
        uint8_t value = base32_values[(unsigned char)text[n]];
        if (value == 0 || id >> 59 != 0) {
            return false;
        }
        id = id << 5 | (uint64_t)(value - 1);
    }
    if (n == 0 || text[n] != '\0' || (n > 1 && text[0] == '0')) {
        return false;
    }
    *idp = id;
    return true;
}
