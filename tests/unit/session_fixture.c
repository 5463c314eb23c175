#include "base/memory.h"
#include "redis/scripts.h"
#include "session_world.h"

enum { N_DEFINITIONS = 5 };

struct session *session;
struct core *core;
nanoseconds now;
struct named_id named[MAX_NAMED];
size_t n_named;
struct effects world_effects;
struct layouts world_layouts;
static const char id_of_session[] = "0123456789abcdef";

static struct database settings;
static struct definition definitions[N_DEFINITIONS];
static struct client client;
static struct text tenure, stored;

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
    cr_assert_eq(
        core_define(core, definitions, N_DEFINITIONS, &bounds, now, &world_effects, &refused),
        OUTCOME_OK);
    carry_out();
    session_define(session, definitions, N_DEFINITIONS);
}

static struct session *make_session(void)
{
    struct session_options options = {.core = core,
        .database = 1,
        .settings = &settings,
        .bounds = &script_bounds,
        .layouts = world_layouts,
        .id = id_of_session,
        .host = "this host",
        .seed = 1,
        .wall_offset = 500 * SECOND};
    return session_new(&options);
}

void world_begin(void)
{
    now = 1000 * SECOND;
    world_layouts = (struct layouts){2, 2};
    settings = (struct database){.name = "default",
        .url = {.scheme = REDIS_UNIX, .path = "/run/redis.sock"},
        .prefix = "berth",
        .ttl = 30 * SECOND,
        .failover_lag = 11 * SECOND,
        .generation = 1};
    definitions[0] = make_definition("s", KIND_SEMAPHORE, 3);
    definitions[1] = make_definition("l", KIND_LOCK, 1);
    definitions[2] = make_definition("p", KIND_POOL, 0);
    definitions[3] = make_definition("t/*", KIND_SEMAPHORE, 5);
    definitions[4] = make_definition("warn", KIND_SEMAPHORE, 3);
    definitions[4].on_lost = ON_LOST_WARN;
    core = core_new(1);
    core_begin_numbers(core, 1000);
    session = make_session();
    define_core();
    cr_assert_eq(core_client_init(core, &client, 7), OUTCOME_OK);
}

void world_up(void)
{
    world_begin();
    go_up();
}

void world_session(void)
{
    session = session_free(session);
    session = make_session();
    session_define(session, definitions, N_DEFINITIONS);
}

void world_end(void)
{
    core_client_deinit(core, &client, now, &world_effects);
    carry_out();
    core_abandon(core, now, &world_effects);
    carry_out();
    session = session_free(session);
    core = core_free(core);
    effects_deinit(&world_effects);
    forget_happenings();
    text_deinit(&tenure);
    text_deinit(&stored);
}

/* ---- time ---- */

void wait_for(double seconds)
{
    now += (nanoseconds)(seconds * (double)SECOND);
    core_tick(core, now, &world_effects);
    session_tick(session, now, &world_effects);
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

const struct session_view *view(void)
{
    static struct session_view seen;
    seen = session_look(session);
    return &seen;
}

const char *good_for(void)
{
    return in_seconds(view()->good_until);
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
    struct acquire_request ask = {.wait = NEVER, .attributes.signal = SIGNAL_TERM, .pid = 12};
    char copy[256], *save;
    struct lease *made;
    const char *at_fault;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *count = strchr(word, ':');
        if (strcmp(word, "now") == 0) {
            ask.wait = 0;
        } else if (strncmp(word, "holder=", 7) == 0) {
            ask.attributes.holder = word + 7;
        } else if (strncmp(word, "reason=", 7) == 0) {
            ask.attributes.reason = word + 7;
        } else if (strncmp(word, "priority=", 9) == 0) {
            ask.attributes.priority = (int32_t)strtol(word + 9, NULL, 10);
        } else {
            ask.wants[ask.n_wants].count = count ? (uint32_t)strtoul(count + 1, NULL, 10) : 1;
            ask.wants[ask.n_wants++].name = word;
            if (count) {
                *count = '\0';
            }
        }
    }
    enum outcome outcome = core_acquire(core, &client, &ask, now, &world_effects, &made, &at_fault);
    cr_assert_eq(outcome, OUTCOME_PENDING, "%s: %s", text, outcome_word(outcome));
    name_lease(name, made->id);
    carry_out();
}

void ask_and_send(const char *name, const char *text)
{
    ask(name, text);
    cr_assert_str_neq(next_call(), "nothing");
}

static void ask_and_answer(const char *name, const char *resource, struct text *reply)
{
    ask_and_send(name, resource);
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
    core_end(core, lease(name), &client, now, &world_effects);
    carry_out();
}

void end_saying(const char *name, const char *ending)
{
    struct lease *ended = lease(name);
    core_end(core, ended, &client, now, &world_effects);
    ended->ending = memory_string(ending);
    carry_out();
}

void drain(bool draining)
{
    core_drain(core, draining, now, &world_effects);
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
        taken.detail);
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

void say_cluster(void)
{
    settings.is_cluster = true;
}

void say_sentinels(char *one, char *other)
{
    settings.url = (struct redis_url){.scheme = REDIS_SENTINEL,
        .hosts = {{one, 26379}, {other, 26379}},
        .n_hosts = 2,
        .master = "mymaster"};
}

const struct definition *definition(const char *name)
{
    return core_find_definition(core, name);
}

static void write_down(void)
{
    session_write(session, &tenure);
    session_write_changes(session, &stored);
}

static void come_back(bool has_journal)
{
    world_session();
    cr_assert(!has_journal ||
        session_restore_tenure(session, tenure.bytes, tenure.length, now, &world_effects));
    session_restore_changes(session, stored.bytes ? stored.bytes : "", stored.length);
    tenure.length = stored.length = 0;
    for (size_t i = 0; i < n_named; i++) {
        struct lease *old = core_find_lease(core, named[i].id);
        if (old) {
            session_restore(session, old);
        }
    }
    forget_unanswered();
    carry_out();
}

void restart(void)
{
    write_down();
    come_back(true);
}

void restart_other_host(void)
{
    write_down();
    settings.url.path = "/run/other.sock";
    come_back(true);
}

void restart_with_sentinels(char *one, char *other)
{
    write_down();
    say_sentinels(one, other);
    come_back(true);
}

void restart_without_journal(void)
{
    write_down();
    come_back(false);
}

void restart_without_state(void)
{
    write_down();
    stored.length = 0;
    come_back(true);
}
