#include "database/fleet_follows.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "core/news.h"
#include "database/fleet_sessions.h"
#include "status/resource_row.h"

#include <stdlib.h>

#define SHORTEST_PAUSE NANOSECONDS_PER_SECOND
#define LONGEST_PAUSE (10 * NANOSECONDS_PER_SECOND)
/* For so long the first snapshot waits for the first listing. */
#define FIRST_WAIT (2 * NANOSECONDS_PER_SECOND)

enum { PAUSE_BY_LISTING = 100 }; /* how many times as long as a listing the pause is */

/* ---- changes ---- */

/* Whether this host shows it: the file has it, in this database. */
static bool is_shown(const struct fleet_followed *followed, const char *name)
{
    return database_of_name(followed->server->core, name) == followed->database;
}

static void tell_template(const struct fleet_followed *followed, const char *name)
{
    struct core *core = followed->server->core;
    if (template_name_is_valid(name) && core_find_template(core, name)) {
        news_template(core_news(core), name);
    }
}

static void tell_resource(void *context, const char *name, const char *definition)
{
    const struct fleet_followed *followed = context;
    if (is_shown(followed, name) && !template_name_is_valid(name)) {
        news_resource(core_news(followed->server->core), name);
    }
    if (is_shown(followed, name)) {
        tell_template(followed, definition); /* how many instances it has */
    }
}

/* With a resource that is gone here, too, its leases are. */
static void tell_lease(void *context, const char *resource, const char *key)
{
    const struct fleet_followed *followed = context;
    struct core *core = followed->server->core;
    bool is_there =
        core_find_resource(core, resource) || fleet_rows_find(followed->listing->rows, resource);
    if (is_there && is_shown(followed, resource)) {
        news_listed(core_news(core), key, resource);
    }
}

static void note_missing(void *context, const char *resource, const char *key)
{
    struct fleet_followed *followed = context;
    struct missing_lease *missing = memory_new(sizeof *missing);
    missing->resource = memory_string(resource);
    missing->key = memory_string(key);
    SLIST_INSERT_HEAD(&followed->missing, missing, link);
}

/* Those that this listing lacks too are gone; NULL: forgets them. */
static void settle_missing(struct fleet_followed *followed, const struct listing *now)
{
    struct missing_lease *missing;
    while ((missing = SLIST_FIRST(&followed->missing))) {
        SLIST_REMOVE_HEAD(&followed->missing, link);
        const struct fleet_resource *resource =
            now ? fleet_rows_find(now->rows, missing->resource) : NULL;
        if (resource && !listing_find(now, resource, missing->key)) {
            tell_lease(followed, missing->resource, missing->key);
        }
        free(missing->resource);
        free(missing->key);
        free(missing);
    }
}

static void forget_listing(struct fleet_followed *followed)
{
    settle_missing(followed, NULL);
    followed->listing = listing_free(followed->listing);
}

static void take_listing(struct fleet_followed *followed, struct listing *now)
{
    const struct fleet_changes_heard heard = {followed, tell_resource, tell_lease, note_missing};
    struct listing *before = followed->listing;
    now->number = ++followed->n_listings;
    followed->listing = now;
    if (before) {
        settle_missing(followed, now);
        fleet_changes_find(before, now, &heard);
        listing_free(before);
    } else {
        news_all(core_news(followed->server->core)); /* all of it is new */
    }
}

/* ---- asking ---- */

static bool anybody_follows(const struct server *server)
{
    return news_is_on(core_news(server->core));
}

/* In a grace the listing would lack what hosts have not put back yet. */
static bool may_list(const struct fleet_followed *followed)
{
    const struct session_view view = fleet_look(followed->server->fleet, followed->database);
    return view.state == SESSION_UP && (view.grace_until == NEVER || !followed->listing);
}

static void arm(struct fleet_follows *follows);

static nanoseconds pause_after(nanoseconds took)
{
    return later(
        SHORTEST_PAUSE, earlier(took, LONGEST_PAUSE / PAUSE_BY_LISTING) * PAUSE_BY_LISTING);
}

static void on_result(void *context, struct session_result *result)
{
    struct fleet_followed *followed = context;
    struct server *server = followed->server;
    nanoseconds now = clock_now();
    bool is_answer = result->outcome == OUTCOME_OK;
    followed->is_asked = false;
    /* A grace may have begun since it was asked for. */
    bool is_listing = is_answer && !listing_is_unchanged(&result->rows) && may_list(followed);
    bool is_too_large = result->outcome == OUTCOME_NO_SPACE;
    bool has_cost = is_listing || is_too_large;
    followed->ask_at = now + (has_cost ? pause_after(now - followed->asked_at) : SHORTEST_PAUSE);
    if (is_listing) {
        const char *session = fleet_session_id(server->fleet, followed->database);
        take_listing(followed, listing_new(fleet_rows_new(&result->rows), session, now));
    }
    if (followed->is_too_large != is_too_large || !followed->listing) {
        followed->is_too_large = is_too_large;
        news_database(
            core_news(server->core), followed->database); /* the first snapshot goes on */
    }
    arm(server->fleet_follows);
}

static void fleet_follows_ask(struct fleet_followed *followed, nanoseconds now)
{
    const char *const words[] = {"?", followed->listing ? followed->listing->mark : "-"};
    followed->is_asked = true;
    followed->is_late = false;
    followed->asked_at = now;
    session_snapshot(
        fleet_session(followed->server->fleet, followed->database), on_result, followed, 2, words);
}

/* ---- when ---- */

/* When the timer has something to do for it; NEVER: not before something else happens. */
static nanoseconds due_at(const struct fleet_followed *followed)
{
    if (followed->is_asked) {
        return followed->listing || followed->is_late ? NEVER : followed->asked_at + FIRST_WAIT;
    }
    bool waits =
        anybody_follows(followed->server) ? may_list(followed) : followed->listing != NULL;
    return waits ? followed->ask_at : NEVER;
}

static void attend(struct fleet_followed *followed, nanoseconds now)
{
    if (due_at(followed) > now) {
        return;
    }
    if (followed->is_asked) {
        followed->is_late = true;
        news_database(core_news(followed->server->core), followed->database);
    } else if (anybody_follows(followed->server)) {
        fleet_follows_ask(followed, now);
    } else {
        forget_listing(followed);
    }
}

static void fleet_follows_on_timer(uv_timer_t *timer)
{
    struct fleet_follows *follows = container_of(timer, struct fleet_follows, timer);
    nanoseconds now = clock_now();
    for (size_t i = 0; i < follows->server->databases.n && !follows->server->turn.stopping; i++) {
        attend(&follows->databases[i], now);
    }
    loop_iteration_end(&follows->server->turn);
    arm(follows);
}

static void arm(struct fleet_follows *follows)
{
    nanoseconds next = NEVER, now = clock_now();
    for (size_t i = 0; i < follows->server->databases.n; i++) {
        next = earlier(next, due_at(&follows->databases[i]));
    }
    if (next == NEVER || follows->server->turn.stopping) {
        uv_timer_stop(&follows->timer);
        return;
    }
    uv_timer_start(&follows->timer, fleet_follows_on_timer, milliseconds_until(next, now), 0);
}

void fleet_follows_look(struct fleet_follows *follows)
{
    bool has_changed = !uv_is_active((uv_handle_t *)&follows->timer);
    for (size_t i = 0; i < follows->server->databases.n; i++) {
        struct fleet_followed *followed = &follows->databases[i];
        bool is_up = may_list(followed);
        has_changed |= is_up != followed->was_up;
        followed->was_up = is_up;
    }
    if (has_changed) {
        arm(follows);
    }
}

bool fleet_follows_are_ready(const struct fleet_follows *follows)
{
    nanoseconds now = clock_now();
    for (size_t i = 0; i < follows->server->databases.n; i++) {
        const struct fleet_followed *followed = &follows->databases[i];
        bool comes =
            followed->is_asked ? !followed->is_late : may_list(followed) && followed->ask_at <= now;
        if (!followed->listing && comes) {
            return false;
        }
    }
    return true;
}

/* ---- life ---- */

void fleet_follows_init(struct fleet_follows *follows, struct server *server)
{
    *follows = (struct fleet_follows){.server = server};
    for (size_t i = 0; i < server->databases.n; i++) {
        follows->databases[i].server = server;
        follows->databases[i].database = (uint8_t)(i + 1);
    }
    uv_timer_init(&server->loop, &follows->timer);
}

void fleet_follows_deinit(struct fleet_follows *follows)
{
    for (size_t i = 0; i < follows->server->databases.n; i++) {
        forget_listing(&follows->databases[i]);
    }
}
