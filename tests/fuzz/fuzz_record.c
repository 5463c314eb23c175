/* fuzz_record.c - records of leases, line by line, read from arbitrary bytes.
 *
 * What is read must keep saved_lease.h's promises. It is then made a lease again in a core, as
 * after a restart, and that lease's record must read as the same. There is one database, `default`.
 */
#include "fuzz.h"

#include "../unit/terms_help.h"
#include "base/words.h"
#include "core/core.h"
#include "core/units.h"
#include "journal/record.h"
#include "tests/core_check.h"

#include <stdlib.h>
#include <string.h>

/* ---- promises ---- */

static void check_string(const char *string, size_t max)
{
    REQUIRE(!string || (string[0] != '\0' && strlen(string) <= max));
}

static void check_time(nanoseconds time)
{
    REQUIRE(time >= 0 && time < NEVER);
}

static void check_claim(const struct saved_claim *claim, bool is_held, bool is_fleet)
{
    REQUIRE(name_is_valid(claim->name) && claim->count >= 1 && claim->count <= MAX_LIMIT);
    REQUIRE((claim->units != NULL) == is_held);
    REQUIRE((claim->token > 0) == is_held || (is_held && is_fleet));
    check_time(claim->cooldown);
    REQUIRE(claim->token <= INT64_MAX && (!is_held || claim->count <= MAX_UNITS));
    for (uint32_t i = 0; is_held && i < claim->count; i++) {
        const struct saved_unit *unit = &claim->units[i];
        REQUIRE(claim->is_pool ? item_is_valid(unit->item) : !unit->item && unit->slot < MAX_LIMIT);
    }
}

static void check_saved_lease(const struct saved_lease *lease)
{
    REQUIRE(lease->id != 0 && lease->pid >= 0);
    REQUIRE(
        lease->attributes.priority >= -MAX_PRIORITY && lease->attributes.priority <= MAX_PRIORITY);
    check_time(lease->asked_at);
    check_time(lease->granted_at);
    check_time(lease->rested_at);
    check_time(lease->ttl);
    check_time(lease->attributes.kill_after);
    REQUIRE(lease->until >= 0 && lease->attributes.signal <= 64 &&
        lease->attributes.on_lost <= ON_LOST_KILL);
    REQUIRE(lease->binding != BOUND_PROCESS || lease->process.pid > 1);
    REQUIRE(lease->wrapper.pid == 0 || (lease->wrapper.pid > 1 && lease->binding == BOUND_PROCESS));
    REQUIRE(!lease->is_opaque ||
        (lease->kept && lease->stopping == OUTCOME_OK && !lease->attributes.holder));
    REQUIRE((lease->binding == BOUND_TIME) == (lease->ttl > 0));
    const char *database = record_database(lease);
    bool by_fleet = lease->stopping == OUTCOME_LOST || lease->stopping == OUTCOME_DEADLINE;
    REQUIRE(lease->stopping == OUTCOME_OK ||
        (lease->is_held &&
            (lease->stopping == OUTCOME_REVOKED || lease->stopping == OUTCOME_WITHDRAWN ||
                lease->stopping == OUTCOME_MAX_HOLD || (by_fleet && database))));
    REQUIRE(!database || (name_is_valid(database) && lease->rested_at == 0));
    REQUIRE(lease->database == 0 && (database || (lease->ticket == 0 && !lease->wants_now)));
    REQUIRE(!(lease->wants_now || lease->is_away) || !lease->is_held);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        if (attribute_rows[i].type == ATTRIBUTE_TEXT) {
            check_string(lease_attributes_text(&lease->attributes, &attribute_rows[i]),
                attribute_rows[i].bound);
        }
    }
    REQUIRE(lease->n_claims >= 1 && lease->n_claims <= MAX_RESOURCES_PER_LEASE);
    for (size_t i = 0; i < lease->n_claims; i++) {
        check_claim(&lease->claims[i], lease->is_held, database);
    }
}

/* ---- a restart ---- */

/* The definitions may have cut times short, and stopping begins again. */
static void check_same(const struct saved_lease *a, const struct saved_lease *b)
{
    REQUIRE(a->id == b->id && a->is_held == b->is_held && a->uid == b->uid && a->pid == b->pid);
    REQUIRE(a->binding == b->binding && a->ttl == b->ttl &&
        !lease_attributes_difference(&a->attributes, &b->attributes));
    REQUIRE(a->process.pid == b->process.pid && a->process.started == b->process.started);
    REQUIRE(a->wrapper.pid == b->wrapper.pid && a->wrapper.started == b->wrapper.started);
    REQUIRE(a->is_opaque == b->is_opaque && texts_are_same(a->kept, b->kept));
    REQUIRE(a->asked_at == b->asked_at && a->granted_at == b->granted_at);
    REQUIRE(a->n_claims == b->n_claims && texts_are_same(record_database(a), record_database(b)));
    REQUIRE(a->ticket == b->ticket && a->wants_now == b->wants_now && a->is_away == b->is_away);
    for (size_t i = 0; i < a->n_claims; i++) {
        const struct saved_claim *x = &a->claims[i], *y = &b->claims[i];
        REQUIRE(texts_are_same(x->name, y->name) && x->count == y->count && x->token == y->token);
        for (uint32_t k = 0; a->is_held && k < x->count; k++) {
            REQUIRE(x->units[k].slot == y->units[k].slot);
            REQUIRE(texts_are_same(x->units[k].item, y->units[k].item));
        }
    }
}

static void check_written(const struct saved_lease *saved, const struct lease *lease)
{
    struct text text = TEXT_INIT;
    record_write(&text, lease, lease->database != 0 ? "default" : NULL, true);
    struct saved_lease *again = record_read(text.bytes, text.length);
    REQUIRE(again);
    check_same(saved, again);
    record_free(again);
    text_deinit(&text);
}

static void finish(struct effects *effects)
{
    effects_clear_changed(effects);
    effects_clear(effects);
}

/* Our file has no others. */
static void number_database(struct saved_lease *saved)
{
    const char *database = record_database(saved);
    saved->database = database && texts_are_same(database, "default");
}

static void restore(struct core *core, struct saved_lease *saved)
{
    struct effects effects = EFFECTS_INIT;
    struct lease *lease = NULL;
    if (saved->rested_at != 0) {
        core_restore_cooldown(core, saved, 1000, &effects);
    } else {
        core_restore(core, saved, 1000, &effects, &lease);
    }
    if (lease && lease->state != LEASE_ENDED) {
        check_written(saved, lease);
    }
    finish(&effects);
    effects_deinit(&effects);
    core_check(core);
}

static char *items[] = {(char[]){"a"}, (char[]){"b"}, (char[]){"c"}};
static const struct definition definitions[] = {
    {.name = (char[]){"s"}, .limit = 4, .max_hold = 5000, .cooldown = 700},
    {.name = (char[]){"d"}, .kind = KIND_LOCK, .limit = 1, .max_hold = NEVER},
    {.name = (char[]){"g"}, .kind = KIND_POOL, .items = items, .n_items = 3, .max_hold = NEVER},
    {.name = (char[]){"m/*"}, .limit = 2, .max_hold = NEVER, .max_instances = 9},
    {.name = (char[]){"fs"}, .limit = 4, .max_hold = 5000, .cooldown = 700, .database = 1},
    {.name = (char[]){"fg"},
        .kind = KIND_POOL,
        .items = items,
        .n_items = 3,
        .max_hold = NEVER,
        .database = 1},
};

static struct core *start(void)
{
    static const struct user_bounds bounds = {9, 9, 9, 9};
    struct effects effects = EFFECTS_INIT;
    const char *refused;
    struct core *core = core_new(0);
    core_define(core, definitions, sizeof definitions / sizeof definitions[0], &bounds, 0, &effects,
        &refused);
    core_begin_grace(core, false, 2000);
    finish(&effects);
    effects_deinit(&effects);
    return core;
}

/* No clock gets further. */
#define END_OF_TIME (NEVER / 2)

/* What becomes of them if no client comes back. */
static void end(struct core *core)
{
    struct effects effects = EFFECTS_INIT;
    for (int i = 0; i < 20; i++) {
        nanoseconds next = core_next_deadline(core);
        if (next > END_OF_TIME) {
            break;
        }
        core_tick(core, next, &effects);
        finish(&effects);
        core_check(core);
    }
    core_abandon(core, END_OF_TIME, &effects);
    finish(&effects);
    effects_deinit(&effects);
    core_free(core);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct core *core = start();
    const char *next = (const char *)bytes, *all_end = next + n;
    while (next < all_end) {
        const char *line_end = memchr(next, '\n', (size_t)(all_end - next));
        line_end = line_end ? line_end : all_end;
        struct saved_lease *saved = record_read(next, (size_t)(line_end - next));
        if (saved) {
            check_saved_lease(saved);
            number_database(saved);
            restore(core, saved);
        }
        record_free(saved);
        next = line_end + 1;
    }
    end(core);
    return 0;
}
