/* test_printable.c - what strangers wrote, made harmless and cut to a width. */
#include "print_help.h"

#include <string.h>

struct pair {
    const char *in, *out;
};

static void expect_escaped(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct text text = TEXT_INIT;
        text_add_escaped(&text, pairs[i].in);
        expect_text(&text, pairs[i].out);
    }
}

static const struct pair harmless[] = {
    {"", ""}, {"plain text, ~!{}", "plain text, ~!{}"}, {"a\\b", "a\\\\b"}, {"\x1b[2J", "\\x1b[2J"},
    {"one\ntwo\r\t\b", "one\\x0atwo\\x0d\\x09\\x08"}, {"\x7f", "\\x7f"},
    {"\x9b"
     "31m",
        "\\x9b31m"}, /* CSI as one byte */
    {"\xc2\x9b", "\\xc2\\x9b"}, /* CSI in UTF-8 */
    {"\xff\xfe", "\\xff\\xfe"}, {"\xc0\xaf", "\\xc0\\xaf"}, /* overlong */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
    {"\xe2\x82", "\\xe2\\x82"}, /* ends too early */
    {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right-to-left override */
    {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"}, /* line separator */
    {"\xe2\x80\x8b", "\\xe2\\x80\\x8b"}, /* zero-width space */
    {"\xe3\x85\xa4", "\\xe3\\x85\\xa4"}, /* a letter that is not seen */
    {"0\xef\xb8\x8e", "0\\xef\\xb8\\x8e"}, /* variation selector */
};

Test(text, escape_in_utf8)
{
    static const struct pair printable[] = {
        {"J\xc3\xbcrgen", "J\xc3\xbcrgen"},
        {"\xe6\xbc\xa2", "\xe6\xbc\xa2"},
        {"\xf0\x9f\x9a\xa2", "\xf0\x9f\x9a\xa2"},
    };
    use_utf8();
    expect_escaped(harmless, N(harmless));
    expect_escaped(printable, N(printable));
}

Test(text, escape_in_ascii)
{
    static const struct pair beyond[] = {{"J\xc3\xbcrgen", "J\\xc3\\xbcrgen"}};
    expect_escaped(harmless, N(harmless));
    expect_escaped(beyond, N(beyond));
}

/* Whatever comes in, only what a terminal prints goes out. */
Test(text, escape_every_byte)
{
    use_utf8();
    for (int first = 1; first < 256; first++) {
        for (int second = 0; second < 256; second++) {
            char in[] = {(char)first, (char)second, '\0'};
            struct text text = TEXT_INIT;
            text_add_escaped(&text, in);
            for (size_t i = 0; i < text.length; i++) {
                unsigned char byte = (unsigned char)text.bytes[i];
                cr_expect(byte >= ' ' && byte != 0x7f);
                cr_expect(byte < 0x80 || text.length == 2, "%d %d", first, second);
            }
            text_deinit(&text);
        }
    }
}

Test(text, valid_utf8)
{
    struct text text = TEXT_INIT;
    text_add_valid(&text, "a\\\n\xc3\xbc\xff\xe2\x80\xae\xed\xa0\x80");
    expect_text(&text, "a\\\n\xc3\xbc\\xff\xe2\x80\xae\\xed\\xa0\\x80");
}

Test(text, age)
{
    static const struct {
        uint64_t milliseconds;
        const char *expected;
    } rows[] = {
        {0, "0s"},
        {999, "0s"},
        {1000, "1s"},
        {59999, "59s"},
        {60000, "1m00s"},
        {123000, "2m03s"},
        {3599999, "59m59s"},
        {3600000, "1h00m"},
        {86399999, "23h59m"},
        {86400000, "1d00h"},
        {UINT64_C(99) * 86400000 + 3600000, "99d01h"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct text text = TEXT_INIT;
        text_add_age(&text, rows[i].milliseconds);
        cr_expect_leq(text_width(text.bytes), 6);
        expect_text(&text, rows[i].expected);
    }
}

Test(text, cut)
{
    static const struct {
        const char *in;
        size_t width;
        const char *utf8, *ascii;
    } rows[] = {
        {"abc", 3, "abc", "abc"},
        {"abcd", 3, "ab\xe2\x80\xa6", "ab>"},
        {"abcd", 1, "\xe2\x80\xa6", ">"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct text text = TEXT_INIT;
        text_add_cut(&text, rows[i].in, rows[i].width);
        expect_text(&text, rows[i].ascii);
    }
    use_utf8();
    for (size_t i = 0; i < N(rows); i++) {
        struct text text = TEXT_INIT;
        text_add_cut(&text, rows[i].in, rows[i].width);
        expect_text(&text, rows[i].utf8);
    }
    /* Two columns each: half of one does not fit. */
    struct text text = TEXT_INIT;
    cr_expect_eq(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
    text_add_cut(&text, "\xe6\xbc\xa2\xe5\xad\x97", 3);
    expect_text(&text, "\xe6\xbc\xa2\xe2\x80\xa6");
    text_add_cut(&text, "\xe6\xbc\xa2\xe5\xad\x97", 2);
    expect_text(&text, "\xe2\x80\xa6 ");
}
