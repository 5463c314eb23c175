#include "status/follower.h"

#include "base/memory.h"
#include "core/news.h"

#include <assert.h>

enum { MAX_LOOKED_AT = 256 }; /* entries of the news, of one piece */

/* ---- a resource, a template, a lease ---- */

static void tell_named(const struct follow_source *source, const struct answer_moment *moment,
    struct text *out, const struct news_entry *entry)
{
    struct resource_row row;
    struct core *core = source->walked.core;
    const char *name = entry->name->text;
    bool is_template = entry->kind == NEWS_TEMPLATE;
    const struct template *template = is_template ? core_find_template(core, name) : NULL;
    const struct scene scene = scene_of(&source->walked, moment,
        template ? template->definition->database : database_of_name(core, name));
    if (template) {
        template_write(out, template, &scene);
    } else if (!is_template && resource_row_find(&row, &scene, name)) {
        resource_row_write(out, &row);
    } else {
        text_add_format(out, "removed %s\n", name);
    }
}

static void tell_row(struct text *out, bool is_there, struct lease_row *row,
    const struct scene *scene, const char *id, const char *name)
{
    if (is_there) {
        lease_row_write(out, row, scene);
    } else {
        text_add_format(out, "gone %s resource=%s\n", id, name);
    }
    text_deinit(&row->unit_words);
}

/* A lease of this host. */
static void tell_lease(const struct follow_source *source, const struct answer_moment *moment,
    struct text *out, const struct news_entry *entry)
{
    char id[LEASE_ID_SIZE];
    struct lease_row row = {.unit_words = TEXT_INIT};
    const struct scene scene = scene_of(&source->walked, moment, 0);
    const struct claim *claim =
        lease_claim_on(core_find_lease(scene.core, entry->lease), entry->name->text);
    bool is_shown = claim && (claim->lease->state == LEASE_HELD || !claim_is_share(claim));
    if (is_shown) {
        lease_row_fill(&row, claim, &scene);
    }
    lease_id_format(id, entry->lease);
    tell_row(out, is_shown, &row, &scene, id, entry->name->text);
}

/* A lease of another host: SESSION/LEASE. */
static void tell_listed(const struct follow_source *source, const struct answer_moment *moment,
    struct text *out, const char *name, const char *key)
{
    struct lease_row row = {.unit_words = TEXT_INIT};
    const struct scene scene =
        scene_of(&source->walked, moment, database_of_name(source->walked.core, name));
    const struct fleet_resource *resource = scene.rows ? fleet_rows_find(scene.rows, name) : NULL;
    const struct fleet_row *fields = resource ? listing_find(scene.listing, resource, key) : NULL;
    bool is_there = fields && lease_row_fill_listed(&row, fields, resource, &scene);
    tell_row(out, is_there, &row, &scene, key, name);
}

/* ---- the parts of a batch ---- */

static void add_databases(const struct follow_source *source, struct text *out)
{
    for (uint8_t i = 1; i <= source->walked.n_databases; i++) {
        source->add_database(source->walked.context, out, i);
    }
}

static void begin_snapshot(
    struct follower *follower, const struct answer_moment *moment, struct text *out)
{
    if (!follower->has_begun) {
        follower->has_begun = true;
        follower->told = host_figures_of(follower->source->walked.core, moment->now);
        host_figures_write(out, "ok", &follower->told);
    }
    text_add(out, "snapshot\n");
    add_databases(follower->source, out);
    status_walk_end(&follower->walk);
    status_walk_begin(&follower->walk, &follower->source->walked, NULL, 0, 0);
    follower->cursor = news_cursor(follower->news);
    follower->part = PART_SNAPSHOT;
}

/* What changes from now on waits for the next batch, or else a batch might have no end. */
static void begin_changes(struct follower *follower)
{
    follower->part = PART_CHANGES;
    follower->until = news_end(follower->news);
}

static void follower_tell(const struct follower *follower, const struct news_entry *entry,
    const struct answer_moment *moment, struct text *out)
{
    const struct follow_source *source = follower->source;
    switch (entry->kind) {
    case NEWS_RESOURCE:
    case NEWS_TEMPLATE:
        tell_named(source, moment, out, entry);
        break;
    case NEWS_LEASE:
        tell_lease(source, moment, out, entry);
        break;
    case NEWS_DATABASE:
        source->add_database(source->walked.context, out, (uint8_t)entry->database);
        break;
    case NEWS_LISTED:
        tell_listed(source, moment, out, entry->name->text, entry->listed->text);
        break;
    case NEWS_HOST: /* add_host() finds it */
        break;
    }
}

/* False: that was all. */
static bool add_changes(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    for (int i = 0; follower->cursor < follower->until; i++) {
        if (i == MAX_LOOKED_AT || out->length >= enough) {
            return true;
        }
        follower_tell(follower, news_next(follower->news, &follower->cursor), moment, out);
    }
    return false;
}

static void add_host(
    struct follower *follower, const struct answer_moment *moment, struct text *out)
{
    const struct status now = host_figures_of(follower->source->walked.core, moment->now);
    if (!host_figures_equal(&now, &follower->told)) {
        follower->told = now;
        host_figures_write(out, "host", &now);
    }
}

static void begin_ended(struct follower *follower)
{
    const struct follow_source *source = follower->source;
    follower->part = PART_ENDED;
    follower->until =
        follower->wants_ended ? source->ended_end(source->walked.context) : follower->ended;
}

/* False: that was the last part. Passes by the snapshot if the follower needs none. */
static bool add_parts(
    struct follower *follower, const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct follow_source *source = follower->source;
    if (follower->part == PART_BEGIN && news_has(follower->news, follower->cursor)) {
        begin_changes(follower);
    } else if (follower->part == PART_BEGIN) {
        begin_snapshot(follower, moment, out);
    }
    if (follower->part == PART_SNAPSHOT) {
        if (status_walk_continue(&follower->walk, moment, out, enough)) {
            return true;
        }
        status_walk_end(&follower->walk);
        begin_changes(follower);
    }
    if (follower->part == PART_CHANGES) {
        if (!news_has(follower->news, follower->cursor)) {
            follower->part = PART_BEGIN;
            return true;
        }
        if (add_changes(follower, moment, out, enough)) {
            return true;
        }
        add_host(follower, moment, out);
        begin_ended(follower);
    }
    return follower->ended < follower->until &&
        source->add_ended(source->walked.context, &follower->ended, follower->until,
            &follower->has_missed, moment, out, enough);
}

/* ---- batches ---- */

static struct follower *follower_of(struct long_answer *answer)
{
    return container_of(answer, struct follower, answer);
}

static bool follower_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct follower *follower = follower_of(answer);
    size_t before = out->length;
    bool has_more = add_parts(follower, moment, out, enough);
    follower->is_empty &= out->length == before;
    if (!has_more && (!follower->is_empty || follower->has_missed)) {
        text_add(out, follower->has_missed ? "end missed=1\n" : "end\n");
        follower->has_missed = false;
    }
    return has_more;
}

/* The batch is over, perhaps since the connection is closed. */
static void end_batch(struct long_answer *answer)
{
    struct follower *follower = follower_of(answer);
    status_walk_end(&follower->walk);
    follower->part = PART_BEGIN;
    follower->is_empty = true;
}

static const struct long_answer_kind batch_kind = {
    .more = follower_make_piece, .free = end_batch, .has_no_end = true};

/* ---- life ---- */

void follower_init(struct follower *follower, const struct follow_source *source, bool wants_ended)
{
    *follower = (struct follower){
        .answer = {.kind = &batch_kind},
        .source = source,
        .news = core_news(source->walked.core),
        .wants_ended = wants_ended,
        .ended = source->ended_end(source->walked.context),
        .is_empty = true,
    };
    news_follow(follower->news);
}

void follower_deinit(struct follower *follower)
{
    assert(!follower->walk.of_all);
    news_unfollow(follower->news);
}

bool follower_has_news(const struct follower *follower)
{
    const struct follow_source *source = follower->source;
    if (!follower->has_begun && !source->is_ready(source->walked.context)) {
        return false;
    }
    return follower->cursor < news_end(follower->news) ||
        (follower->wants_ended && follower->ended < source->ended_end(source->walked.context));
}
