/* test_changes.c - runtime changes, described as lines and made again in another core. */
#include "base/memory.h"
#include "core_text.h"
#include "log/log.h"
#include "record/changes.h"
#include "tests/core_check.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One berthd after another: begin_run() is a start with that file. */
static struct definitions *definitions;
static struct core *core;
static struct effects effects;
static struct client client;

static void carry_out(void)
{
    effects_clear_changed(&effects);
    effects_clear(&effects);
}

static void end_run(void)
{
    if (core) {
        core_client_deinit(core, &client, 0, &effects);
        carry_out();
        effects_deinit(&effects);
        core_free(core);
        core = NULL;
        definitions_free(definitions);
        definitions = NULL;
    }
}

static void reload(const char *const lines[])
{
    struct definitions *before = definitions;
    struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    definitions = memory_new(sizeof *definitions);
    for (; *lines; lines++) {
        definitions_parse(definitions, &bounds, *lines);
    }
    cr_assert_eq(
        core_define(core, definitions->list, definitions->n, &bounds, 0, &effects, &refused),
        OUTCOME_OK);
    carry_out();
    if (before) {
        definitions_free(before);
    }
}

static void begin_run(const char *const lines[])
{
    log_init((enum log_level)0, false);
    end_run();
    core = core_new(0);
    effects = (struct effects)EFFECTS_INIT;
    reload(lines);
    cr_assert_eq(core_client_init(core, &client, 7), OUTCOME_OK);
}

#define begin_run(...) begin_run((const char *const[]){__VA_ARGS__, NULL})
#define reload(...) reload((const char *const[]){__VA_ARGS__, NULL})

#define FILE_OF_ALL                                                                                \
    "semaphore s limit=4", "lock d", "pool g items=a,b,c select=first", "semaphore market/* limit=5"

static void begin(void)
{
    begin_run(FILE_OF_ALL);
}

TestSuite(changes, .init = begin, .fini = end_run);

static void apply(const char *lines)
{
    char *copy = strdup(lines);
    changes_apply(core, copy, 0, &effects);
    carry_out();
    core_check(core);
    free(copy);
}

/* Good until the next call but one. */
static const char *describe(void)
{
    static struct text texts[2];
    static int turn;
    struct text *text = &texts[turn ^= 1];
    text->length = 0;
    text_add(text, "");
    changes_describe(text, core);
    return text->bytes;
}

/* The same without what the changes rest on in the file. */
static const char *said(void)
{
    static char text[4096];
    snprintf(text, sizeof text, "%s", describe());
    for (char *file = text; (file = strstr(file, " file="));) {
        char *end = strchr(file, '\n');
        memmove(file, end, strlen(end) + 1);
    }
    return text;
}

static struct lease *acquire(const char *name, uint32_t count)
{
    const struct acquire_request ask = {.wants = {{name, count}}, .n_wants = 1};
    struct lease *lease;
    const char *at_fault;
    cr_assert_eq(core_acquire(core, &client, &ask, 0, &effects, &lease, &at_fault), OUTCOME_OK);
    carry_out();
    return lease;
}

static void release(struct lease *lease)
{
    core_end(core, lease, &client, 0, &effects);
    carry_out();
}

static void count_changed(const struct resource *resource, void *context)
{
    (void)resource;
    ++*(size_t *)context;
}

static size_t n_changed(void)
{
    size_t n = 0;
    core_for_each_changed(core, count_changed, &n);
    return n;
}

/* However many resources there are. */
Test(changes, only_what_was_changed_is_looked_at)
{
    begin_run("semaphore s limit=4", "pool g items=a,b", "semaphore market/* limit=5");
    for (int i = 0; i < 90; i++) {
        char name[16];
        snprintf(name, sizeof name, "market/%d", i);
        acquire(name, 1);
    }
    cr_expect_eq(n_changed(), 0);
    apply("pause market/7\nreserve g a\nlimit s 3 file=4\n");
    cr_expect_eq(n_changed(), 3);
    const struct change resume = {.kind = CHANGE_RESUME}, reset = {.kind = CHANGE_RESET};
    cr_assert_eq(core_change(core, "market/7", &resume, 0, &effects), OUTCOME_OK);
    cr_assert_eq(core_change(core, "g", &reset, 0, &effects), OUTCOME_OK);
    cr_expect_eq(n_changed(), 1);
    reload("semaphore s limit=5", "pool g items=a,b", "semaphore market/* limit=5");
    cr_expect_eq(n_changed(), 0, "the file says something else now");
}

/* What is described is made again by a run with the same file, and described in the same words. */
static void expect_lasting(void)
{
    char *before = strdup(describe());
    begin_run(FILE_OF_ALL);
    cr_assert_str_eq(describe(), "");
    apply(before);
    cr_assert_str_eq(describe(), before);
    free(before);
}

/* ---- there and back ---- */

Test(changes, none)
{
    cr_expect_str_eq(said(), "");
    apply("");
    release(acquire("market/x", 1));
    cr_expect_str_eq(said(), "");
}

Test(changes, limits)
{
    apply("limit s 9\nlimit d 0\nlimit market/x 0\n");
    cr_expect_str_eq(said(), "limit s 9\nlimit d 0\nlimit market/x 0\n");
    expect_lasting();
    cr_expect_eq(resource_limit(core_find_resource(core, "s")), 9);
    cr_expect_eq(resource_limit(core_find_resource(core, "market/x")), 0);
    apply("limit s 4\n");
    cr_expect_str_eq(said(), "limit d 0\nlimit market/x 0\n");
}

Test(changes, pauses_and_a_drain)
{
    apply("pause s\npause g reason=a%20b=c%25\npause market/y reason=\ndrain\n");
    expect_lasting();
    cr_expect(core_is_draining(core));
    cr_expect(core_find_resource(core, "s")->pause.is_on);
    cr_expect_null(core_find_resource(core, "s")->pause.decision.reason);
    cr_expect_str_eq(core_find_resource(core, "g")->pause.decision.reason, "a b=c%");
    cr_expect(core_find_resource(core, "market/y")->pause.is_on);
}

static void expect_paused_by(const char *name, bool has_login, uint32_t uid, uint32_t login)
{
    const struct actor by = core_pause(core, name)->decision.by;
    cr_expect(by.is_known, "%s", name);
    cr_expect_eq(by.has_login, has_login, "%s", name);
    cr_expect_eq(by.uid, uid, "%s", name);
    cr_expect_eq(by.login, login, "%s", name);
}

static void expect_said(const struct change *change, const char *name, const char *expected)
{
    core_change(core, name, change, 0, &effects);
    cr_expect_not_null(strstr(said(), expected), "%s: %s", expected, said());
}

/* Who said so first, and when, stays; the reason is the last one. */
Test(changes, said_again)
{
    struct change pause = {.kind = CHANGE_PAUSE, .by = {.is_known = true, .uid = 7}, .at = 5};
    struct change limit = {.kind = CHANGE_LIMIT, .limit = 3, .by = pause.by, .at = 5};
    const struct change resume = {.kind = CHANGE_RESUME};
    expect_said(&pause, "s", "pause s by=7 at=5");
    expect_said(&pause, "market/*", "pause market/* by=7 at=5");
    expect_said(&limit, "s", "limit s 3 by=7 at=5");
    expect_said(&limit, "market/*", "limit market/* 3 by=7 at=5");
    pause.by.uid = limit.by.uid = 8;
    pause.at = limit.at = 6;
    pause.reason = limit.reason = "b";
    expect_said(&pause, "s", "pause s reason=b by=7 at=5");
    expect_said(&pause, "market/*", "pause market/* reason=b by=7 at=5");
    expect_said(&limit, "s", "limit s 3 reason=b by=7 at=5");
    expect_said(&limit, "market/*", "limit market/* 3 reason=b by=7 at=5");
    limit.limit = 5;
    expect_said(&resume, "s", "limit s 3");
    expect_said(&pause, "s", "pause s reason=b by=8 at=6");
    expect_said(&limit, "s", "limit s 5 reason=b by=8 at=6");
    core_note_drain(core, &pause);
    core_drain(core, true, 0, &effects);
    pause.by.uid = 9;
    pause.reason = "c";
    core_note_drain(core, &pause);
    cr_expect_not_null(strstr(said(), "drain reason=c by=8 at=6\n"));
}

/* An older berthd has written down nobody. */
Test(changes, who_paused)
{
    apply("pause s reason=x by=0 by_login=1000\npause g by=7\npause d by=root by_login=7\n"
          "pause market/* by=8\npause market/z by=9\n");
    cr_expect_str_eq(said(),
        "pause market/* by=8\npause s reason=x by=0 by_login=1000\npause g by=7\npause d\n"
        "pause market/z by=9\n");
    expect_lasting();
    expect_paused_by("s", true, 0, 1000);
    expect_paused_by("g", false, 7, 0);
    expect_paused_by("market/z", false, 9, 0);
    expect_paused_by("market/none", false, 8, 0);
    cr_expect_not(core_pause(core, "d")->decision.by.is_known);
    reload(FILE_OF_ALL);
    expect_paused_by("market/none", false, 8, 0);
    apply("resume s\npause g\n");
    cr_expect_not(core_pause(core, "s")->decision.by.is_known);
    cr_expect_not(core_pause(core, "g")->decision.by.is_known);
}

Test(changes, items)
{
    apply("add g z\nremove g b\nadd g y\n");
    expect_lasting();
    cr_expect_eq(resource_limit(core_find_resource(core, "g")), 4);
    cr_expect_null(resource_find_unit(core_find_resource(core, "g"), "b"));
    struct lease *lease = acquire("g", 3);
    const char *const order[] = {"a", "c", "z"};
    const struct unit *unit = lease->claims[0].units;
    for (size_t i = 0; i < 3; i++, unit = unit->next_of_claim) {
        cr_expect_str_eq(unit->item, order[i]);
    }
    release(lease);
    apply("remove g a\nremove g c\nremove g z\nremove g y\n");
    expect_lasting();
    cr_expect_eq(resource_limit(core_find_resource(core, "g")), 0);
}

/* Once, however many lines there are. */
Test(changes, who_has_changed_the_items)
{
    apply("add g z reason=fan by=7 by_login=1000 at=99\nadd g y\nremove g b\n");
    cr_expect_str_eq(said(),
        "add g z reason=fan by=7 by_login=1000 at=99\nadd g y\nremove g b\n");
    expect_lasting();
    const struct decision *decision = resource_decision(core_find_resource(core, "g"));
    cr_assert(decision);
    cr_expect_str_eq(decision->reason, "fan");
    cr_expect(decision->at == 99 && decision->by.uid == 7 && decision->by.login == 1000);
}

Test(changes, an_item_that_is_removed_while_it_is_held)
{
    struct lease *lease = acquire("g", 2);
    apply("remove g a\nadd g z\n");
    char *held = strdup(describe());
    release(lease);
    cr_expect_str_eq(describe(), held);
    free(held);
    expect_lasting();
    cr_expect_null(resource_find_unit(core_find_resource(core, "g"), "a"));
}

Test(changes, reservations)
{
    apply("reserve s 3 reason=broken%20fan\nreserve s 0\nreserve g b\nreserve market/x 2\n");
    cr_expect_str_eq(
        said(), "reserve s 0\nreserve s 3 reason=broken%20fan\nreserve g b\nreserve market/x 2\n");
    expect_lasting();
    cr_expect_eq(resource_available(core_find_resource(core, "s")), 2);
    cr_expect_str_eq(resource_find_unit(core_find_resource(core, "s"), "3")->reason, "broken fan");
    apply("add s 3\nadd s 0\nadd g b\n");
    cr_expect_str_eq(said(), "reserve market/x 2\n");
}

Test(changes, a_reservation_of_what_is_held)
{
    struct lease *lease = acquire("s", 4);
    apply("reserve s 2\n");
    cr_expect_str_eq(said(), "reserve s 2\n");
    release(lease);
    expect_lasting();
}

Test(changes, a_reservation_of_what_cools_down)
{
    begin_run("semaphore s limit=4 cooldown=60");
    release(acquire("s", 1));
    apply("reserve s 0\n");
    cr_expect_str_eq(said(), "reserve s 0\n");
}

Test(changes, of_an_item_that_was_added)
{
    apply("add g z\nreserve g z reason=new\npause g\n");
    expect_lasting();
    cr_expect_eq(resource_available(core_find_resource(core, "g")), 3);
}

/* A limit that the operator raised comes before the reservations above the file's. */
Test(changes, of_a_slot_above_the_limit_of_the_file)
{
    apply("limit s 9\nreserve s 8\n");
    cr_expect_str_eq(said(), "reserve s 8\nlimit s 9\n");
    expect_lasting();
}

/* It comes into force when the limit is raised again. */
Test(changes, of_a_slot_above_a_limit_that_was_lowered)
{
    apply("reserve s 3\nreserve d 0\nlimit s 2\nlimit d 0\nlimit market/x 9\nreserve market/x 8\n"
          "limit market/x 5\n");
    cr_expect_str_eq(
        said(), "reserve s 3\nlimit s 2\nreserve d 0\nlimit d 0\nreserve market/x 8\n");
    expect_lasting();
    cr_expect_eq(resource_limit(core_find_resource(core, "s")), 2);
    cr_expect_eq(resource_limit(core_find_resource(core, "d")), 0);
    apply("limit s 4\nlimit market/x 9\n");
    cr_expect_eq(resource_available(core_find_resource(core, "s")), 3);
    cr_expect_eq(resource_available(core_find_resource(core, "market/x")), 8);
}

/* ---- of all instances of a template ---- */

Test(changes, of_a_template)
{
    apply("limit market/* 3\npause market/* reason=migration\n");
    cr_expect_str_eq(said(), "limit market/* 3\npause market/* reason=migration\n");
    expect_lasting();
    cr_expect(core_find_template(core, "market/*")->pause.is_on);
    apply("limit market/* 5\n");
    cr_expect_str_eq(said(), "pause market/* reason=migration\n");
}

/* What an instance has by itself comes after its template's, which it would be without: the file's
 * limit, and no pause. */
Test(changes, of_an_instance_of_a_changed_template)
{
    apply("limit market/* 3\npause market/*\nlimit market/x 5\nresume market/y\n"
          "pause market/z reason=own\n");
    cr_expect_str_eq(said(),
        "limit market/* 3\npause market/*\nlimit market/x 5\nresume market/y\n"
        "pause market/z reason=own\n");
    expect_lasting();
    cr_expect_eq(resource_limit(core_find_resource(core, "market/x")), 5);
    cr_expect_eq(resource_limit(core_find_resource(core, "market/y")), 3);
    cr_expect_not(resource_is_paused(core_find_resource(core, "market/y")));
    cr_expect_str_eq(resource_pause(core_find_resource(core, "market/z"))->decision.reason, "own");
}

/* A slot above the template's limit stays reserved. */
Test(changes, of_a_slot_above_the_limit_of_the_template)
{
    apply("reserve market/x 4\nlimit market/* 2\n");
    cr_expect_str_eq(said(), "limit market/* 2\nreserve market/x 4\n");
    expect_lasting();
    apply("limit market/* 8\nreserve market/x 7\nlimit market/* 2\n");
    cr_expect_str_eq(said(), "limit market/* 2\nreserve market/x 4\nreserve market/x 7\n");
    expect_lasting();
    cr_expect_eq(resource_limit(core_find_resource(core, "market/x")), 2);
}

/* ---- until that key's text changes in the file ---- */

Test(changes, the_files_limit_has_changed)
{
    apply("limit s 9\npause s\nlimit d 0\nlimit market/x 1\n");
    char *before = strdup(describe());
    begin_run("semaphore s limit=5", "lock d", "semaphore market/* limit=6");
    apply(before);
    cr_expect_str_eq(said(), "pause s\nlimit d 0\n");
    cr_expect_eq(resource_limit(core_find_resource(core, "s")), 5);
    cr_expect_null(core_find_resource(core, "market/x"));
    free(before);
}

Test(changes, the_files_items_have_changed)
{
    static const char *const others[] = {"pool g items=a,b select=first",
        "pool g items=a,c,b select=first", "pool g items=a,b,c,d", "pool g items=ab,c",
        "pool g items=a,bc"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        begin_run(FILE_OF_ALL);
        apply("add g z\nremove g c\nreserve g a\n");
        char *before = strdup(describe());
        begin_run(others[i]);
        apply(before);
        cr_expect_null(resource_find_unit(core_find_resource(core, "g"), "z"), "%s", others[i]);
        cr_expect_null(strstr(describe(), "add"), "%s", others[i]);
        cr_expect_null(strstr(describe(), "remove"), "%s", others[i]);
        free(before);
    }
}

/* A reload settles it, so that the old value of the key does not bring the change back. */
Test(changes, over_a_reload)
{
    apply("limit s 9\nadd g z\npause d\n");
    reload("semaphore s limit=3", "lock d", "pool g items=a select=first");
    cr_expect_str_eq(said(), "pause d\n");
    reload(FILE_OF_ALL);
    cr_expect_str_eq(said(), "pause d\n");
    reload("semaphore s limit=3");
    cr_expect_str_eq(said(), "");
}

/* The same changes in two berthds, one of which reloads a file while the other restarts with it. */
static void expect_same_over_both(const char *changes, const char *next, const char *lasting)
{
    begin_run(FILE_OF_ALL);
    apply(changes);
    char *before = strdup(describe());
    reload(next);
    char *reloaded = strdup(describe());
    cr_expect_str_eq(said(), lasting, "%s", next);
    reload(FILE_OF_ALL);
    cr_expect_str_eq(said(), lasting, "%s, and the first one again", next);
    begin_run(next);
    apply(before);
    cr_expect_str_eq(describe(), reloaded, "%s", next);
    free(before);
    free(reloaded);
}

Test(changes, over_a_reload_as_over_a_restart)
{
    static const struct {
        const char *changes, *next, *lasting;
    } rows[] = {
        {"reserve s 3\n", "semaphore s limit=2", "reserve s 3\n"},
        {"limit s 9\nreserve s 8\npause s\n", "semaphore s limit=3", "reserve s 8\npause s\n"},
        {"limit s 9\nreserve s 8\npause s\n", "semaphore s limit=4 cooldown=1",
            "reserve s 8\nlimit s 9\npause s\n"},
        {"reserve s 1\npause s\n", "pool s items=1", ""},
        {"pause market/*\nresume market/x\nlimit market/x 2\n", "semaphore market/x limit=5",
            "limit market/x 2\n"},
        {"reserve g a\nremove g a\n", "pool g items=a,b", ""},
        {"reserve g b\nadd g z\nreserve g z\npause g\n", "pool g items=b,a",
            "reserve g b\npause g\n"},
        {"pause s\nlimit d 0\npause market/*\nlimit market/x 3\nadd g z\n", "lock other", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_same_over_both(rows[i].changes, rows[i].next, rows[i].lasting);
    }
}

/* A resource that goes while it is held, and comes back before it is free. */
Test(changes, what_has_ended_does_not_come_back_with_a_holder)
{
    struct lease *s = acquire("s", 1), *g = acquire("g", 1);
    apply("limit s 9\nreserve s 2\npause s\nadd g z\nremove g a\nreserve g b\n");
    reload("lock other");
    cr_expect_str_eq(describe(), "");
    core_check(core);
    reload(FILE_OF_ALL);
    cr_expect_str_eq(describe(), "");
    core_check(core);
    release(s);
    release(g);
    cr_expect_eq(resource_available(core_find_resource(core, "s")), 4);
    cr_expect_eq(resource_available(core_find_resource(core, "g")), 3);
}

/* The reservation of an item ends with its removal, which waits for the holder. */
Test(changes, an_item_that_is_reserved_and_removed_while_it_is_held)
{
    struct lease *lease = acquire("g", 1);
    apply("reserve g a\nremove g a\n");
    cr_expect_str_eq(said(), "remove g a\n");
    reload("pool g items=a,b select=first");
    cr_expect_str_eq(describe(), "");
    release(lease);
}

Test(changes, the_resource_is_gone_or_another)
{
    apply("limit s 9\npause d\nadd g z\nlimit market/x 1\nreserve s 1\n");
    char *before = strdup(describe());
    begin_run("pool s items=a,b", "semaphore g limit=3");
    apply(before);
    cr_expect_str_eq(said(), "");
    free(before);
}

/* ---- what is none ---- */

Test(changes, nonsense)
{
    static const char *const lines[] = {"\n", "\n\n\n", " \n", "limit\n", "limit s\n",
        "limit s x\n", "limit s 1000001\n", "limit s -1\n", "limit s 3 4\n", "limit s 3 file=\n",
        "limit s 3 file=x\n", "limit .. 3\n", "limit m/* 3\n", "limit g 2\n", "limit d 2\n",
        "add g\n", "add g a%20b\n", "add s 1\n", "remove s 1\n", "remove g z\n",
        "reserve s 1000000\n", "reserve s x\n", "pause s file=x\n",
        "pause s file=00000000000000001\n", "reserve g z\n", "pause\n", "pause s x\n",
        "pause s reason=%\n", "pause s reason=%00\n", "pause s reason=x reason=y z\n", "resume s\n",
        "reset s\n", "reload\n", "drain s\n", "Drain\n", "undrain\n", "revoke 1\n", "file=4\n",
        "=\n", "limit s 3 file=4 a b c d e f\n", "nothing", "pause nobody\n"};
    begin_run(FILE_OF_ALL);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        apply(lines[i]);
        cr_expect_str_eq(said(), "", "%s", lines[i]);
    }
    apply("nonsense\npause s\nnonsense\ndrain");
    cr_expect_str_eq(said(), "drain\npause s\n");
}
