/* What berthd tells a service manager about itself, and when. */
#include "setup/notify_text.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const databases[] = {"one", "two", "three"};
static char text[NOTIFY_TEXT_SIZE];

static const char *said(const char *socket, const struct notify_facts *facts)
{
    notify_text(text, socket, databases, facts);
    return text;
}

Test(notify, text)
{
    const struct notify_facts nothing = {0};
    const struct notify_facts one = {.n_held = 1, .n_waiting = 1};
    const struct notify_facts some = {.n_held = 12, .n_waiting = 3};
    cr_assert_str_eq(said("/s", &nothing), "serving /s: 0 leases held, 0 waiting");
    cr_assert_str_eq(said("/s", &one), "serving /s: 1 lease held, 1 waiting");
    cr_assert_str_eq(said("/run/berth/berth.sock", &some),
        "serving /run/berth/berth.sock: 12 leases held, 3 waiting");
}

Test(notify, drain)
{
    const struct notify_facts draining = {.n_held = 1, .is_draining = true};
    const struct notify_facts drained = {.is_draining = true, .is_drained = true};
    cr_assert_str_eq(said("/s", &draining), "serving /s: 1 lease held, 0 waiting; draining");
    cr_assert_str_eq(said("/s", &drained), "serving /s: 0 leases held, 0 waiting; drained");
}

Test(notify, databases)
{
    const struct notify_facts one = {.down = 2};
    const struct notify_facts two = {.down = 5, .is_draining = true, .is_drained = true};
    cr_assert_str_eq(
        said("/s", &one), "serving /s: 0 leases held, 0 waiting; not reachable: two");
    cr_assert_str_eq(said("/s", &two),
        "serving /s: 0 leases held, 0 waiting; drained; not reachable: one, three");
}

/* A newline would begin another assignment. */
Test(notify, strange_path)
{
    const struct notify_facts nothing = {0};
    cr_assert_str_eq(said("/s\nREADY=0\x1b\xc3", &nothing),
        "serving /s?READY=0??: 0 leases held, 0 waiting");
}

Test(notify, long_text)
{
    char path[2 * NOTIFY_TEXT_SIZE];
    const struct notify_facts nothing = {0};
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    cr_assert_eq(strlen(said(path, &nothing)), NOTIFY_TEXT_SIZE - 1);
}

enum { SECOND = 1000000000 };

Test(notify, due_at_once_the_first_time)
{
    const struct notify_pace pace = {0};
    const struct notify_facts held = {.n_held = 1}, nothing = {0};
    cr_assert_eq(notify_due(&pace, &held), 0);
    cr_assert_eq(notify_due(&pace, &nothing), NEVER);
}

Test(notify, not_due_while_nothing_changes)
{
    struct notify_pace pace = {0};
    const struct notify_facts held = {.n_held = 1}, nothing = {0};
    notify_tried(&pace, &held, true, 5);
    cr_assert_eq(notify_due(&pace, &held), NEVER);
    cr_assert_eq(notify_due(&pace, &nothing), 5 + (nanoseconds)SECOND);
}

Test(notify, any_difference_counts)
{
    struct notify_pace pace = {0};
    const struct notify_facts before = {0};
    const struct notify_facts after[] = {
        {.n_held = 1}, {.n_waiting = 1}, {.down = 1}, {.is_draining = true}};
    notify_tried(&pace, &before, true, 5);
    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
        cr_assert_neq(notify_due(&pace, &after[i]), NEVER, "%zu", i);
    }
}

Test(notify, what_was_not_heard_stays_due)
{
    struct notify_pace pace = {0};
    const struct notify_facts held = {.n_held = 1};
    notify_tried(&pace, &held, false, 5);
    cr_assert_eq(notify_due(&pace, &held), 5 + (nanoseconds)SECOND);
    notify_tried(&pace, &held, true, 7);
    cr_assert_eq(notify_due(&pace, &held), NEVER);
}

Test(notify, what_it_owes_is_due_without_a_change)
{
    struct notify_pace pace = {.owes = true};
    const struct notify_facts nothing = {0};
    cr_assert_eq(notify_due(&pace, &nothing), 0);
    notify_tried(&pace, &nothing, false, 5);
    cr_assert_eq(notify_due(&pace, &nothing), 5 + (nanoseconds)SECOND);
    notify_tried(&pace, &nothing, true, 6);
    cr_assert_eq(notify_due(&pace, &nothing), NEVER);
}
