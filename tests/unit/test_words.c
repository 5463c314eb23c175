/* test_words.c - the small languages of base/words.h: names, numbers, durations,
 * percent-encoding, lease ids; and uids of base/actor.h. */
#include "base/actor.h"
#include "base/words.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* `n` times `c`; good until the next call. */
static const char *repeat(char c, size_t n)
{
    static char text[1024];
    cr_assert_lt(n, sizeof text);
    memset(text, c, n);
    text[n] = '\0';
    return text;
}

static void expect_each(
    bool (*is_valid)(const char *), const char *const words[], size_t n, bool expected)
{
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(is_valid(words[i]), expected, "%s", words[i]);
    }
}

/* ---- names ---- */

Test(text, names)
{
    static const char *const good[] = {"a", "Z", "0", "nightly-etl", "market/alice", "a/b/c",
        "user@host", "c++", "a.b", "a..b", "a/.b", "a/b.", "a/...", "0_", "a/-", "a/@", "a/_x"};
    static const char *const bad[] = {"", ".", "..", "/", "/a", "a/", "a//b", "a/./b", "a/../b",
        "a/.", "a/..", "./a", "-a", "_a", "@a", "+a", ".a", "a b", "a:b", "a,b", "a=b", "a*", "a/*",
        "a%b", "a\n", "\xc3\xa9", "a\xff", "a\x7f", "a\t"};
    expect_each(name_is_valid, good, N(good), true);
    expect_each(name_is_valid, bad, N(bad), false);
    cr_expect(name_is_valid(repeat('a', NAME_BYTES)));
    cr_expect_not(name_is_valid(repeat('a', NAME_BYTES + 1)));
}

/* Every byte, as the first and as a later one. */
Test(text, name_bytes)
{
    const char *first = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *later = "._@+-";
    for (int c = 1; c < 256; c++) {
        char one[] = {(char)c, '\0'};
        char two[] = {'a', (char)c, '\0'};
        cr_expect_eq(name_is_valid(one), strchr(first, c) != NULL, "%d alone", c);
        cr_expect_eq(name_is_valid(two), strchr(first, c) || strchr(later, c), "%d second", c);
        cr_expect_eq(
            item_is_valid(one), strchr(first, c) || strchr("._/:@+-", c), "%d as an item", c);
    }
}

Test(text, template_names)
{
    static const char *const good[] = {"a/*", "market/*", "a/b/*", "a.b/*"};
    static const char *const bad[] = {"", "*", "/*", "a", "a/", "a*", "a/**", "a/*/b", "*/a", "*/*",
        "a/*/*", "a//*", "a/./*", "a/../*", "-/*", "a/b*", "a/*b"};
    expect_each(template_name_is_valid, good, N(good), true);
    expect_each(name_is_valid, good, N(good), false);
    expect_each(template_name_is_valid, bad, N(bad), false);
    /* "a name whose last part is a star": the star counts. */
    char name[NAME_BYTES + 2];
    snprintf(name, sizeof name, "%s/*", repeat('a', NAME_BYTES - 2));
    cr_expect(template_name_is_valid(name));
    snprintf(name, sizeof name, "%s/*", repeat('a', NAME_BYTES - 1));
    cr_expect_not(template_name_is_valid(name));
}

Test(text, items)
{
    static const char *const good[] = {
        "gpu0", "0", "host:80", "/dev/sda", ".", "-", "a@b+c", "::1"};
    static const char *const bad[] = {"", "a b", "a,b", "a=b", "a%", "\xff", "a\n", "*"};
    expect_each(item_is_valid, good, N(good), true);
    expect_each(item_is_valid, bad, N(bad), false);
    cr_expect(item_is_valid(repeat('a', ITEM_BYTES)));
    cr_expect_not(item_is_valid(repeat('a', ITEM_BYTES + 1)));
}

/* ---- numbers ---- */

static void expect_number(const char *text, uint64_t max, bool good, uint64_t value)
{
    uint64_t got = 4711;
    cr_expect_eq(number_parse(text, max, &got), good, "\"%s\" at most %ju", text, (uintmax_t)max);
    cr_expect_eq(got, good ? value : 4711, "\"%s\" is %ju", text, (uintmax_t)got);
}

Test(text, numbers)
{
    expect_number("0", 0, true, 0);
    expect_number("0", 10, true, 0);
    expect_number("7", 7, true, 7);
    expect_number("8", 7, false, 0);
    expect_number("1", 0, false, 0);
    expect_number("9", 5, false, 0);
    expect_number("10", 10, true, 10);
    expect_number("11", 10, false, 0);
    expect_number("99", 100, true, 99);
    expect_number("100", 99, false, 0);
    expect_number("18446744073709551615", UINT64_MAX, true, UINT64_MAX);
    expect_number("18446744073709551616", UINT64_MAX, false, 0);
    expect_number("18446744073709551625", UINT64_MAX, false, 0);
    expect_number("99999999999999999999", UINT64_MAX, false, 0);
    expect_number("184467440737095516150", UINT64_MAX, false, 0);
    expect_number("9223372036854775807", INT64_MAX, true, INT64_MAX);
    expect_number("9223372036854775808", INT64_MAX, false, 0);
}

Test(text, numbers_are_strict)
{
    static const char *const bad[] = {"", " ", "+1", "-1", "01", "00", " 1", "1 ", "1a", "a", "0x1",
        "1.", "1e3", "1,000", "\xd9\xa1", "1\n"};
    for (size_t i = 0; i < N(bad); i++) {
        expect_number(bad[i], UINT64_MAX, false, 0);
    }
}

Test(text, signed_numbers)
{
    int64_t value = 0;
    cr_expect(signed_number_parse("-1000", 1000, &value) && value == -1000);
    cr_expect(signed_number_parse("1000", 1000, &value) && value == 1000);
    cr_expect(signed_number_parse("0", 1000, &value) && value == 0);
    value = 7;
    static const char *const bad[] = {"1001", "-1001", "--1", "-", "", "+1", "- 1", "-01", "1-"};
    for (size_t i = 0; i < N(bad); i++) {
        cr_expect_not(signed_number_parse(bad[i], 1000, &value), "%s", bad[i]);
    }
    cr_expect_eq(value, 7);
    cr_expect(signed_number_parse("-9223372036854775807", INT64_MAX, &value));
    cr_expect_eq(value, -INT64_MAX);
}

/* ---- durations ---- */

enum { MS = 1000000 };
static const int64_t second = INT64_C(1000000000);
static const int64_t ten_years = INT64_C(10) * 365 * 86400 * 1000000000;

Test(text, durations)
{
    static const struct {
        const char *text;
        int64_t milliseconds;
    } rows[] = {
        {"0", 0},
        {"0s", 0},
        {"0ms", 0},
        {"0d", 0},
        {"0.0", 0},
        {"250ms", 250},
        {"30s", 30000},
        {"10", 10000},
        {"5m", 300000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"1.5h", 5400000},
        {"0.5", 500},
        {"1.25s", 1250},
        {"0.001", 1},
        {"0.1d", 8640000},
        {"00", 0},
        {"007s", 7000},
        {"3650d", INT64_C(315360000000)},
        {"315360000", INT64_C(315360000000)},
        {"315360000000ms", INT64_C(315360000000)},
        {"87600h", INT64_C(315360000000)},
        {"5256000m", INT64_C(315360000000)},
        {"1h30m", 5400000},
        {"2m03s", 123000},
        {"5d04h", 446400000},
        {"1d2h3m4s5ms", 93784005},
        {"1m1.5s", 61500},
        {"3649d24h", INT64_C(315360000000)},
    };
    for (size_t i = 0; i < N(rows); i++) {
        int64_t value = -1;
        cr_expect(duration_parse(rows[i].text, &value), "%s", rows[i].text);
        cr_expect_eq(value, rows[i].milliseconds * MS, "%s is %jd", rows[i].text, (intmax_t)value);
    }
}

Test(text, durations_below_a_millisecond)
{
    int64_t value = -1;
    cr_expect(duration_parse("0.5ms", &value) && value == 500000);
    cr_expect(duration_parse("0.000000001", &value) && value == 1);
    cr_expect(duration_parse("0.0000000001", &value) && value == 0);
    cr_expect(duration_parse("0.99999999999999999999999999999999", &value) && value == 999999999);
}

Test(text, bad_durations)
{
    static const char *const bad[] = {"", " ", "s", "ms", "-1", "+1", "1x", "1 s", "1S", "1M",
        "1sec", "1.", "1.s", ".5", "1..5", "1.5.5", "1s ", " 1s", "1s1", "1h30", "30m1h", "1h1h",
        "1h30m ", "1.h30m", "3650d1ms", "1h.5m", "1e3", "0x10", "inf", "nan", "3651d",
        "3650.00001d", "315360000.000000001", "315360001", "315360000001ms", "87601h",
        "99999999999999999999", "99999999999999999999999999d", "1\xc2\xb5s", "1us", "1,5"};
    for (size_t i = 0; i < N(bad); i++) {
        int64_t value = 7;
        cr_expect_not(duration_parse(bad[i], &value), "%s", bad[i]);
        cr_expect_eq(value, 7, "%s", bad[i]);
    }
}

Test(text, durations_written)
{
    static const struct {
        int64_t milliseconds;
        const char *text;
    } rows[] = {{0, "0s"}, {1, "1ms"}, {250, "250ms"}, {1000, "1s"}, {1500, "1500ms"},
        {60000, "1m"}, {90000, "90s"}, {3600000, "1h"}, {5400000, "90m"}, {7200000, "2h"},
        {86400000, "1d"}, {90000000, "25h"}, {172800000, "2d"}};
    char out[32];
    for (size_t i = 0; i < N(rows); i++) {
        size_t n = duration_format(out, sizeof out, rows[i].milliseconds * MS);
        cr_expect_str_eq(out, rows[i].text);
        cr_expect_eq(n, strlen(rows[i].text));
    }
    duration_format(out, sizeof out, second + 999999);
    cr_expect_str_eq(out, "1s");
    duration_format(out, sizeof out, 999999);
    cr_expect_str_eq(out, "0s");
}

/* What is written is read back, whatever it is. */
Test(text, durations_round_trip)
{
    char out[32];
    for (int64_t value = 0; value <= ten_years - 7 * MS; value = value * 3 + 7 * MS) {
        int64_t back = -1;
        duration_format(out, sizeof out, value);
        cr_expect(duration_parse(out, &back) && back == value, "%s", out);
    }
    cr_expect_eq(duration_format(NULL, 0, 1500 * MS), 6);
    char small[4] = "xxx";
    cr_expect_eq(duration_format(small, sizeof small, 1500 * MS), 6);
    cr_expect_str_eq(small, "150");
}

/* ---- percent-encoding ---- */

static const char *decoded(const char *text)
{
    static char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    return percent_decode(copy) ? copy : NULL;
}

Test(text, percent_decoding)
{
    cr_expect_str_eq(decoded(""), "");
    cr_expect_str_eq(decoded("abc"), "abc");
    cr_expect_str_eq(decoded("a%20b"), "a b");
    cr_expect_str_eq(decoded("%25"), "%");
    cr_expect_str_eq(decoded("%2525"), "%25");
    cr_expect_str_eq(decoded("%c3%A9x"), "\xc3\xa9x");
    cr_expect_str_eq(decoded("%ff%FF%fF"), "\xff\xff\xff");
    cr_expect_str_eq(decoded("%41%42%43"), "ABC");
    cr_expect_str_eq(decoded("%01"), "\x01");
    static const char *const bad[] = {"%", "a%", "%2", "%%", "%g0", "%0g", "% 1", "%-1", "%00",
        "a%00b", "%x1", "%2%20", "ok%20%"};
    for (size_t i = 0; i < N(bad); i++) {
        cr_expect_null(decoded(bad[i]), "%s", bad[i]);
    }
}

Test(text, percent_encoding_round_trip)
{
    char text[256], out[3 * 256];
    for (int c = 1; c < 256; c++) {
        text[c - 1] = (char)c;
    }
    text[255] = '\0';
    size_t n = percent_encode(out, sizeof out, text);
    cr_assert_eq(n, strlen(out));
    for (size_t i = 0; i < n; i++) {
        cr_expect(out[i] >= '!' && out[i] <= '~');
    }
    cr_expect(percent_decode(out));
    cr_expect_str_eq(out, text);
}

Test(text, percent_encoding_leaves_what_is_plain)
{
    char out[64];
    cr_expect_eq(percent_encode(out, sizeof out, "a=b,c;{}~!"), 10);
    cr_expect_str_eq(out, "a=b,c;{}~!");
    cr_expect_eq(percent_encode(out, sizeof out, "50% off\n"), 14);
    cr_expect_str_eq(out, "50%25%20off%0A");
}

/* In every size: never beyond it, terminated, the needed length returned, no half escape. */
Test(text, percent_encoding_is_bounded)
{
    static const char *const texts[] = {"", "abc", " ", "  a", "a  b", "%%%", "ab cd"};
    for (size_t t = 0; t < N(texts); t++) {
        char whole[64];
        size_t need = percent_encode(whole, sizeof whole, texts[t]);
        cr_assert_eq(need, strlen(whole));
        cr_expect_eq(percent_encode(NULL, 0, texts[t]), need);
        for (size_t size = 1; size <= need + 1; size++) {
            char out[64];
            memset(out, '#', sizeof out);
            cr_expect_eq(percent_encode(out, size, texts[t]), need);
            cr_expect_eq(out[size], '#');
            cr_assert(memchr(out, '\0', size), "\"%s\" in %zu not ended", texts[t], size);
            cr_expect_eq(strncmp(out, whole, strlen(out)), 0);
            cr_expect(percent_decode(out), "\"%s\" in %zu: half an escape", texts[t], size);
        }
        char out[64];
        percent_encode(out, need + 1, texts[t]);
        cr_expect_str_eq(out, whole);
    }
}

/* ---- lease ids ---- */

Test(text, lease_ids)
{
    static const struct {
        uint64_t id;
        const char *text;
    } rows[] = {{0, "0"}, {1, "1"}, {10, "a"}, {17, "h"}, {18, "j"}, {31, "z"}, {32, "10"},
        {1023, "zz"}, {1024, "100"}, {UINT64_MAX, "fzzzzzzzzzzzz"},
        {UINT64_C(1) << 63, "8000000000000"}};
    for (size_t i = 0; i < N(rows); i++) {
        char out[LEASE_ID_SIZE];
        uint64_t back = 4711;
        lease_id_format(out, rows[i].id);
        cr_expect_str_eq(out, rows[i].text);
        cr_expect(lease_id_parse(out, &back) && back == rows[i].id, "%s", out);
    }
}

Test(text, lease_ids_round_trip)
{
    uint64_t id = 1;
    for (int i = 0; i < 10000; i++, id = id * UINT64_C(6364136223846793005) + 1) {
        char out[LEASE_ID_SIZE];
        uint64_t back = ~id;
        lease_id_format(out, id >> (i % 64));
        cr_assert(lease_id_parse(out, &back) && back == id >> (i % 64), "%s", out);
    }
}

Test(text, by_whom)
{
    static const char *const good[] = {"0", "4294967294", "0 4294967294", "1000 0", ""};
    static const char *const bad[] = {" ", "-1", "4294967295", "0 ", "0  1", "0 x", "0 4294967295",
        "1 2 3", "x", "00000000000000000000000000001 1"};
    char text[ACTOR_SIZE];
    for (size_t i = 0; i < N(good); i++) {
        const struct actor by = actor_parse(good[i]);
        actor_format(text, &by);
        cr_expect_str_eq(text, good[i]);
    }
    for (size_t i = 0; i < N(bad); i++) {
        const struct actor by = actor_parse(bad[i]);
        cr_expect(!by.is_known && !by.has_login, "%s", bad[i]);
    }
}

/* One id, one word: whatever is not written by lease_id_format() is not read. */
Test(text, bad_lease_ids)
{
    static const char *const bad[] = {"", "01", "00", "A", "1A", "i", "l", "o", "u", "1-", "-1",
        " 1", "1 ", "g000000000000", "zzzzzzzzzzzzz", "10000000000000", "fzzzzzzzzzzzzz", "\xff",
        "%31"};
    for (size_t i = 0; i < N(bad); i++) {
        uint64_t id = 4711;
        cr_expect_not(lease_id_parse(bad[i], &id), "%s", bad[i]);
        cr_expect_eq(id, 4711);
    }
}

Test(text, names_are_cut_whole)
{
    static const struct {
        const char *names, *shown;
    } rows[] = {
        {"", ""},
        {"a,b", "a,b"},
        {"abcdefghi,k", "abcdefghi,k"},
        {"abcdefghi,kl", "..."},
        {"abcdefg,ijkl", "abcdefg,..."},
        {"ab,cd,ef,ghi", "ab,cd,..."},
        {"ab,cd,ef,...", "ab,cd,..."},
        {"abcdefghijklmnop", "..."},
        {"a,bcdefghijklmnop", "a,..."},
    };
    for (size_t i = 0; i < N(rows); i++) {
        char shown[12];
        names_cut(shown, sizeof shown, rows[i].names);
        cr_expect_str_eq(shown, rows[i].shown, "%s: %s", rows[i].names, shown);
    }
}
