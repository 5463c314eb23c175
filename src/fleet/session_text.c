/* session_text.c - the arguments of calls; session_answers.c has the answers. */
#include "fleet/session_text.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/fleet.h"
#include "core/units.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

void arguments_deinit(struct arguments *arguments)
{
    text_deinit(&arguments->bytes);
    free(arguments->ends);
    free(arguments->argv);
    free(arguments->lengths);
    *arguments = (struct arguments){0};
}

void arguments_clear(struct arguments *arguments)
{
    arguments->bytes.length = 0;
    arguments->n = 0;
}

/* Makes an argument of the bytes added since the last one. */
static void arguments_end_one(struct arguments *arguments)
{
    if (arguments->n == arguments->size) {
        arguments->size = arguments->size == 0 ? 32 : arguments->size * 2;
        arguments->ends = memory_resize(arguments->ends, arguments->size, sizeof *arguments->ends);
    }
    arguments->ends[arguments->n++] = arguments->bytes.length;
    text_add_repeated(&arguments->bytes, '\0', 1);
}

void arguments_add(struct arguments *arguments, const char *text)
{
    text_add(&arguments->bytes, text);
    arguments_end_one(arguments);
}

void arguments_add_number(struct arguments *arguments, uint64_t number)
{
    text_add_number(&arguments->bytes, number);
    arguments_end_one(arguments);
}

void arguments_add_numbers(struct arguments *arguments, size_t n, const uint64_t numbers[])
{
    for (size_t i = 0; i < n; i++) {
        text_add(&arguments->bytes, i > 0 ? "-" : "");
        text_add_number(&arguments->bytes, numbers[i]);
    }
    arguments_end_one(arguments);
}

void arguments_finish(struct arguments *arguments)
{
    size_t begin = 0;
    arguments->argv = memory_resize(arguments->argv, arguments->size, sizeof *arguments->argv);
    arguments->lengths =
        memory_resize(arguments->lengths, arguments->size, sizeof *arguments->lengths);
    for (size_t i = 0; i < arguments->n; i++) {
        arguments->argv[i] = arguments->bytes.bytes + begin;
        arguments->lengths[i] = arguments->ends[i] - begin;
        begin = arguments->ends[i] + 1;
    }
}

/* ---- leases ---- */

static void call_add_id(struct arguments *arguments, uint64_t id)
{
    char word[LEASE_ID_SIZE];
    lease_id_format(word, id);
    arguments_add(arguments, word);
}

/* Of that many, Redis' clock says when it was. */
enum { LATE_MS = 100 };

void call_add_release(
    struct arguments *arguments, uint64_t id, const char *ending, nanoseconds ago)
{
    char word[LEASE_ID_SIZE];
    lease_id_format(word, id);
    text_add(&arguments->bytes, word);
    if (ending && milliseconds(ago) >= LATE_MS) {
        text_add_format(&arguments->bytes, " %ju", (uintmax_t)milliseconds(ago));
    }
    text_add(&arguments->bytes, ending ? " " : "");
    arguments_add(arguments, ending ? ending : "");
}

/* Which of its resources hide it from other users, by this host's file. Older daemons read only how
 * many. */
static void add_hiding(struct text *out, const struct lease *lease)
{
    uint32_t n = 0;
    struct text names = TEXT_INIT;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct resource *resource = lease->claims[i].resource;
        if (resource->definition->shows_to_owner_only) {
            text_add(&names, n > 0 ? "," : "");
            text_add(&names, resource->name);
            n++;
        }
    }
    if (n > 0) {
        text_add_number_key(out, "hide", n);
        text_add_format(out, " hides=%s", names.bytes);
    }
    text_deinit(&names);
}

/* Of which resources it is to have all, and which are levels: the scripts read it, too. */
static void add_kinds(struct text *out, const struct lease *lease)
{
    const char *before[] = {" all=", " levels="};
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        if (claim->is_all || claim->is_level) { /* never both */
            text_add_format(out, "%s%s", before[claim->is_level], claim->resource->name);
            before[claim->is_level] = ",";
        }
    }
}

void info_write(struct text *out, const struct lease *lease, nanoseconds wall_offset)
{
    nanoseconds since = lease->state == LEASE_HELD ? lease->granted_at : lease->asked_at;
    nanoseconds at = (since + wall_offset) / NANOSECONDS_PER_MILLISECOND;
    text_add_format(out, "pid=%d", (int)lease->pid);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        if (attribute_rows[i].is_shown) {
            text_add_key(out, attribute_rows[i].word,
                lease_attributes_text(&lease->attributes, &attribute_rows[i]));
        }
    }
    text_add_number_key(out, "at", at > 0 ? (uint64_t)at : 0);
    add_hiding(out, lease);
    add_kinds(out, lease);
    if (lease->attributes.replace != REPLACE_NOTHING) { /* the scripts read it, too */
        text_add_key(out, "replace", replace_words[lease->attributes.replace]);
    }
    if (lease_max_hold(lease) != NEVER) {
        text_add_number_key(out, "hold", milliseconds(lease_max_hold(lease)));
    }
}

static bool identity_is_shared(const struct lease *lease)
{
    bool is_shared = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        is_shared |= !claim->is_level && claim->resource->definition->identity_shared;
    }
    return is_shared;
}

static void above_write(struct text *out, struct core *core, const struct lease *lease)
{
    char id[LEASE_ID_SIZE];
    const char *separator = "";
    const struct lease *above = lease;
    for (int n = 0; n < MAX_ANCESTORS && (above = core_lease_held_up(core, above)); n++) {
        if (above->database == lease->database) {
            lease_id_format(id, above->id);
            text_add_format(out, "%s%s", separator, id);
            separator = ",";
        }
    }
}

/* `word` follows the id. With `has_units`, each claim has its token and units: 0 and "-" of one
 * that waits. */
static void add_lease(struct arguments *arguments, struct core *core, const struct lease *lease,
    nanoseconds wall_offset, const char *word, bool has_units)
{
    call_add_id(arguments, lease->id);
    arguments_add(arguments, word);
    text_add_format(&arguments->bytes, "%d", (int)lease->attributes.priority);
    arguments_end_one(arguments);
    arguments_add_number(arguments, lease->ticket);
    arguments_add_number(arguments, lease->uid);
    if (identity_is_shared(lease)) {
        arguments_add(arguments, "*");
    } else {
        arguments_add_number(arguments, lease->uid);
    }
    text_add_encoded(&arguments->bytes, lease->attributes.holder ? lease->attributes.holder : "");
    arguments_end_one(arguments);
    info_write(&arguments->bytes, lease, wall_offset);
    arguments_end_one(arguments);
    above_write(&arguments->bytes, core, lease);
    arguments_end_one(arguments);
    arguments_add_number(arguments, lease->n_claims);
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        arguments_add(arguments, claim->resource->name);
        arguments_add(arguments, claim->resource->definition->name);
        arguments_add_number(arguments, claim->count);
        arguments_add_number(arguments, definition_limit(claim->resource->definition));
        if (has_units) {
            arguments_add_number(arguments, claim->token);
            text_add(&arguments->bytes, claim->units ? "" : "-");
            units_write_claim(&arguments->bytes, claim, SIZE_MAX);
            arguments_end_one(arguments);
        }
    }
}

void call_add_acquire(struct arguments *arguments, struct core *core, const struct lease *lease,
    nanoseconds wall_offset)
{
    add_lease(arguments, core, lease, wall_offset, lease->wants_now ? "1" : "0", false);
}

void call_add_listed(struct arguments *arguments, struct core *core, const struct lease *lease,
    nanoseconds wall_offset, nanoseconds now)
{
    bool is_held = lease->state == LEASE_HELD;
    const char *state = is_held ? "held" : lease->ticket != 0 ? "waiting" : "asked";
    add_lease(arguments, core, lease, wall_offset, state, true);
    arguments_add_number(arguments, is_held ? milliseconds(now - lease->granted_at) : 0);
}

/* ---- definitions ---- */

static const char *const kind_words[] = {
    [KIND_SEMAPHORE] = "semaphore", [KIND_LOCK] = "lock", [KIND_POOL] = "pool"};
static const char *const selection_words[] = {
    [SELECT_LRU] = "lru", [SELECT_FIRST] = "first", [SELECT_RANDOM] = "random"};

void definition_write(struct text *out, const struct definition *definition)
{
    bool is_pool = definition_is_pool(definition);
    uint32_t per_user = definition->max_units_per_user;
    text_add_format(out, "{\"kind\":\"%s\",\"limit\":%u,\"select\":\"%s\",\"cooldown\":%lld,"
        "\"keep\":%lld,",
        kind_words[definition->kind], is_pool ? 0 : definition->limit,
        selection_words[definition->selection],
        (long long)(definition->cooldown / NANOSECONDS_PER_MILLISECOND),
        (long long)(definition->keep / NANOSECONDS_PER_MILLISECOND));
    text_add_format(out, "\"max-waiters\":%u,\"max-units-per-user\":%u,\"shared\":%s,\"items\":[",
        definition->max_waiters, per_user == UNBOUNDED ? 0 : per_user,
        definition->identity_shared ? "true" : "false");
    for (size_t i = 0; is_pool && i < definition->n_items; i++) {
        text_add_format(out, "%s\"%s\"", i > 0 ? "," : "", definition->items[i]);
    }
    text_add(out, definition->n_levels > 0 ? "],\"also\":[" : "]");
    for (size_t i = 0; i < definition->n_levels; i++) {
        const struct level *level = &definition->levels[i];
        text_add_format(out, "%s\"%s:%u\"", i > 0 ? "," : "", level->name, level->count);
    }
    text_add(out, definition->n_levels > 0 ? "]" : "");
    if (definition->rate.units > 0) {
        text_add_format(out, ",\"rate\":%u,\"window\":%lld,\"burst\":%u", definition->rate.units,
            (long long)(definition->rate.window / NANOSECONDS_PER_MILLISECOND), definition->burst);
    }
    if (definition->order == ORDER_FAIR) {
        text_add_format(out, ",\"fair\":\"%s\"", definition->fair_by_share ? "share" : "user");
    }
    text_add(out, "}");
}
