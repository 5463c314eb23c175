/* What a line of the configuration is: all that inih alone would cut, join or pass over is a clean
 * error with its line, and values may be long. */
#include "conf/sections.h"
#include "conf_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(conf_lines, .init = conf_test_init, .fini = scratch_end, .timeout = 20);

#define KINDS "there are [daemon], [redis NAME], [semaphore NAME], [lock NAME] and [pool NAME]"
#define NAME_RULE                                                                                  \
    "not a valid name: 1 to 128 bytes of A-Z a-z 0-9 . _ / @ + -, beginning with a letter or "     \
    "digit, without empty, . or .. parts; or a template, which is such a name and /*"
#define INDENTED_KEY                                                                               \
    "a key begins at the start of its line (an indented line continues the value above it)"
#define NOTHING_ABOVE "an indented line continues the value of the key above it, but there is none"

#define EUROS "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"

static const struct {
    const char *text, *expected;
} cases[] = {
    /* sections */
    {"[lock a] junk\n",
        "t.conf:1: [lock a]: \"junk\" follows the section's name; put it on a line "
        "of its own"},
    {"[lock a];junk\n",
        "t.conf:1: [lock a]: \";junk\" follows the section's name; put it on a "
        "line of its own"},
    {"[lock a] ; fine\n", ""},
    {"[ lock\t a ]\n", ""},
    {"[lock a]\n[lock b\nlimit = 7\n", "t.conf:2: no \"]\" follows the section's name"},
    {"\n[]\n", "t.conf:2: the section header is empty: it needs a kind and a name"},
    {"[  ]\nx = 1\n", "t.conf:1: [  ]: the section header is empty: it needs a kind and a name"},
    {"[lock]\n", "t.conf:1: [lock]: has no name; a section is called [lock NAME]"},
    {"[lock a b]\n", "t.conf:1: [lock a b]: has more than one name"},
    {"[daemon x]\n", "t.conf:1: [daemon x]: [daemon] takes no name"},
    {"[semaphor x]\nlimit = none\n",
        "t.conf:1: [semaphor x]: unknown kind of section (did you mean semaphore?); " KINDS},
    {"[Lock x]\n", "t.conf:1: [Lock x]: unknown kind of section (did you mean lock?); " KINDS},
    {"[queue x]\n", "t.conf:1: [queue x]: unknown kind of section; " KINDS},
    {"[deploy]\n", "t.conf:1: [deploy]: unknown kind of section; " KINDS
                   "; a lock would be [lock deploy]"},
    {"[adhoc/*]\n", "t.conf:1: [adhoc/*]: unknown kind of section; " KINDS
                    "; a lock would be [lock adhoc/*]"},
    {"[pool a]\nitems = 0,1,2\n",
        "t.conf:2: [pool a] items: \"0,1,2\": separate items with blanks, not commas"},
    {" [lock a]\nlimit = 1\n", "t.conf:1: [lock a]: a section begins at the start of its line"},
    {"[lock a]\n[lock a]\n", "t.conf:2: [lock a]: this name appears twice, first in line 1"},
    {"[lock a]\n\n[pool a]\nitems = x\n",
        "t.conf:3: [pool a]: this name appears twice, first in line 1"},
    {"[lock a]\n[lock a/*]\n[lock a/b]\n", ""},
    {"[daemon]\n\n[daemon]\n", "t.conf:3: [daemon]: this section appears twice, first in line 1"},
    {"[lock a*]\n", "t.conf:1: [lock a*]: " NAME_RULE},
    {"[lock *]\n", "t.conf:1: [lock *]: " NAME_RULE},
    {"[lock -a]\n", "t.conf:1: [lock -a]: " NAME_RULE},
    {"[lock a//b]\n", "t.conf:1: [lock a//b]: " NAME_RULE},
    {"[lock a/..]\n", "t.conf:1: [lock a/..]: " NAME_RULE},
    {"[lock a/*/*]\n", "t.conf:1: [lock a/*/*]: " NAME_RULE},
    {"[lock \xc3\xa4]\n", "t.conf:1: [lock \xc3\xa4]: " NAME_RULE},
    /* keys */
    {"limit = 1\n  2\n[lock a]\n", "t.conf:1: limit: precedes the first section"},
    {"[lock a]\n= 1\n", "t.conf:2: [lock a]: there is no key before the \"=\""},
    {"[lock a]\nlimit\n", "t.conf:2: [lock a]: \"limit\" has no \"=\"; a line is KEY = VALUE"},
    {"[lock a]\nlimit 1\n  1\n",
        "t.conf:2: [lock a]: \"limit 1\" has no \"=\"; a line is KEY = VALUE"},
    {"[lock a]\nlimit", "t.conf:2: [lock a]: \"limit\" has no \"=\"; a line is KEY = VALUE"},
    {"[lock a]\nlimit =\n",
        "t.conf:2: [lock a] limit: has no value; expected a number from 0 to 1"},
    {"[lock a]\nlimit =", "t.conf:2: [lock a] limit: has no value; expected a number from 0 to 1"},
    {"[lock a]\nlimit = ; 1\n",
        "t.conf:2: [lock a] limit: has no value; expected a number from 0 to 1"},
    {"[lock a]\nlimit = 1 0\n",
        "t.conf:2: [lock a] limit: has more than one word; expected a number from 0 to 1"},
    {"[lock a]\nlimit = 1\n\n\nlimit = 1\n",
        "t.conf:5: [lock a] limit: appears twice, first in line 2"},
    {"[lock a]\nlimti = 1\n", "t.conf:2: [lock a] limti: unknown key; did you mean limit?"},
    {"[lock a]\nMax_Waiters = 1\n",
        "t.conf:2: [lock a] Max_Waiters: unknown key; did you mean max-waiters?"},
    {"[lock a]\ncolour = 1\n", "t.conf:2: [lock a] colour: unknown key"},
    {"[lock a]\nitems = 1\n",
        "t.conf:2: [lock a] items: is not allowed in this kind of section; it belongs in [pool]"},
    {"[semaphore a]\nlimit = 1\nmax-clients = 1\n",
        "t.conf:3: [semaphore a] max-clients: is not allowed in this kind of section; it belongs in "
        "[daemon]"},
    {"[daemon]\nlimit = 1\n",
        "t.conf:2: [daemon] limit: is not allowed in this kind of section; it belongs in [semaphore] or "
        "[lock]"},
    {"[semaphore a]\n",
        "t.conf:1: [semaphore a] limit: is missing (how many units may be held at "
        "once; 0 = closed)"},
    {"[pool a]\nselect = lru\n",
        "t.conf:1: [pool a] items: is missing (names of the units; a list "
        "may continue on indented lines)"},
    {"[semaphore a]\nlimt = 1\n", "t.conf:2: [semaphore a] limt: unknown key; did you mean limit?"},
    {"[semaphore a]\nlimit 4\n",
        "t.conf:2: [semaphore a]: \"limit 4\" has no \"=\"; a line is KEY = VALUE"},
    {"[lock a]\nlimit=0\n", ""},
    {"[lock a]\nlimit: 0\n", ""},
    {"[daemon]\ninclude =\n",
        "t.conf:2: [daemon] include: has no value; expected a path of at most 140 bytes"},
    {"[lock a]\nk" EUROS EUROS EUROS EUROS EUROS EUROS " = 1\n", /* cut at a whole character */
        "t.conf:2: [lock a] k" EUROS EUROS EUROS EUROS EUROS "\xe2\x82\xac...: unknown key"},
    /* indented lines */
    {"  limit = 1\n",
        "t.conf:1: " INDENTED_KEY "\nt.conf:1: limit: precedes the first section"},
    {"  4\n", "t.conf:1: " NOTHING_ABOVE},
    {"[lock a]\n  1\n", "t.conf:2: [lock a]: " NOTHING_ABOVE},
    {"[lock a]\n limit = 1\n\tcooldown = 0\n",
        "t.conf:2: [lock a]: " INDENTED_KEY "\nt.conf:3: [lock a]: " INDENTED_KEY},
    {"[pool a]\nitems = one\n  y=two\n",
        "t.conf:3: [pool a]: " INDENTED_KEY "\nt.conf:3: [pool a] y: unknown key"},
    {"[lock a]\nlimit = 1\n  0\n",
        "t.conf:3: [lock a] limit: is not a list, so it cannot continue on another line; "
        "expected a number from 0 to 1"},
    {"[lock a]\n[lock b]\n  1\n", "t.conf:3: [lock b]: " NOTHING_ABOVE},
    {"[lock a]\nlimit = 1\n[lock b]\n  1\n", "t.conf:4: [lock b]: " NOTHING_ABOVE},
    {"[pool a]\nitems = x\n  $\n y\n  %\n",
        "t.conf:3: [pool a] items: \"$\" is not an item: 1 to 64 bytes of A-Z a-z 0-9 . _ / : @ + "
        "-\nt.conf:5: [pool a] items: \"%\" is not an item: 1 to 64 bytes of A-Z a-z 0-9 . _ / : "
        "@ + -"},
    /* comments */
    {"# \xff\n; \x01\n  # x\n  ; = x\n[lock a] ; \xfe\n;limit = 7\nlimit = 1 ;;; x ; y\n", ""},
    {"[lock a]\nlimit = 1 # one\n",
        "t.conf:2: [lock a]: a comment after a value begins with \" ;\", not with \"#\""},
    {"[lock a]\nlimit = 1;one\n",
        "t.conf:2: [lock a] limit: \"1;one\" is not a number from 0 to 1"},
    {"[lock a]\nlimit ; = 1\n",
        "t.conf:2: [lock a]: \"limit\" has no \"=\"; a line is KEY = VALUE"},
    /* bytes */
    {"[lock a]\nlimit = \xff\n",
        "t.conf:2: [lock a]: the byte 0xff is neither text nor part of UTF-8"},
    {"[lock a]\nlimit = \xed\xa0\x80\n",
        "t.conf:2: [lock a]: the byte 0xed is neither text nor part of UTF-8"},
    {"[lock a]\nlimit = \xc2\x9b\n",
        "t.conf:2: [lock a]: the byte 0xc2 is neither text nor part of UTF-8"},
    {"[lock a]\nlimit = \xe2\x82\n",
        "t.conf:2: [lock a]: the byte 0xe2 is neither text nor part of UTF-8"},
    {"[lock a]\nlimit = 1\x1b[2J\n",
        "t.conf:2: [lock a]: the byte 0x1b is neither text nor part of UTF-8"},
    {"[lock a]\nlimit = 1\r0\n",
        "t.conf:2: [lock a]: the byte 0x0d is neither text nor part of UTF-8"},
    {"[lock a\x7f]\nlimit = 7\n", "t.conf:1: the byte 0x7f is neither text nor part of UTF-8"},
    {"[lock a]\nlimit = \xe2\x82\xac\n",
        "t.conf:2: [lock a] limit: \"\xe2\x82\xac\" is not a number from 0 to 1"},
    /* whole files */
    {"", ""},
    {"\n \n\t\n", ""},
    {"\xef\xbb\xbf[lock a]\r\nlimit = 1\r\n\r\n; x\r\n", ""},
    {"[lock a]\n\xef\xbb\xbflimit = 1\n", "t.conf:2: [lock a] \xef\xbb\xbflimit: unknown key"},
    {"[lock a]\nlimit = 0", ""},
};

Test(conf_lines, each_error_names_its_line)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_errors(cases[i].text, cases[i].expected);
    }
}

Test(conf_lines, all_errors_are_reported_in_line_order)
{
    expect_errors("[semaphore a]\n"
                  "coldown = 1\n"
                  "[daemon]\n"
                  "socket = x\n"
                  "max-clients = 0\n"
                  "junk\n"
                  "[pool p]\n"
                  "items = x y x\n"
                  "    z x\n"
                  "[lock a]\n"
                  "order = lifo\n",
        "t.conf:1: [semaphore a] limit: is missing (how many units may be held at once; 0 = "
        "closed)\n"
        "t.conf:2: [semaphore a] coldown: unknown key; did you mean cooldown?\n"
        "t.conf:4: [daemon] socket: \"x\" is not an absolute path of at most 107 bytes\n"
        "t.conf:5: [daemon] max-clients: \"0\" is not a number from 1 to 1000000, or unbounded\n"
        "t.conf:6: [daemon]: \"junk\" has no \"=\"; a line is KEY = VALUE\n"
        "t.conf:8: [pool p] items: \"x\" appears twice, first in line 8\n"
        "t.conf:9: [pool p] items: \"x\" appears twice, first in line 8\n"
        "t.conf:10: [lock a]: this name appears twice, first in line 1\n"
        "t.conf:11: [lock a] order: \"lifo\" is not fifo, first-fit or fair");
}

static void expect_one_error_in_bytes(const char *bytes, size_t n, const char *expected)
{
    struct conf_errors errors = CONF_ERRORS_INIT;
    cr_expect_null(load_bytes(bytes, n, &errors));
    cr_assert_eq(errors.n, 1);
    cr_expect_str_eq(errors.messages[0], expected);
    conf_errors_deinit(&errors);
}

Test(conf_lines, zero_bytes_are_errors_wherever_they_are)
{
    static const char in_value[] = "[semaphore a]\nlimit = 1\0 2\n";
    static const char in_comment[] = "[lock a]\n; \0\nlimit = 1\n";
    static const char in_header[] = "[lock a]\nlimit = 1\n[lock b\0]\nlimit = 7\n";
    static const char at_the_end[] = "[lock a]\nlimit = 1\n\0";
    expect_one_error_in_bytes(
        in_value, sizeof in_value - 1, "t.conf:2: [semaphore a]: contains a zero byte");
    expect_one_error_in_bytes(
        in_comment, sizeof in_comment - 1, "t.conf:2: [lock a]: contains a zero byte");
    expect_one_error_in_bytes(in_header, sizeof in_header - 1, "t.conf:3: contains a zero byte");
    expect_one_error_in_bytes(
        at_the_end, sizeof at_the_end - 1, "t.conf:3: [lock a]: contains a zero byte");
}

/* ---- long lines ---- */

static char *repeat(const char *before, char c, size_t n, const char *after)
{
    char *text = malloc(strlen(before) + n + strlen(after) + 1);
    char *end = stpcpy(text, before);
    memset(end, c, n);
    strcpy(end + n, after);
    return text;
}

static void expect_errors_freeing(char *text, const char *expected)
{
    expect_errors(text, expected);
    free(text);
}

/* inih would have made a key of what stands behind the 200th byte. */
Test(conf_lines, the_tail_of_a_long_line_is_not_a_line)
{
    expect_errors_freeing(repeat("[semaphore a]\nlimit = 4", ' ', 188, "max-waiters=99\n"),
        "t.conf:2: [semaphore a] limit: has more than one word; expected a number from 0 to "
        "1000000");
    expect_errors_freeing(repeat("[semaphore a]\nlimit = 4", ' ', 192, ";\n"), "");
    expect_errors_freeing(repeat("[semaphore a]\nlimit = ", ' ', 500, "4\n"), "");
    expect_errors_freeing(repeat("[semaphore a]\nlimit", ' ', 500, "= 4\n"), "");
}

Test(conf_lines, words_have_a_bound)
{
    char quoted[81];
    memset(quoted, 'x', sizeof quoted - 1);
    quoted[80] = '\0';
    char expected[512];
    snprintf(expected, sizeof expected,
        "t.conf:2: [daemon]: \"%s...\" is too long: a line may have any length, but a word of it "
        "at most 140 bytes, and this one has 141",
        quoted);
    expect_errors_freeing(repeat("[daemon]\ninclude = ", 'x', WORD_BYTES + 1, "\n"), expected);
    expect_errors_freeing(repeat("[daemon]\ninclude = ", 'x', WORD_BYTES - 2, ".d\n"), "");
    snprintf(expected, sizeof expected,
        "t.conf:2: [daemon]: \"%s...\" is too long: a line may have any length, but a word of it "
        "at most 140 bytes, and this one has 1048576",
        quoted);
    expect_errors_freeing(repeat("[daemon]\n", 'x', 1 << 20, "\n"), expected);
}

Test(conf_lines, section_names_have_their_own_bound)
{
    char *name = repeat("", 'n', 129, "");
    char text[512], expected[512];
    snprintf(text, sizeof text, "[lock %.128s]\n[lock %.126s/*]\n", name, name);
    struct conf *conf = load_good(text);
    cr_expect_eq(strlen(conf->definitions[0].name), 128);
    conf_free(conf);
    snprintf(text, sizeof text, "[lock %s]\n", name);
    snprintf(expected, sizeof expected, "t.conf:1: [lock %.75s...]: " NAME_RULE, name);
    expect_errors(text, expected);
    free(name);
}

static void expect_items(const struct conf *conf, const char *list)
{
    char *copy = strdup(list), *rest = copy;
    const struct definition *pool = &conf->definitions[0];
    for (size_t i = 0; i < pool->n_items; i++) {
        cr_assert_str_eq(pool->items[i], strsep(&rest, " "));
    }
    cr_assert_null(rest, "%zu items are not all", pool->n_items);
    free(copy);
}

/* Items of every length: so every way in which a line can be cut into pieces. */
Test(conf_lines, long_lists_arrive_whole)
{
    for (size_t n = 1; n <= 64; n++) {
        char list[64 * 65 + 1], *end = list;
        for (size_t i = 0; i < 36; i++) {
            memset(end, 'i', n);
            end[0] = "0123456789abcdefghijklmnopqrstuvwxyz"[i];
            end[n] = ' ';
            end += n + 1;
        }
        end[-1] = '\0';
        char text[sizeof list + 64];
        snprintf(text, sizeof text, "[pool p]\nitems = %s ; x y\nselect = first\n", list);
        struct conf *conf = load_good(text);
        expect_items(conf, list);
        cr_assert_eq(conf->definitions[0].selection, SELECT_FIRST);
        conf_free(conf);
    }
}

Test(conf_lines, lists_go_on_on_indented_lines)
{
    struct conf *conf = load_good("[pool p]\n"
                                  "items =\n"
                                  "\ta b ; two\n"
                                  "\n"
                                  "    ; none\n"
                                  "  # none\n"
                                  "  c\r\n"
                                  "    d:1 e\n"
                                  "[lock x]\n");
    expect_items(conf, "a b c d:1 e");
    cr_expect_eq(conf->n_definitions, 2);
    conf_free(conf);
}

Test(conf_lines, a_pool_has_at_most_10000_items)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("[pool p]\nitems =", out);
    for (int i = 0; i < 10000; i++) {
        fprintf(out, " %d", i);
    }
    fflush(out);
    struct conf *conf = load_good(text);
    cr_expect_eq(conf->definitions[0].n_items, 10000);
    conf_free(conf);
    fputs("\n  more\n  and-more\n", out);
    fclose(out);
    expect_errors_freeing(text, "t.conf:3: [pool p] items: has more than 10000 words");
}
