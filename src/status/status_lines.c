#include "status/status_lines.h"

/* ---- parts of lines ---- */

static void add_flag(struct text *out, const char *key, bool is_set)
{
    text_add_key(out, key, is_set ? "1" : NULL);
}

static void add_unless_0(struct text *out, const char *key, uint64_t number)
{
    if (number > 0) {
        text_add_number_key(out, key, number);
    }
}

static void add_kind(struct text *out, const struct limit_kind *kind)
{
    text_add_key(out, "kind", kind->word);
    text_add_key(out, "scope", kind->database ? "fleet" : "host");
    text_add_key(out, "database", kind->database);
    text_add_key(out, "database_state", kind->database_state);
}

static void add_pause(struct text *out, bool is_paused, const struct pause_said *pause)
{
    add_flag(out, "paused", is_paused);
    if (is_paused) {
        text_add_key(out, "reason", pause->reason);
    }
    if (is_paused && pause->by.is_known) {
        text_add_number_key(out, "paused_by", pause->by.uid);
    }
    if (is_paused && pause->by.has_login) {
        text_add_number_key(out, "paused_by_login", pause->by.login);
    }
}

/* ---- resources and templates ---- */

static void add_figures(struct text *out, const struct resource_line *line)
{
    text_add_number_key(out, "limit", line->limit);
    text_add_number_key(out, "in_use", line->in_use);
    text_add_number_key(out, "free", line->free);
    text_add_number_key(out, "waiting", line->waiting);
    if (line->kept > 0) {
        text_add_number_key(out, "kept", line->kept);
        text_add_number_key(out, "keeper", line->keeper);
    }
    add_unless_0(out, "cooling", line->cooling);
}

void resource_line_write(struct text *out, const struct resource_line *line)
{
    text_add(out, "resource ");
    text_add(out, line->name);
    add_kind(out, &line->kind);
    add_figures(out, line);
    add_pause(out, line->is_paused, &line->pause);
    add_flag(out, "removed", line->is_removed);
    text_add_key(out, "template", line->template);
    text_add_key(out, "changed", line->changed);
    text_add_key(out, "items", line->items.text.bytes);
    text_add_key(out, "draining", line->draining.text.bytes);
    text_add_key(out, "reserved", line->reserved.text.bytes);
    text_add_bytes(out, line->reserve_reasons.words.bytes, line->reserve_reasons.words.length);
    text_add(out, "\n");
}

void resource_line_deinit(struct resource_line *line)
{
    text_deinit(&line->items.text);
    text_deinit(&line->draining.text);
    text_deinit(&line->reserved.text);
    text_deinit(&line->reserve_reasons.words);
}

void template_line_write(struct text *out, const struct template_line *line)
{
    text_add(out, "template ");
    text_add(out, line->name);
    add_kind(out, &line->kind);
    text_add_number_key(out, "limit", line->limit);
    text_add_number_key(out, "instances", line->n_instances);
    add_pause(out, line->is_paused, &line->pause);
    text_add_key(out, "changed", line->is_limit_changed ? "limit" : NULL);
    text_add(out, "\n");
}

/* ---- leases ---- */

static void add_details(struct text *out, const struct terms *terms)
{
    text_add_key(out, "holder", terms->holder);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        if (attribute_rows[i].is_shown) {
            text_add_key(out, attribute_rows[i].word, terms_text(terms, &attribute_rows[i]));
        }
    }
}

static void begin_lease(struct text *out, const char *word, const struct lease_line *lease)
{
    text_add(out, word);
    text_add(out, lease->id);
    text_add_key(out, "resource", lease->resource);
}

static void end_lease(struct text *out, const struct lease_line *lease)
{
    text_add_number_key(out, "pid", lease->pid);
    if (lease->has_uid) {
        text_add_number_key(out, "uid", lease->uid);
    }
    text_add_key(out, "host", lease->host);
    add_flag(out, "hidden", !lease->details);
    if (lease->details) {
        add_details(out, lease->details);
    }
    text_add(out, "\n");
}

void holder_line_write(struct text *out, const struct holder_line *line)
{
    begin_lease(out, "holder ", &line->lease);
    text_add_key(out, "units", "");
    text_add_bytes(out, line->units.text.bytes, line->units.text.length);
    text_add_number_key(out, "token", line->token);
    text_add_number_key(out, "age", line->lease.age);
    text_add_key(out, "bound", line->bound);
    add_flag(out, "away", line->lease.is_away);
    if (line->is_limited) {
        text_add_number_key(out, "left", line->left);
    }
    text_add_key(out, "stopping", line->stopping);
    add_flag(out, "unread", line->is_unread);
    end_lease(out, &line->lease);
}

void holder_line_deinit(struct holder_line *line)
{
    text_deinit(&line->units.text);
}

void waiter_line_write(struct text *out, const struct waiter_line *line)
{
    begin_lease(out, "waiter ", &line->lease);
    add_unless_0(out, "position", line->position);
    add_unless_0(out, "ticket", line->ticket);
    text_add_number_key(out, "wants", line->wants);
    text_add_number_key(out, "age", line->lease.age);
    text_add_format(out, " priority=%d", line->priority);
    add_flag(out, "away", line->lease.is_away);
    text_add_key(out, "blocked", line->blocked);
    text_add_key(out, "blocker", line->blocked ? line->blocker : NULL);
    add_unless_0(out, "kept", line->kept);
    end_lease(out, &line->lease);
}
