/* core_fleet.c - the fixture's part about leases that a database grants; see core_fixture.h. */
#include "core_text.h"
#include "core_world.h"

#include "core/fleet.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a database says ---- */

struct said {
    struct saved_claim claims[MAX_RESOURCES_PER_LEASE];
    struct saved_unit units[MAX_RESOURCES_PER_LEASE][MAX_COUNT];
    char words[MAX_RESOURCES_PER_LEASE][WORD_BYTES];
};

static uint32_t count_units(const char *units)
{
    uint32_t n = 1;
    for (; *units; units++) {
        n += *units == ',';
    }
    return n;
}

static void parse_claim(struct said *said, size_t i)
{
    char *rest = said->words[i];
    const char *name = strsep(&rest, ":");
    char *units = strsep(&rest, ":");
    cr_assert_not_null(rest);
    struct saved_claim *claim = &said->claims[i];
    *claim = (struct saved_claim){
        .name = name, .count = count_units(units), .token = number(rest), .units = said->units[i]};
    parse_units(units, said->units[i], claim->count);
    claim->is_pool = said->units[i][0].item != NULL;
}

const char *granted(const char *lease, const char *text)
{
    struct said *said = calloc(1, sizeof *said);
    char ticket[WORD_BYTES];
    cr_assert(next_word(&text, ticket));
    size_t n = 0;
    for (; next_word(&text, said->words[n]); n++) {
        parse_claim(said, n);
    }
    struct lease *found = living(lease);
    cr_assert_eq(n, found->n_claims);
    bool is_true = core_fleet_granted(
        world.core, found, number(ticket), said->claims, world.now, &world.effects);
    free(said);
    struct text out = text_new();
    say(&out, "%s", is_true ? "ok" : "no");
    cr_assert(is_true || (world.effects.n == 0 && !world.effects.changed && !world.effects.ended));
    return and_effects(&out);
}

const char *waits(const char *lease, uint64_t ticket, uint32_t position)
{
    core_fleet_waits(world.core, living(lease), ticket, position, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *moved(const char *lease, uint64_t ticket, uint32_t position)
{
    core_fleet_moved(world.core, living(lease), ticket, position, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *refused(const char *lease, const char *why)
{
    core_fleet_refused(world.core, living(lease), outcome_of(why), world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *lost(const char *lease)
{
    core_fleet_lost(world.core, living(lease), world.now, &world.effects);
    return answer(OUTCOME_OK, NULL);
}

const char *good(uint8_t database, double until)
{
    nanoseconds at = beginning + (nanoseconds)(until * 1e9);
    core_fleet_good_until(world.core, database, at, world.now, &world.effects);
    cr_assert_eq(core_fleet_deadline(world.core, database), at);
    return answer(OUTCOME_OK, NULL);
}

/* ---- looking ---- */

const char *place(const char *lease)
{
    const struct lease *found = living(lease);
    struct text text = text_new();
    for (size_t i = 0; i < found->n_claims && found->state == LEASE_WAITING; i++) {
        cr_assert_eq(claim_position(&found->claims[i]), found->position);
    }
    say(&text, "ticket %u place %u", (unsigned)found->ticket, found->position);
    return text.bytes;
}

const char *stop_at(const char *lease)
{
    struct text text = text_new();
    say_instant(&text, lease_stop_at(living(lease)));
    say(&text, " for %g", (double)lease_stop_budget(living(lease)) / 1e9);
    return text.bytes;
}

struct listing {
    struct text text;
    size_t n_waiting;
};

static void list_lease(struct lease *lease, void *context)
{
    struct listing *listing = context;
    bool is_first_waiter = lease->state == LEASE_WAITING && listing->n_waiting++ == 0;
    say(&listing->text, "%s%s%s", is_first_waiter ? "| " : "", lease_name(lease), " ");
}

const char *leases_of(uint8_t database)
{
    struct listing listing = {.text = text_new()};
    core_fleet_for_each_holder(world.core, database, list_lease, &listing);
    core_fleet_for_each_waiter(world.core, database, list_lease, &listing);
    cr_assert_eq(listing.n_waiting, core_fleet_n_waiting(world.core, database));
    say(&listing.text, "%s", listing.n_waiting == 0 ? "|" : "");
    if (listing.n_waiting > 0) {
        listing.text.bytes[listing.text.n - 1] = '\0';
    }
    return listing.text.bytes;
}
