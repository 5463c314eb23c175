#include "status/status_lines.h"

/* ---- resources ---- */

void resource_set_kind(struct status_resource *resource, const char *kind, const char *database,
    const char *database_state)
{
    resource->kind = kind;
    resource->scope = database ? "fleet" : "host";
    resource->database = database;
    resource->database_state = database_state;
}

void resource_set_pause(
    struct status_resource *resource, bool is_paused, const char *reason, struct by_whom by)
{
    resource->paused = is_paused;
    if (is_paused) {
        resource->pause_reason = reason;
        resource->paused_by.uid = (struct optional){by.is_known, by.uid};
        resource->paused_by_login.uid = (struct optional){by.has_login, by.login};
    }
}

static void begin(
    struct text *out, enum status_line line, const char *name, unsigned whom, const void *record)
{
    text_add(out, status_line_words[line]);
    text_add(out, " ");
    text_add_encoded(out, name);
    fields_add(out, status_fields(line), whom, record);
}

void record_line_write(
    struct text *out, enum status_line line, const char *name, const void *record)
{
    begin(out, line, name, 1 << FOR_ANYBODY, record);
    text_add(out, "\n");
}

void resource_line_write(struct text *out, struct resource_line *line)
{
    const struct text *reasons = &line->reserve_reasons.words;
    line->shown.items.joined = line->items.text.bytes;
    line->shown.draining.joined = line->draining.text.bytes;
    line->shown.reserved.joined = line->reserved.text.bytes;
    begin(out, LINE_RESOURCE, line->shown.name, 1 << FOR_ANYBODY, &line->shown);
    text_add_bytes(out, reasons->bytes, reasons->length);
    text_add(out, "\n");
}

void resource_line_deinit(struct resource_line *line)
{
    text_deinit(&line->items.text);
    text_deinit(&line->draining.text);
    text_deinit(&line->reserved.text);
    text_deinit(&line->reserve_reasons.words);
}

/* ---- leases ---- */

/* base/attributes.def makes both. */
_Static_assert((size_t)N_SHOWN == (size_t)N_ATTRIBUTES, "what is shown is an attribute");

void lease_set_texts(struct status_lease *lease, const struct terms *terms)
{
    lease->holder = terms->holder;
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const struct attribute_row *row = &attribute_rows[i];
        lease->shown[i] = row->is_shown ? terms_text(terms, row) : NULL;
    }
}

void lease_line_write(
    struct text *out, enum status_line line, const struct status_lease *lease, bool follows)
{
    unsigned trusted = lease->hidden ? 0 : 1 << FOR_TRUSTED;
    unsigned here = 1 << (follows ? FOR_FOLLOWERS : FOR_ASKERS);
    begin(out, line, lease->id, 1 << FOR_ANYBODY | trusted | here, lease);
    for (size_t i = 0; i < N_SHOWN && !lease->hidden; i++) {
        text_add_key(out, shown_rows[i].word, lease->shown[i]);
    }
    text_add(out, "\n");
}
