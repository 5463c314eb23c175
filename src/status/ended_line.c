#include "status/ended_line.h"

#include "base/words.h"
#include "status/unit_list.h"
#include "wire/protocol.h"

#include <string.h>

/* ---- words ---- */

uint64_t wall_milliseconds(nanoseconds instant, const struct answer_moment *moment)
{
    return (uint64_t)((moment->wall_now - (moment->now - instant)) / 1000000);
}

static void ended_line_add_number(struct text *out, const char *key, bool is_known, uint64_t number)
{
    if (is_known) {
        text_add_number_key(out, key, number);
    }
}

static void add_units(struct unit_list *list, const struct saved_claim *claim)
{
    for (uint32_t i = 0, end; i < claim->count; i = end) {
        const struct saved_unit *unit = &claim->units[i];
        end = i + 1;
        if (claim->is_pool) {
            unit_list_add(list, unit->item);
            continue;
        }
        while (end < claim->count && claim->units[end].slot == unit->slot + end - i) {
            end++;
        }
        unit_list_add_slots(list, unit->slot, claim->units[end - 1].slot);
    }
}

/* NAME:UNITS of what it held, NAME=COUNT of what it waited for, NAME:@LEASE of what it shared. */
static void add_claim(struct text *out, const struct saved_claim *claim)
{
    struct unit_list list = {.max = UNITS_OF_HOLDER_BYTES};
    text_add(out, claim->name);
    if (claim->sharer != 0) {
        char id[LEASE_ID_SIZE];
        lease_id_format(id, claim->sharer);
        text_add_format(out, ":@%s", id);
        return;
    }
    if (!claim->units) {
        text_add(out, "=");
        text_add_number(out, claim->count);
        return;
    }
    add_units(&list, claim);
    text_add(out, ":");
    text_add_bytes(out, list.text.bytes, list.text.length);
    text_deinit(&list.text);
}

void ended_units(struct text *out, const struct saved_lease *lease)
{
    size_t start = out->length;
    for (size_t i = 0; i < lease->n_claims; i++) {
        size_t before = out->length;
        text_add(out, i > 0 ? ";" : "");
        add_claim(out, &lease->claims[i]);
        if (out->length - start > 2 * UNITS_OF_HOLDER_BYTES) {
            out->length = before;
            text_add(out, ";...");
            return;
        }
    }
}

const char *ended_how(const struct ended_lease *ended, const char **codep)
{
    enum { N_OF_WAITS = 3 };
    static const char *const of_waits[N_OF_WAITS] = {"timeout", "cancelled", "replaced"};
    const char *how = ended->entry->how;
    bool is_plain = (ended->lease->is_held && strcmp(how, "no-space") != 0) ||
        words_index(how, of_waits, N_OF_WAITS) < N_OF_WAITS;
    *codep = is_plain ? NULL : how;
    return is_plain ? how : "denied";
}

static void add_how(struct text *out, const struct ended_lease *ended)
{
    const char *code;
    text_add_key(out, "how", ended_how(ended, &code));
    text_add_key(out, "code", code);
}

uint64_t ended_held(const struct ended_lease *ended)
{
    const struct saved_lease *lease = ended->lease;
    return lease->is_held ? milliseconds(ended->entry->ended_at - lease->granted_at) : 0;
}

uint64_t ended_waited(const struct ended_lease *ended)
{
    const struct saved_lease *lease = ended->lease;
    nanoseconds until = lease->is_held ? lease->granted_at : ended->entry->ended_at;
    return milliseconds(until - lease->asked_at);
}

static void add_times(struct text *out, const struct ended_lease *ended, uint64_t ended_at)
{
    text_add_number_key(out, "ended", ended_at);
    ended_line_add_number(out, "held", ended->lease->is_held, ended_held(ended));
    text_add_number_key(out, "waited", ended_waited(ended));
}

/* If that still fits on the line. */
static void add_if_it_fits(struct text *out, size_t start, const char *key, const char *value)
{
    size_t length = out->length;
    text_add_key(out, key, value);
    if (out->length - start >= LINE_BYTES - 1) {
        out->length = length;
        out->bytes[length] = '\0';
    }
}

/* In the order of what is left out last. */
static void add_details(struct text *out, size_t start, const struct ended_lease *ended)
{
    const struct lease_attributes *attributes = &ended->lease->attributes;
    add_if_it_fits(out, start, "holder", attributes->holder);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        if (attribute_rows[i].is_shown) {
            const struct attribute_row *row = &attribute_rows[i];
            add_if_it_fits(out, start, row->word, lease_attributes_text(attributes, row));
        }
    }
    add_if_it_fits(out, start, "why", ended->entry->why);
    add_if_it_fits(out, start, "cgroup", ended->entry->origin.cgroup);
    add_if_it_fits(out, start, "args", ended->entry->origin.args);
}

void ended_claims(struct text *out, const struct saved_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct saved_claim *claim = &lease->claims[i];
        text_add_format(out, "%s%s %u", i > 0 ? "," : "", claim->name,
            claim->sharer != 0 ? 0 : claim->count);
    }
}

static void add_for_copies(struct text *out, size_t start, const struct ended_lease *ended)
{
    struct text claims = TEXT_INIT;
    ended_claims(&claims, ended->lease);
    text_add_key(out, "id", ended->stream_id);
    text_add_number_key(out, "hiding", ended->entry->hiding);
    add_if_it_fits(out, start, "claims", claims.bytes);
    text_deinit(&claims);
}

void ended_line_write(
    struct text *out, const struct ended_lease *ended, uint64_t ended_at, bool with_details)
{
    const struct history_entry *entry = ended->entry;
    const struct saved_lease *lease = ended->lease;
    size_t start = out->length;
    char id[LEASE_ID_SIZE];
    lease_id_format(id, lease->id);
    text_add(out, "ended ");
    text_add(out, ended->key ? ended->key : id);
    text_add_key(out, "units", "");
    ended_units(out, lease);
    text_add_number_key(out, "uid", lease->uid);
    add_how(out, ended);
    add_times(out, ended, ended_at);
    text_add_number_key(out, "pid", (uint64_t)lease->pid);
    bool is_programs = lease->binding == BOUND_PROCESS && lease->attributes.signal == 0;
    text_add_key(out, "bound", is_programs ? "program" : NULL);
    text_add_key(out, "database", ended->database);
    text_add_key(out, "host", ended->host);
    ended_line_add_number(out, "login", entry->origin.has_login, entry->origin.login);
    ended_line_add_number(out, "by", entry->by.is_known, entry->by.uid);
    ended_line_add_number(out, "by_login", entry->by.has_login, entry->by.login);
    ended_line_add_number(out, "exit", entry->status == HISTORY_EXITED, entry->number);
    ended_line_add_number(out, "signal", entry->status == HISTORY_SIGNALLED, entry->number);
    text_add_key(out, "unseen", entry->was_unseen ? "1" : NULL);
    if (ended->stream_id) {
        add_for_copies(out, start, ended);
    }
    if (with_details) {
        add_details(out, start, ended);
    }
    text_add(out, "\n");
}

/* ---- what everybody may see ---- */

static bool is_plain(const char *word)
{
    static const char *const plain[] = {"units", "uid", "how", "code", "ended", "held", "waited",
        "pid", "database", "login", "by", "by_login", "exit", "signal", "unseen", "host", "id", "bound",
        "at", "resource", "target", "old", "new"};
    size_t n = strcspn(word, "= ");
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strncmp(word, plain[i], n) == 0 && plain[i][n] == '\0') {
            return true;
        }
    }
    return false;
}

size_t ended_line_plain(const char *line)
{
    const char *first = line + strcspn(line, " "), *end = first;
    while (*end == ' ' && (end == first || is_plain(end + 1))) {
        end += 1 + strcspn(end + 1, " ");
    }
    return (size_t)(end - line);
}

/* ---- what operators did ---- */

void did_line_write(
    struct text *out, const struct did *did, uint64_t at, const struct ended_lease *copied)
{
    size_t start = out->length;
    text_add(out, "did ");
    text_add(out, did->verb);
    text_add_number_key(out, "at", at);
    ended_line_add_number(out, "uid", did->by.is_known, did->by.uid);
    ended_line_add_number(out, "login", did->by.has_login, did->by.login);
    text_add_key(out, "resource", did->resource);
    text_add_key(out, "target", did->target);
    text_add_key(out, "old", did->old);
    text_add_key(out, "new", did->new);
    text_add_key(out, "host", did->host);
    if (copied) {
        add_for_copies(out, start, copied);
    }
    add_if_it_fits(out, start, "reason", did->reason);
    text_add(out, "\n");
}
