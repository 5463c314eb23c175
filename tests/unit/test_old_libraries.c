/* Libraries of other versions: those that nobody calls go, all others stay. */
#include "redis/old_libraries.h"
#include "redis/scripts.h"

#include <criterion/criterion.h>
#include <string.h>

static struct old_libraries old;
static char said[256];

static void say_command(size_t argc, const char *const argv[])
{
    said[0] = '\0';
    for (size_t i = 0; i < argc; i++) {
        strcat(said, i > 0 ? " " : "");
        strcat(said, argv[i]);
    }
}

static void next(const struct resp *reply)
{
    const char *argv[OLD_LIBRARIES_WORDS];
    say_command(old_libraries_next(&old, reply, argv), argv);
}

static void begin(void)
{
    const char *argv[OLD_LIBRARIES_WORDS];
    say_command(old_libraries_begin(&old, argv), argv);
    cr_assert_str_eq(said, "FUNCTION LIST LIBRARYNAME berth_L*");
}

/* As much of FUNCTION LIST as is looked at. */
static void list(size_t n, const char *const names[])
{
    struct resp words[40][2], libraries[40];
    cr_assert_leq(n, 40);
    for (size_t i = 0; i < n; i++) {
        words[i][0] = (struct resp){.type = RESP_STRING, .text = "library_name", .length = 12};
        words[i][1] =
            (struct resp){.type = RESP_STRING, .text = names[i], .length = strlen(names[i])};
        libraries[i] = (struct resp){.type = RESP_ARRAY, .text = "", .elements = words[i], .n = 2};
    }
    begin();
    next(&(struct resp){.type = RESP_ARRAY, .text = "", .elements = libraries, .n = n});
}

static void is_idle_for(int64_t seconds)
{
    next(&(struct resp){.type = RESP_INTEGER, .text = "", .integer = seconds});
}

static void fails(const char *error)
{
    next(&(struct resp){.type = RESP_ERROR, .text = error, .length = strlen(error)});
}

Test(old_libraries, go_when_nobody_calls_them)
{
    const char *names[] = {"berth_L1_00000000000000aa", "berth_L22_00000000000000bb"};
    list(2, names);
    cr_assert_str_eq(said, "FCALL berth_L22_00000000000000bb_idle 0");
    is_idle_for(OLD_LIBRARY_IDLE);
    cr_assert_str_eq(said, "FUNCTION DELETE berth_L22_00000000000000bb");
    next(&(struct resp){.type = RESP_STATUS, .text = "OK", .length = 2});
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
    fails("NOPERM no");
    cr_assert_str_eq(said, "");
    list(1, names);
    fails("ERR Function not found");
    cr_assert_str_eq(said, "");
    list(1, names);
    is_idle_for(INT64_MAX);
    fails("NOPERM no");
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
    struct resp strange[] = {{.type = RESP_NIL, .text = ""}, {.type = RESP_ARRAY, .text = ""}};
    begin();
    next(&(struct resp){.type = RESP_ARRAY, .text = "", .elements = strange, .n = 2});
    cr_assert_str_eq(said, "");
    begin();
    next(&(struct resp){.type = RESP_NIL, .text = ""});
    cr_assert_str_eq(said, "");
}
