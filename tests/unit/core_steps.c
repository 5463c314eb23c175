/* core_steps.c - tests told as lists of steps; see core_fixture.h. */
#include "core_text.h"
#include "core_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = 512 };

/* ---- what is granted when nothing else is said ---- */

/* "ok s=0,1 g=a": the first units that are free, as nothing has been given back. */
static void say_first_units(struct text *text, const char *lease, const char *ask)
{
    struct parsed_ask parsed;
    (void)lease;
    parsed_ask_read(&parsed, ask);
    say(text, "ok");
    for (size_t i = 0; i < parsed.ask.n_wants; i++) {
        const struct requested_resource *want = &parsed.ask.wants[i];
        const struct resource *resource = core_find_resource(world.core, want->name);
        uint32_t unit = resource ? resource_in_use(resource) : 0;
        for (uint32_t n = 0; n < want->count; n++, unit++) {
            if (n == 0) {
                say(text, " %s=", want->name);
            }
            if (resource && resource_is_pool(resource)) {
                cr_assert_lt(unit, resource->definition->n_items);
                say(text, "%s%s", n > 0 ? "," : "", resource->definition->items[unit]);
            } else {
                say(text, "%s%u", n > 0 ? "," : "", unit);
            }
        }
    }
}

/* "17 s:0,1:5 g:b:6" as granted() answers it. */
static void say_granted_units(struct text *text, const char *lease, const char *grant)
{
    char word[WORD_BYTES];
    cr_assert(next_word(&grant, word));
    say(text, "ok; %s granted", lease);
    while (next_word(&grant, word)) {
        char *rest = word;
        const char *name = strsep(&rest, ":");
        say(text, " %s=%s", name, strsep(&rest, ":"));
    }
}

static void say_waiting(struct text *text, const char *lease, const char *ask)
{
    (void)lease;
    (void)ask;
    say(text, "waiting");
}

static void say_asked(struct text *text, const char *lease, const char *ask)
{
    (void)ask;
    say(text, "pending; %s ask", lease);
}

/* No record is there. */
static void say_nothing(struct text *text, const char *leases, const char *definitions)
{
    (void)text;
    (void)leases;
    (void)definitions;
}

/* ---- operations whose arguments are no texts ---- */

static const char *at(const char *instant)
{
    return tick(strtod(instant, NULL));
}

static const char *drain_on(void)
{
    return drain(true);
}

static const char *drain_off(void)
{
    return drain(false);
}

static const char *grace(const char *until)
{
    begin_grace(false, strtod(until, NULL));
    return "ok";
}

static const char *closed_grace(const char *until)
{
    begin_grace(true, strtod(until, NULL));
    return "ok";
}

static const char *leases_of_database(const char *database)
{
    return leases_of((uint8_t)number(database));
}

static const char *renew_for(const char *lease, const char *ttl)
{
    return renew(lease, strtod(ttl, NULL));
}

static const char *good_for(const char *database, const char *until)
{
    return good((uint8_t)number(database), strtod(until, NULL));
}

static const char *at_place(const char *lease, const char *ticket_and_place,
    const char *function(const char *lease, uint64_t ticket, uint32_t position))
{
    char ticket[WORD_BYTES], position[WORD_BYTES];
    cr_assert(next_word(&ticket_and_place, ticket) && next_word(&ticket_and_place, position));
    return function(lease, number(ticket), number(position));
}

static const char *queued(const char *lease, const char *ticket_and_place)
{
    return at_place(lease, ticket_and_place, waits);
}

static const char *moved_to(const char *lease, const char *ticket_and_place)
{
    return at_place(lease, ticket_and_place, moved);
}

static const char *binds(const char *who, const char *lease, const char *pid)
{
    return bind_to(who, lease, number(pid));
}

static const char *changes(const char *who, const char *lease, const char *text)
{
    cr_assert_str_eq(lease, "");
    return change_as(who, text);
}

static const char *change_by_operator(const char *nothing, const char *text)
{
    cr_assert_str_eq(nothing, "");
    return change(text);
}

struct parsed_file {
    char copy[STEP_BYTES];
    const char *lines[MAX_DEFINITIONS + 1];
};

/* The text has all definitions, with ";" in between. */
static const char *const *parse_file(struct parsed_file *file, const char *text)
{
    char *rest = file->copy;
    size_t n = 0;
    snprintf(file->copy, sizeof file->copy, "%s", text);
    for (const char *line; (line = strsep(&rest, ";"));) {
        cr_assert_lt(n, (size_t)MAX_DEFINITIONS);
        file->lines[n++] = line;
    }
    file->lines[n] = NULL;
    return file->lines;
}

static const char *reload(const char *nothing, const char *text)
{
    struct parsed_file file;
    cr_assert_str_eq(nothing, "");
    return define_all(parse_file(&file, text));
}

static const char *start_again(const char *nothing, const char *text)
{
    struct parsed_file file;
    cr_assert_str_eq(nothing, "");
    return restart_with(parse_file(&file, text));
}

static const char *start_without(const char *leases, const char *text)
{
    struct parsed_file file;
    return restart_without_records(leases, parse_file(&file, text));
}

/* ---- steps ---- */

/* One of the functions is there; which one says of which words and texts the step consists. */
static const struct verb {
    const char *word;
    const char *(*alone)(void); /* "deadline" */
    const char *(*of)(const char *name); /* "revoke A", "ann goes" */
    const char *(*by)(const char *who, const char *lease); /* "ann ends A" */
    const char *(*to)(const char *name, const char *text); /* "record A: ann id=7 s" */
    const char *(*by_to)(const char *who, const char *lease, const char *text); /* "ann has A: s" */
    void (*say_answer)(struct text *answer, const char *lease, const char *text); /* NULL: "ok" */
} verbs[] = {
    {"deadline", .alone = deadline},
    {"drain", .alone = drain_on},
    {"grace-until", .alone = grace_until},
    {"resources", .alone = resources},
    {"restored", .alone = restored},
    {"undrain", .alone = drain_off},
    {"at", .of = at},
    {"closed-grace", .of = closed_grace},
    {"comes", .of = connect_client},
    {"drop", .of = drop},
    {"exit", .of = process_gone},
    {"goes", .of = client_gone},
    {"good-until", .of = good_until},
    {"grace", .of = grace},
    {"half-closes", .of = half_close},
    {"lease", .of = lease_state},
    {"leases-of", .of = leases_of_database},
    {"lines", .of = lines},
    {"lose", .of = lost},
    {"move-first", .of = move_first},
    {"move-last", .of = move_last},
    {"place", .of = place},
    {"replaced-holder", .of = replaced_holder},
    {"revoke", .of = revoke},
    {"state", .of = state},
    {"stop-at", .of = stop_at},
    {"stop-rules", .of = stop_rules},
    {"withdraw", .of = withdraw},
    {"ends", .by = end_lease},
    {"finds", .by = find_once},
    {"reclaims", .by = reclaim},
    {"repeats", .by = repeat},
    {"change", .to = change_by_operator},
    {"good", .to = good_for},
    {"granted", .to = granted, .say_answer = say_granted_units},
    {"moved", .to = moved_to},
    {"queued", .to = queued},
    {"record", .to = restore},
    {"refuse", .to = refused},
    {"reload", .to = reload},
    {"renew", .to = renew_for},
    {"revoke-saying", .to = revoke_saying},
    {"restart", .to = start_again},
    {"restart-without", .to = start_without, .say_answer = say_nothing},
    {"acquires", .by_to = acquire},
    {"asks", .by_to = acquire, .say_answer = say_asked},
    {"binds", .by_to = binds},
    {"changes", .by_to = changes},
    {"claims", .by_to = reclaim_unknown},
    {"has", .by_to = acquire, .say_answer = say_first_units},
    {"waits", .by_to = acquire, .say_answer = say_waiting},
};

static const struct verb *find_verb(const char *word)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verbs[i].word, word) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

static const char *carry_out(
    const struct verb *verb, const char *who, const char *name, const char *text)
{
    return verb->alone ? verb->alone()
        : verb->of     ? verb->of(who[0] ? who : name)
        : verb->by     ? verb->by(who, name)
        : verb->to     ? verb->to(name, text)
                       : verb->by_to(who, name, text);
}

/* "VERB [NAME]" or "WHO VERB [NAME]" */
static const struct verb *parse_words(
    const char *words, char who[WORD_BYTES], char name[WORD_BYTES])
{
    char word[WORD_BYTES];
    who[0] = '\0';
    next_word(&words, word);
    const struct verb *verb = find_verb(word);
    if (!verb) {
        strcpy(who, word);
        next_word(&words, word);
        verb = find_verb(word);
    }
    next_word(&words, name);
    cr_assert_str_eq(words + strspn(words, " "), "", "too many words");
    return verb;
}

static void step(const char *line)
{
    char copy[STEP_BYTES], who[WORD_BYTES], name[WORD_BYTES];
    cr_assert_lt(strlen(line), sizeof copy);
    strcpy(copy, line);
    char *answer = strstr(copy, " -> ");
    if (answer) {
        *answer = '\0';
        answer += strlen(" -> ");
    }
    char *text = strchr(copy, ':');
    if (text) {
        *text++ = '\0';
        text += strspn(text, " ");
    }
    const struct verb *verb = parse_words(copy, who, name);
    cr_assert(verb && !text == !(verb->to || verb->by_to), "no such step: %s", line);
    struct text expected = text_new();
    if (answer || !verb->say_answer) {
        say(&expected, "%s", answer ? answer : "ok");
    } else {
        verb->say_answer(&expected, name, text);
    }
    const char *got = carry_out(verb, who, name, text);
    cr_assert_str_eq(got, expected.bytes, "%s: %s\n    instead of: %s\n    got: %s",
        world.about ? world.about : "given", line, expected.bytes, got);
}

static bool is_definition(const char *line)
{
    static const char *const kinds[] = {"semaphore ", "lock ", "pool ", "user "};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strncmp(line, kinds[i], strlen(kinds[i])) == 0) {
            return true;
        }
    }
    return false;
}

void given_all(const char *const given_lines[])
{
    const char *definitions[MAX_DEFINITIONS + 1] = {NULL};
    size_t n = 0;
    for (; given_lines[n] && is_definition(given_lines[n]); n++) {
        cr_assert_lt(n, (size_t)MAX_DEFINITIONS);
        definitions[n] = given_lines[n];
    }
    EXPECT(define_all(definitions), "ok");
    for (; given_lines[n]; n++) {
        step(given_lines[n]);
    }
}

void tell_all(const struct story stories[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            world_end();
            world_begin();
        }
        cr_log_info("%s", stories[i].about);
        world.about = stories[i].about;
        given_all(stories[i].steps);
    }
}
