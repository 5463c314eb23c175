#include "status/follower.h"

#include "base/memory.h"
#include "core/news.h"

#include <assert.h>

enum { MAX_LOOKED_AT = 256 }; /* entries of the news, or resources, of one piece */

/* ---- a resource, a template, a lease ---- */

static struct lease_scene scene_at(
    const struct follower *follower, const struct answer_moment *moment)
{
    return (struct lease_scene){
        .core = follower->source->core,
        .viewer = moment->viewer,
        .now = moment->now,
        .follows = true,
    };
}

static void add_removed(struct text *out, const char *name)
{
    text_add(out, "removed ");
    text_add(out, name);
    text_add(out, "\n");
}

static void describe_resource(
    const struct follow_source *source, struct text *out, const struct resource *resource)
{
    uint8_t database = resource->definition->database;
    if (database == 0) {
        host_describe_resource(out, resource, NULL);
        return;
    }
    if (listed_tell_resource(source, out, resource->name)) {
        return;
    }
    struct host_scene scene = source->scene_of(source->context, database);
    scene.n_waiting = resource_waiting(resource);
    host_describe_resource(out, resource, &scene);
}

static void describe_template(
    const struct follow_source *source, struct text *out, const struct template *template)
{
    uint8_t database = template->definition->database;
    if (database == 0) {
        host_describe_template(out, template, NULL);
    } else if (!listed_tell_template(source, out, template)) {
        const struct host_scene scene = source->scene_of(source->context, database);
        host_describe_template(out, template, &scene);
    }
}

static void tell_resource(const struct follow_source *source, struct text *out, const char *name)
{
    const struct resource *resource = core_find_resource(source->core, name);
    if (resource) {
        describe_resource(source, out, resource);
    } else if (!listed_tell_resource(source, out, name)) {
        add_removed(out, name);
    }
}

static void tell_template(const struct follow_source *source, struct text *out, const char *name)
{
    const struct template *template = core_find_template(source->core, name);
    if (template) {
        describe_template(source, out, template);
    } else {
        add_removed(out, name);
    }
}

/* ---- the parts of a batch; each returns whether it has more, and is called again then ---- */

typedef bool part_function(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough);

/* Passes by the snapshot if the follower needs none. */
static part_function begin, add_databases, add_resources, add_foreign, add_templates;
static part_function begin_changes, add_changes, add_host, begin_ended, add_ended, end;

static part_function *const parts[] = {begin, add_databases, add_resources, add_foreign,
    add_templates, begin_changes, add_changes, add_host, begin_ended, add_ended, end};

enum { N_PARTS = sizeof parts / sizeof parts[0], PART_BEGIN = 0, PART_CHANGES = 5 };

static void add_head(
    struct follower *follower, const struct answer_moment *moment, struct text *out)
{
    if (!follower->has_begun) {
        follower->has_begun = true;
        follower->told = host_figures_of(follower->source->core, moment->now);
        host_figures_write(out, "ok", &follower->told);
    }
}

static void end_walk(struct follower *follower)
{
    if (follower->is_walking) {
        follower->is_walking = false;
        core_cursor_deinit(follower->source->core, &follower->resources);
    }
}

static bool begin(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    (void)enough;
    if (news_has(follower->news, follower->cursor)) {
        follower->part = PART_CHANGES - 1;
        return false;
    }
    add_head(follower, moment, out);
    text_add(out, "snapshot\n");
    follower->cursor = news_cursor(follower->news);
    follower->next_database = 1;
    follower->next_template = 0;
    follower->leases.name[0] = '\0';
    follower->listed.name[0] = '\0';
    follower->foreign[0] = '\0';
    end_walk(follower);
    core_cursor_init(follower->source->core, &follower->resources);
    follower->is_walking = true;
    return false;
}

static bool add_databases(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct follow_source *source = follower->source;
    (void)moment, (void)enough;
    for (uint8_t i = 1; i <= source->n_databases; i++) {
        source->add_database(source->context, out, i);
    }
    return false;
}

static bool add_resources(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct lease_scene scene = scene_at(follower, moment);
    for (int i = 0; i < MAX_LOOKED_AT && out->length < enough; i++) {
        if (follower->leases.name[0] != '\0') {
            host_leases_continue(&follower->leases, &scene, NULL, out, enough);
            continue;
        }
        if (follower->listed.name[0] != '\0') {
            listed_walk_continue(&follower->listed, follower->source, moment, out, enough);
            continue;
        }
        const struct resource *resource = core_cursor_next(scene.core, &follower->resources);
        if (!resource) {
            end_walk(follower);
            return false;
        }
        describe_resource(follower->source, out, resource);
        host_leases_begin(&follower->leases, resource);
        if (resource_is_fleet(resource)) {
            listed_walk_begin(&follower->listed, resource->name);
        }
    }
    return true;
}

/* Instances that only other hosts use. */
static bool add_foreign(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct follow_source *source = follower->source;
    unsigned n_left = MAX_LOOKED_AT;
    while (follower->next_database <= source->n_databases && out->length < enough && n_left > 0) {
        if (follower->listed.name[0] != '\0') {
            listed_walk_continue(&follower->listed, source, moment, out, enough);
            continue;
        }
        const char *name = listed_next_foreign(
            source, follower->next_database, follower->foreign, &n_left);
        if (name) {
            listed_tell_resource(source, out, name);
            listed_walk_begin(&follower->listed, name);
        } else if (n_left > 0) {
            follower->next_database++;
            follower->foreign[0] = '\0';
        }
    }
    return follower->next_database <= source->n_databases;
}

static bool add_templates(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct core *core = follower->source->core;
    size_t end = follower->next_template + MAX_LOOKED_AT;
    for (; follower->next_template < moment->n_definitions && out->length < enough;
         follower->next_template++) {
        if (follower->next_template == end) {
            return true;
        }
        const struct template *template =
            core_find_template(core, moment->definitions[follower->next_template].name);
        if (template) {
            describe_template(follower->source, out, template);
        }
    }
    return follower->next_template < moment->n_definitions;
}

/* What changes from now on waits for the next batch, or else a batch might have no end. */
static bool begin_changes(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    (void)moment, (void)out, (void)enough;
    follower->until = news_end(follower->news);
    return false;
}

static void tell(const struct follower *follower, const struct news_entry *entry,
    const struct answer_moment *moment, struct text *out)
{
    const struct follow_source *source = follower->source;
    const struct lease_scene scene = scene_at(follower, moment);
    switch (entry->kind) {
    case NEWS_RESOURCE:
        tell_resource(source, out, entry->name->text);
        break;
    case NEWS_TEMPLATE:
        tell_template(source, out, entry->name->text);
        break;
    case NEWS_LEASE:
        host_tell_lease(out, &scene, entry->lease, entry->name->text);
        break;
    case NEWS_DATABASE:
        source->add_database(source->context, out, (uint8_t)entry->database);
        break;
    case NEWS_LISTED:
        listed_tell_lease(source, moment, out, entry->name->text, entry->listed->text);
        break;
    case NEWS_HOST: /* add_host() finds it */
        break;
    }
}

static bool add_changes(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    if (!news_has(follower->news, follower->cursor)) {
        follower->part = PART_BEGIN;
        return true;
    }
    for (int i = 0; follower->cursor < follower->until; i++) {
        if (i == MAX_LOOKED_AT || out->length >= enough) {
            return true;
        }
        tell(follower, news_next(follower->news, &follower->cursor), moment, out);
    }
    return false;
}

static bool add_host(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct status now = host_figures_of(follower->source->core, moment->now);
    (void)enough;
    if (!host_figures_are_equal(&now, &follower->told)) {
        follower->told = now;
        host_figures_write(out, "host", &now);
    }
    return false;
}

static bool begin_ended(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct follow_source *source = follower->source;
    (void)moment, (void)out, (void)enough;
    follower->until = follower->wants_ended ? source->ended_end(source->context) : follower->ended;
    return false;
}

static bool add_ended(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct follow_source *source = follower->source;
    return follower->ended < follower->until &&
        source->add_ended(source->context, &follower->ended, follower->until, &follower->has_missed,
            moment, out, enough);
}

static bool end(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    (void)moment, (void)enough;
    if (!follower->is_empty || follower->has_missed) {
        text_add(out, follower->has_missed ? "end missed=1\n" : "end\n");
    }
    follower->has_missed = false;
    return false;
}

/* ---- batches ---- */

static struct follower *follower_of(struct long_answer *answer)
{
    return container_of(answer, struct follower, answer);
}

static bool make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct follower *follower = follower_of(answer);
    size_t before = out->length;
    while (follower->part < N_PARTS) {
        bool has_more = parts[follower->part](follower, moment, out, enough);
        follower->is_empty &= out->length == before;
        if (has_more) {
            return true;
        }
        follower->part++;
    }
    return false;
}

/* The batch is over, perhaps since the connection is closed. */
static void end_batch(struct long_answer *answer)
{
    struct follower *follower = follower_of(answer);
    end_walk(follower);
    follower->part = PART_BEGIN;
    follower->is_empty = true;
}

static const struct long_answer_kind batch_kind = {
    .more = make_piece, .free = end_batch, .has_no_end = true};

/* ---- life ---- */

void follower_init(struct follower *follower, const struct follow_source *source, bool wants_ended)
{
    *follower = (struct follower){
        .answer = {.kind = &batch_kind},
        .source = source,
        .news = core_news(source->core),
        .wants_ended = wants_ended,
        .ended = source->ended_end(source->context),
        .is_empty = true,
    };
    news_follow(follower->news);
}

void follower_deinit(struct follower *follower)
{
    assert(!follower->is_walking);
    news_unfollow(follower->news);
}

bool follower_has_news(const struct follower *follower)
{
    const struct follow_source *source = follower->source;
    if (!follower->has_begun && !source->is_ready(source->context)) {
        return false;
    }
    return follower->cursor < news_end(follower->news) ||
        (follower->wants_ended && follower->ended < source->ended_end(source->context));
}
