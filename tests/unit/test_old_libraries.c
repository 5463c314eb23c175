/* Libraries of other versions: those that nobody calls go, all others stay. */
#include "redis/old_libraries.h"
#include "redis/scripts.h"
#include "resp_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct old_libraries old;
static char said[256];

static void say_command(const char *const words[])
{
    said[0] = '\0';
    for (size_t i = 0; words[i]; i++) {
        strcat(said, i > 0 ? " " : "");
        strcat(said, words[i]);
    }
}

static void next(const char *reply)
{
    const char *words[OLD_LIBRARIES_WORDS] = {NULL};
    old_libraries_next(&old, resp_of(reply), words);
    say_command(words);
}

static void begin(void)
{
    const char *words[OLD_LIBRARIES_WORDS];
    old_libraries_begin(&old, words);
    say_command(words);
    cr_assert_str_eq(said, "FUNCTION LIST LIBRARYNAME berth_L*");
}

/* As much of FUNCTION LIST as is looked at. */
static void list(size_t n, const char *const names[])
{
    char text[4096] = "[";
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " [ library_name '%s' ]", names[i]);
    }
    begin();
    next(strcat(text, " ]"));
}

static void is_idle_for(int64_t seconds)
{
    char text[24];
    snprintf(text, sizeof text, "%jd", (intmax_t)seconds);
    next(text);
}

Test(old_libraries, go_when_nobody_calls_them)
{
    const char *names[] = {"berth_L1_00000000000000aa", "berth_L22_00000000000000bb"};
    list(2, names);
    cr_assert_str_eq(said, "FCALL berth_L22_00000000000000bb_idle 0");
    is_idle_for(OLD_LIBRARY_IDLE);
    cr_assert_str_eq(said, "FUNCTION DELETE berth_L22_00000000000000bb");
    next("+OK");
    cr_assert_str_eq(said, "FCALL berth_L1_00000000000000aa_idle 0");
    is_idle_for(OLD_LIBRARY_IDLE - 1);
    cr_assert_str_eq(said, "", "somebody may still use it");
}

Test(old_libraries, stay_where_they_are_not_berths)
{
    const char *names[] = {
        script_sets[0].name,
        "berth_L2_00000000000000a",
        "berth_L2_00000000000000aax",
        "berth_L2_00000000000000AA",
        "berth_L2-00000000000000aa",
        "berth_L_00000000000000aa",
        "berth_L99999999999999999999999999999999999999999999999999_00000000000000aa",
        "berth_L",
        "",
    };
    list(sizeof names / sizeof names[0], names);
    cr_assert_str_eq(said, "");
}

Test(old_libraries, stay_where_that_is_not_allowed)
{
    const char *names[] = {"berth_L1_00000000000000aa"};
    begin();
    next("-NOPERM no");
    cr_assert_str_eq(said, "");
    list(1, names);
    next("-ERR Function not found");
    cr_assert_str_eq(said, "");
    list(1, names);
    is_idle_for(INT64_MAX);
    next("-NOPERM no");
    cr_assert_str_eq(said, "");
}

Test(old_libraries, are_taken_some_at_a_time)
{
    const char *names[40];
    for (size_t i = 0; i < 40; i++) {
        names[i] = "berth_L1_00000000000000aa";
    }
    list(40, names);
    for (size_t i = 0; i < OLD_LIBRARIES_AT_ONCE; i++) {
        cr_assert_str_eq(said, "FCALL berth_L1_00000000000000aa_idle 0");
        is_idle_for(0);
    }
    cr_assert_str_eq(said, "");
}

Test(old_libraries, any_answer_will_do)
{
    begin();
    next("[ _ [ ] ]");
    cr_assert_str_eq(said, "");
    begin();
    next("_");
    cr_assert_str_eq(said, "");
}
