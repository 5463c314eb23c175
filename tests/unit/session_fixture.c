#include "session_fixture.h"

#include "core/memory.h"
#include "store/session_text.h"
#include "wire/text.h"

enum { MAX_NAMED = 512, N_TEXTS = 16, MAX_ELEMENTS = 2048, N_DEFINITIONS = 5 };

#define SECOND NANOSECONDS_PER_SECOND

struct session *session;
struct core *core;
nanoseconds now;

static struct database settings;
static struct definition definitions[N_DEFINITIONS];
static struct client client;
static struct effects effects;
static struct text happenings, tenure, changes;
static const char id_of_session[] = "0123456789abcdef";

static struct {
    char name[16];
    uint64_t id;
} named[MAX_NAMED];
static size_t n_named;

static uint64_t unanswered[4096];
static size_t first_unanswered, n_sent;

/* ---- texts ---- */

static const char *keep(struct text *text)
{
    static char *kept[N_TEXTS];
    static size_t n;
    char **slot = &kept[n++ % N_TEXTS];
    free(*slot);
    *slot = text_take(text);
    return *slot;
}

static const char *name_of(uint64_t id)
{
    for (size_t i = n_named; i-- > 0;) {
        if (named[i].id == id) {
            return named[i].name;
        }
    }
    return "?";
}

static uint64_t id_of(const char *name)
{
    for (size_t i = n_named; i-- > 0;) {
        if (strcmp(named[i].name, name) == 0) {
            return named[i].id;
        }
    }
    cr_assert_fail("no lease is called %s", name);
    return 0;
}

/* "$A" becomes the id. */
static void add_with_ids(struct text *out, const char *from, size_t n)
{
    char word[LEASE_ID_SIZE], name[16];
    for (size_t i = 0; i < n; i++) {
        if (from[i] != '$') {
            text_add_bytes(out, &from[i], 1);
            continue;
        }
        size_t length = strspn(from + i + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        snprintf(name, sizeof name, "%.*s", (int)length, from + i + 1);
        lease_id_format(word, id_of(name));
        text_add(out, word);
        i += length;
    }
}

/* And back. */
static void add_word(struct text *out, const char *word)
{
    uint64_t id;
    bool is_id = lease_id_parse(word, &id);
    if (is_id && strcmp(name_of(id), "?") != 0) {
        text_add_format(out, "$%s", name_of(id));
    } else if (strncmp(word, "pid=", 4) == 0) {
        text_add(out, "i");
    } else if (*word == '\0' || strchr(word, ' ')) {
        text_add_format(out, "'%s'", word);
    } else {
        text_add(out, word);
    }
}

/* ---- what happens ---- */

static const char *outcome_word(enum outcome outcome)
{
    static const char *const words[N_OUTCOMES] = {[OUTCOME_OK] = "ok",
        [OUTCOME_WOULD_WAIT] = "would-wait",
        [OUTCOME_PAUSED] = "paused",
        [OUTCOME_DOWN] = "down",
        [OUTCOME_LOST] = "lost",
        [OUTCOME_CANCELLED] = "cancelled",
        [OUTCOME_REVOKED] = "revoked",
        [OUTCOME_DROPPED] = "dropped",
        [OUTCOME_RELEASED] = "released",
        [OUTCOME_DEADLINE] = "deadline",
        [OUTCOME_DIFFERS] = "differs",
        [OUTCOME_HELD] = "held",
        [OUTCOME_UNKNOWN] = "unknown",
        [OUTCOME_DRAINING] = "draining",
        [OUTCOME_GRACE] = "grace",
        [OUTCOME_NO_SPACE] = "no-space",
        [OUTCOME_KIND] = "kind"};
    return words[outcome] ? words[outcome] : "other";
}

static void say_units(struct text *out, const struct lease *of)
{
    for (size_t i = 0; i < of->n_claims; i++) {
        const char *before = "=";
        text_add_format(out, " %s", of->claims[i].resource->name);
        for (const struct unit *unit = of->claims[i].units; unit; unit = unit->next_of_claim) {
            text_add_format(out, "%s", before);
            if (unit->item) {
                text_add(out, unit->item);
            } else {
                text_add_number(out, unit->index);
            }
            before = ",";
        }
    }
}

static void say_effect(const struct effect *effect)
{
    static const char *const words[] = {[EFFECT_GRANTED] = "granted",
        [EFFECT_DENIED] = "denied",
        [EFFECT_LOST] = "lost",
        [EFFECT_STOP] = "stop",
        [EFFECT_PLACE] = "place"};
    struct text *out = &happenings;
    bool is_said = effect->kind == EFFECT_GRANTED || effect->kind == EFFECT_DENIED ||
        effect->kind == EFFECT_LOST || effect->kind == EFFECT_STOP || effect->kind == EFFECT_PLACE;
    if (!is_said) {
        return;
    }
    text_add_format(out, "%s%s %s", out->length > 0 ? "; " : "", name_of(effect->lease->id),
        words[effect->kind]);
    if (effect->kind == EFFECT_GRANTED) {
        say_units(out, effect->lease);
    } else if (effect->kind == EFFECT_PLACE) {
        text_add_format(out, " %u", effect->lease->position);
    } else {
        text_add_format(out, " %s", outcome_word(effect->why));
    }
}

/* As the daemon's glue does. */
static void carry_out(void)
{
    for (size_t i = 0; i < effects.n; i++) {
        struct effect effect = effects.list[i];
        if (effect.kind == EFFECT_ASK && effect.lease->state == LEASE_WAITING) {
            session_ask(session, effect.lease, now, &effects);
        } else if (effect.kind == EFFECT_GIVE_BACK) {
            session_give_back(session, effect.lease, now);
        }
        say_effect(&effect);
    }
    effects_clear(&effects);
}

const char *happened(void)
{
    text_add(&happenings, "");
    return keep(&happenings);
}

const char *notice(void)
{
    const char *said = session_take_notice(session);
    return said ? said : "";
}

/* ---- world ---- */

static struct definition make_definition(const char *name, enum kind kind, uint32_t limit)
{
    static char *items[] = {"a", "b"};
    return (struct definition){
        .name = (char *)name,
        .kind = kind,
        .database = 1,
        .limit = limit,
        .items = items,
        .n_items = kind == KIND_POOL ? 2 : 0,
        .max_hold = NEVER,
        .kill_after = 3 * SECOND,
        .on_lost = ON_LOST_KILL,
        .max_waiters = 1000,
        .max_units_per_user = UNBOUNDED,
        .max_instances = 10,
        .max_priority = 10,
    };
}

static void define_core(void)
{
    static const struct user_bounds bounds = {1000, 1000, 100000, 1000};
    const char *refused;
    cr_assert_eq(core_define(core, definitions, N_DEFINITIONS, &bounds, now, &effects, &refused),
        OUTCOME_OK);
    carry_out();
    session_define(session, definitions, N_DEFINITIONS, now);
}

static struct session *make_session(void)
{
    struct session_options options = {.core = core,
        .database = 1,
        .settings = &settings,
        .id = id_of_session,
        .host = "this host",
        .seed = 1,
        .wall_offset = 500 * SECOND};
    return session_new(&options);
}

void world_begin(void)
{
    struct core_options options = {.first_id = 1000, .first_token = 1, .seed = 1};
    now = 1000 * SECOND;
    settings = (struct database){
        .name = "default", .ttl = 30 * SECOND, .failover_lag = 11 * SECOND, .generation = 1};
    definitions[0] = make_definition("s", KIND_SEMAPHORE, 3);
    definitions[1] = make_definition("l", KIND_LOCK, 1);
    definitions[2] = make_definition("p", KIND_POOL, 0);
    definitions[3] = make_definition("t/*", KIND_SEMAPHORE, 5);
    definitions[4] = make_definition("warn", KIND_SEMAPHORE, 3);
    definitions[4].on_lost = ON_LOST_WARN;
    core = core_new(&options);
    session = make_session();
    define_core();
    cr_assert_eq(core_client_init(core, &client, 7), OUTCOME_OK);
}

void world_session(void)
{
    session = make_session();
    session_define(session, definitions, N_DEFINITIONS, now);
}

void world_end(void)
{
    core_client_deinit(core, &client, now, &effects);
    carry_out();
    core_abandon(core, now, &effects);
    carry_out();
    session = session_free(session);
    core = core_free(core);
    effects_deinit(&effects);
    text_deinit(&happenings);
    text_deinit(&tenure);
    text_deinit(&changes);
}

/* ---- time ---- */

void wait_for(double seconds)
{
    now += (nanoseconds)(seconds * (double)SECOND);
    core_tick(core, now, &effects);
    session_tick(session, now, &effects);
    carry_out();
}

static const char *in_seconds(nanoseconds at)
{
    struct text out = TEXT_INIT;
    if (at == NEVER) {
        text_add(&out, "never");
    } else {
        text_add_format(&out, "%.3f", (double)(at - now) / (double)SECOND);
    }
    return keep(&out);
}

const char *next_deadline(void)
{
    return in_seconds(session_next_deadline(session));
}

const char *good_for(void)
{
    struct session_view view;
    session_look(session, &view);
    return in_seconds(view.good_until);
}

enum session_state session_state(void)
{
    struct session_view view;
    session_look(session, &view);
    return view.state;
}

uint64_t incarnation(void)
{
    struct session_view view;
    session_look(session, &view);
    return view.incarnation;
}

/* ---- the link ---- */

void connect_link(void)
{
    session_connected(session, "run1", now);
}

void break_link(const char *why)
{
    first_unanswered = n_sent;
    session_disconnected(session, why, now);
    carry_out();
}

const char *reset_wanted(void)
{
    const char *why = session_wants_reset(session);
    return why ? why : "";
}

const char *next_call(void)
{
    struct session_call call;
    struct text out = TEXT_INIT;
    if (!session_next_call(session, now, &call)) {
        return "nothing";
    }
    cr_assert(call.argc >= CALL_HEAD);
    cr_assert_str_eq(call.argv[0], SCRIPT_LAYOUT);
    cr_assert_str_eq(call.argv[1], "run1");
    cr_assert_str_eq(call.argv[2], id_of_session);
    text_add(&out, script_table[call.script].name);
    for (size_t i = CALL_HEAD; i < call.argc; i++) {
        cr_assert_eq(strlen(call.argv[i]), call.lengths[i]);
        text_add(&out, " ");
        add_word(&out, call.argv[i]);
    }
    unanswered[n_sent++] = call.tag;
    return keep(&out);
}

size_t n_unanswered(void)
{
    return n_sent - first_unanswered;
}

static struct resp elements[MAX_ELEMENTS];
static size_t n_elements;

static void read_element(struct text *bytes, const char **textp, struct resp *element)
{
    const char *text = *textp;
    size_t n = *text == '\'' ? strcspn(text + 1, "'") : strcspn(text, " ");
    size_t begin = bytes->length;
    bool is_quoted = *text == '\'';
    add_with_ids(bytes, text + is_quoted, n);
    text_add_repeated(bytes, '\0', 1);
    *element = (struct resp){
        .type = RESP_STRING, .text = bytes->bytes + begin, .length = bytes->length - begin - 1};
    bool is_number =
        !is_quoted && (strspn(text, "0123456789") == n || (n == 2 && strncmp(text, "-1", n) == 0));
    if (is_number) {
        element->type = RESP_INTEGER;
        element->integer = strtoll(text, NULL, 10);
    }
    *textp = text + n + 2 * is_quoted;
}

static struct resp read_list(struct text *bytes, const char **textp)
{
    struct resp list[256];
    size_t n = 0;
    const char *text = *textp;
    while (*text && *text != ']') {
        if (*text == '[') {
            text++;
            list[n++] = read_list(bytes, &text);
            text++;
        } else if (*text == ' ') {
            text++;
        } else {
            read_element(bytes, &text, &list[n++]);
        }
        cr_assert(n < 256);
    }
    cr_assert(n_elements + n < MAX_ELEMENTS);
    memcpy(elements + n_elements, list, n * sizeof list[0]);
    n_elements += n;
    *textp = text;
    return (struct resp){
        .type = RESP_ARRAY, .text = "", .elements = elements + n_elements - n, .n = n};
}

static void answer_tag(uint64_t tag, const char *text)
{
    struct text bytes = TEXT_INIT;
    struct resp reply = {.type = RESP_ERROR, .text = text + 1, .length = strlen(text)};
    text_add_repeated(&bytes, '\0', 65536); /* does not move any more */
    bytes.length = 0;
    n_elements = 0;
    if (*text != '-') {
        reply = read_list(&bytes, &text);
    }
    session_reply(session, tag, &reply, now, &effects);
    text_deinit(&bytes);
    carry_out();
    core_check(core);
}

void answer(const char *text)
{
    cr_assert(first_unanswered < n_sent);
    answer_tag(unanswered[first_unanswered++], text);
}

void answer_later(size_t n, const char *text)
{
    cr_assert(first_unanswered + n < n_sent);
    uint64_t tag = unanswered[first_unanswered + n];
    memmove(unanswered + first_unanswered + 1, unanswered + first_unanswered, n * sizeof tag);
    first_unanswered++;
    answer_tag(tag, text);
}

void message(const char *text)
{
    struct text bytes = TEXT_INIT;
    add_with_ids(&bytes, text, strlen(text));
    session_message(session, bytes.bytes, bytes.length, now, &effects);
    text_deinit(&bytes);
    carry_out();
    core_check(core);
}

/* The word at *textp, without its quotes. */
static bool take_word(const char **textp, char *word, size_t size)
{
    const char *text = *textp + strspn(*textp, " ");
    bool is_quoted = *text == '\'';
    text += is_quoted;
    size_t n = strcspn(text, is_quoted ? "'" : " ");
    snprintf(word, size, "%.*s", (int)n, text);
    *textp = text + n + is_quoted;
    return n > 0 || is_quoted;
}

/* Every definition is stored, every lease is as it was listed. */
static void answer_hello(const char *call)
{
    struct text out = TEXT_INIT;
    char words[10][512], phase[16];
    call += strlen("hello");
    take_word(&call, phase, sizeof phase);
    text_add(&out, "ok -1 0");
    if (strcmp(phase, "end") == 0) {
        text_add(&out, " ''");
    } else if (strcmp(phase, "define") == 0) {
        while (take_word(&call, words[0], sizeof words[0])) {
            take_word(&call, words[1], sizeof words[0]);
            take_word(&call, words[2], sizeof words[0]);
            text_add_format(&out, " '%s' stored '%s'", words[0], words[2]);
        }
    } else if (strcmp(phase, "lease") == 0) {
        while (take_word(&call, words[0], sizeof words[0])) {
            for (int i = 1; i < 10; i++) {
                take_word(&call, words[i], sizeof words[0]);
            }
            text_add_format(&out, " '%s' %s '%s' '%s'", words[0], words[1], words[3], words[8]);
        }
    }
    answer(out.bytes);
    text_deinit(&out);
}

void say_hello(const char *rest)
{
    struct session_view view;
    char begun[128];
    const char *call = next_call();
    cr_assert(strncmp(call, "hello begin", 11) == 0, "%s", call);
    snprintf(begun, sizeof begun, "ok -1 0 '%ju' %s", (uintmax_t)incarnation(), rest);
    answer(begun);
    for (session_look(session, &view); view.state == SESSION_LISTING;
         session_look(session, &view)) {
        call = next_call();
        cr_assert(strncmp(call, "hello ", 6) == 0, "%s", call);
        answer_hello(call);
    }
}

void go_up(void)
{
    connect_link();
    say_hello("30000 '0' 1");
}

/* ---- leases ---- */

static void name_lease(const char *name, uint64_t id)
{
    cr_assert(n_named < MAX_NAMED);
    snprintf(named[n_named].name, sizeof named[0].name, "%s", name);
    named[n_named++].id = id;
}

struct lease *lease(const char *name)
{
    return core_find_lease(core, id_of(name));
}

void ask(const char *name, const char *text)
{
    struct ask ask = {.wait = NEVER, .binding = BOUND_CONNECTION, .signal = 15, .pid = 12};
    char copy[256], *save;
    struct lease *made;
    const char *about;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *count = strchr(word, ':');
        if (strcmp(word, "now") == 0) {
            ask.wait = 0;
        } else if (strncmp(word, "holder=", 7) == 0) {
            ask.holder = word + 7;
        } else if (strncmp(word, "reason=", 7) == 0) {
            ask.reason = word + 7;
        } else if (strncmp(word, "priority=", 9) == 0) {
            ask.priority = (int32_t)strtol(word + 9, NULL, 10);
        } else {
            ask.wants[ask.n_wants].count = count ? (uint32_t)strtoul(count + 1, NULL, 10) : 1;
            ask.wants[ask.n_wants++].name = word;
            if (count) {
                *count = '\0';
            }
        }
    }
    enum outcome outcome = core_acquire(core, &client, &ask, now, &effects, &made, &about);
    cr_assert_eq(outcome, OUTCOME_PENDING, "%s: %s", text, outcome_word(outcome));
    name_lease(name, made->id);
    carry_out();
}

static void ask_and_answer(const char *name, const char *resource, struct text *reply)
{
    ask(name, resource);
    next_call();
    answer(reply->bytes);
    text_deinit(reply);
    happened();
}

void hold(const char *name, const char *resource, const char *token_and_slot)
{
    struct text reply = TEXT_INIT;
    text_add_format(&reply, "ok -1 0 granted '5' '%s 1 %s'", resource, token_and_slot);
    ask_and_answer(name, resource, &reply);
}

void wait_in_line(const char *name, const char *resource, const char *ticket)
{
    struct text reply = TEXT_INIT;
    text_add_format(&reply, "ok -1 0 waiting '%s' 1", ticket);
    ask_and_answer(name, resource, &reply);
}

void end(const char *name)
{
    core_end(core, lease(name), &client, now, &effects);
    carry_out();
}

void drain(bool draining)
{
    core_drain(core, draining, now, &effects);
    carry_out();
}

/* ---- the rest ---- */

const char *result(void)
{
    struct session_result taken;
    struct text out = TEXT_INIT;
    if (!session_take_result(session, &taken)) {
        return "none";
    }
    text_add_format(&out, "%s%s '%s' ", taken.context ? "" : "nobody ", outcome_word(taken.outcome),
        taken.about);
    for (size_t i = 0; i < taken.rows.length; i++) {
        char byte = taken.rows.bytes[i];
        text_add_format(&out, "%c", byte == '\0' ? '|' : byte == '\n' ? '/' : byte);
    }
    text_deinit(&taken.rows);
    return keep(&out);
}

void redefine(uint32_t limit, uint32_t max_waiters, uint64_t generation)
{
    settings.generation = generation;
    definitions[0].limit = limit;
    definitions[0].max_waiters = max_waiters;
    define_core();
}

const struct definition *definition(const char *name)
{
    return core_find_definition(core, name);
}

void restart(void)
{
    session_write(session, &tenure);
    session_write_changes(session, &changes);
    session = session_free(session);
    world_session();
    cr_assert(session_restore_tenure(session, tenure.bytes, tenure.length, now, &effects));
    session_restore_changes(session, changes.bytes ? changes.bytes : "", changes.length);
    tenure.length = changes.length = 0;
    for (size_t i = 0; i < n_named; i++) {
        struct lease *old = core_find_lease(core, named[i].id);
        if (old) {
            session_restore(session, old);
        }
    }
    first_unanswered = n_sent;
    carry_out();
}
