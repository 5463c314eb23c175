/* record_units.c - the words of a record that name units, and what a waiting lease wants. */
#include "base/memory.h"
#include "base/words.h"
#include "core/units.h"
#include "journal/record_words.h"

#include <string.h>

/* NAME,... : starts the next claim; returns what follows the name. */
static struct remembered_claim *read_claim_name(
    struct remembered *remembered, char *value, char **restp)
{
    char *comma = strchr(value, ',');
    if (!comma || remembered->n_claims == MAX_RESOURCES_PER_LEASE) {
        return NULL;
    }
    *comma = '\0';
    *restp = comma + 1;
    if (!name_is_valid(value)) {
        return NULL;
    }
    for (size_t i = 0; i < remembered->n_claims; i++) {
        if (strcmp(remembered->claims[i].name, value) == 0) {
            return NULL;
        }
    }
    struct remembered_claim *claim = &remembered->claims[remembered->n_claims++];
    claim->name = value;
    return claim;
}

static bool read_units(
    struct remembered *remembered, const struct record_row *row, char *value, bool is_pool)
{
    char *rest;
    struct remembered_claim *claim = read_claim_name(remembered, value, &rest);
    char *comma = claim ? strchr(rest, ',') : NULL;
    if (!comma) {
        return false;
    }
    *comma = '\0';
    claim->is_pool = is_pool;
    claim->count = units_count(comma + 1, is_pool);
    if (claim->count == 0 || !record_read_in_range(row, rest, &claim->token)) {
        return false;
    }
    struct remembered_unit *units = memory_new(claim->count * sizeof *units);
    claim->units = units; /* record_free() frees them from now on */
    return units_parse(comma + 1, is_pool, claim->count, units);
}

static bool read_slot(struct remembered *remembered, const struct record_row *row, char *value)
{
    return read_units(remembered, row, value, false);
}

static bool read_item(struct remembered *remembered, const struct record_row *row, char *value)
{
    return read_units(remembered, row, value, true);
}

const struct record_form form_slot = {NULL, read_slot};
const struct record_form form_item = {NULL, read_item};

char *write_want(struct writing *writing, char *to, const struct record_row *row)
{
    for (size_t i = 0; i < writing->lease->n_claims; i++) {
        const struct claim *claim = &writing->lease->claims[i];
        const char *name = claim->resource->name;
        size_t length = strlen(name);
        to = put_head(make_room(writing, to, MAX_WORD + length), row);
        to = put_bytes(to, name, length);
        to = put_number(put_byte(to, ','), claim->count);
    }
    return to;
}

static bool read_want(struct remembered *remembered, const struct record_row *row, char *value)
{
    char *rest;
    uint64_t count;
    struct remembered_claim *claim = read_claim_name(remembered, value, &rest);
    if (!claim || !record_read_in_range(row, rest, &count)) {
        return false;
    }
    claim->count = (uint32_t)count;
    return true;
}

const struct record_form form_want = {NULL, read_want};
