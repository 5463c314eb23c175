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

static const struct {
    struct notify_facts facts;
    const char *socket, *text;
} texts[] = {
    {{.n_held = 0}, "/s", "serving /s: 0 leases held, 0 waiting"},
    {{.n_held = 1, .n_waiting = 1}, "/s", "serving /s: 1 lease held, 1 waiting"},
    {{.n_held = 12, .n_waiting = 3}, "/run/berth/berth.sock",
        "serving /run/berth/berth.sock: 12 leases held, 3 waiting"},
    {{.n_held = 1, .is_draining = true}, "/s", "serving /s: 1 lease held, 0 waiting; draining"},
    {{.is_draining = true, .is_drained = true}, "/s",
        "serving /s: 0 leases held, 0 waiting; drained"},
    {{.down = 2}, "/s", "serving /s: 0 leases held, 0 waiting; not reachable: two"},
    {{.down = 5, .is_draining = true, .is_drained = true}, "/s",
        "serving /s: 0 leases held, 0 waiting; drained; not reachable: one, three"},
    /* a newline would begin another assignment */
    {{.n_held = 0}, "/s\nREADY=0\x1b\xc3", "serving /s?READY=0??: 0 leases held, 0 waiting"},
};

Test(notify, text)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_expect_str_eq(said(texts[i].socket, &texts[i].facts), texts[i].text);
    }
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
