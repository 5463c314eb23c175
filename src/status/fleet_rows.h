/* fleet_rows.h - parses the rows of the script `snapshot` (doc/redis.md), which say what a database
 * knows about its resources. Pure. Other hosts have written them: anything may be in them, and what
 * makes no sense is skipped. */
#pragma once

#include "base/text.h"
#include "base/words.h"
#include "core/core.h"

struct fleet_row {
    const char *fields; /* each ends in a NUL */
    size_t n;
};

/* A resource, and which rows are its holders (by token) and waiters (by place); or a template that
 * operators have changed, which has none. */
struct fleet_resource {
    const char *name;
    size_t row, end; /* its own row; the end of its last */

    /* In a listing for those who follow: */
    uint64_t own_held, own_waiting; /* units and leases of this host, as they were then */
    bool is_torn; /* something changed between two of its pages: a lease may have been missed */
};

struct fleet_rows {
    char *text;
    size_t n_bytes; /* all of it takes */
    struct fleet_row *rows;
    size_t n_rows;
    struct fleet_resource *resources; /* sorted by name; each once */
    size_t n_resources;
};

/* Takes over the contents of `text`: fields that end in a NUL, rows that end in LF. */
struct fleet_rows *fleet_rows_new(struct text *text);
struct fleet_rows *fleet_rows_free(struct fleet_rows *rows); /* accepts NULL; returns NULL */
/* NULL: the database has no row for it. */
const struct fleet_resource *fleet_rows_find(const struct fleet_rows *rows, const char *name);

/* The first one behind that name; NULL: there is none. */
const struct fleet_resource *fleet_rows_behind(const struct fleet_rows *rows, const char *name);

/* How many of its resources are instances of that template. */
uint32_t fleet_rows_n_instances(const struct fleet_rows *rows, const char *template);

/* The next row of that kind with at least `n` fields: from number *ip on, which moves behind it.
 * NULL: there is none. */
const struct fleet_row *fleet_rows_next(
    const struct fleet_rows *rows, const char *word, size_t n, size_t *ip);

/* ---- one row ---- */

enum resource_field {
    RESOURCE_WORD,
    RESOURCE_NAME,
    RESOURCE_KIND,
    RESOURCE_LIMIT,
    RESOURCE_IN_USE,
    RESOURCE_FREE,
    RESOURCE_WAITING,
    RESOURCE_COOLING,
    RESOURCE_PAUSED,
    RESOURCE_PAUSE_SAID,
    RESOURCE_DEFINITION,
    RESOURCE_CHANGED,
    RESOURCE_ITEMS,
    RESOURCE_RESERVED,
    RESOURCE_KEPT,
    RESOURCE_KEEPER,
    RESOURCE_CHANGE_SAID,
    RESOURCE_DRAINING,
    N_RESOURCE_FIELDS,
    /* only with a rate: milliseconds, rounded up, until it may grant all its burst at once */
    RESOURCE_FULL_IN = N_RESOURCE_FIELDS
};

/* The fields of holders and waiters. */
enum lease_field {
    ROW_WORD,
    ROW_NAME,
    ROW_KEY,
    ROW_TICKET,
    ROW_PRIORITY,
    ROW_UID,
    ROW_HOLDER,
    ROW_INFO,
    ROW_COUNT,
    HOLDER_TOKEN,
    HOLDER_UNITS,
    HOLDER_HOST,
    HOLDER_HELD_FOR, /* milliseconds */
    N_HOLDER_FIELDS,
    WAITER_POSITION = HOLDER_TOKEN,
    WAITER_HOST,
    WAITER_KEPT,
    WAITER_BLOCKED,
    WAITER_BLOCKER,
    N_WAITER_FIELDS,
    WAITER_OWNER = N_WAITER_FIELDS, /* who has its identity, where it is blocked by that */
    WAITER_OWNER_STATE,
};

enum { FLEET_NUMBER_MAX = INT32_MAX };
/* "" if there is none. */
const char *fleet_field(const struct fleet_row *row, size_t i);
/* False, and 0, unless the field is a number up to `max`. */
bool fleet_number(const struct fleet_row *row, size_t i, uint64_t max, uint64_t *numberp);
/* The same number, or 0. */
uint64_t fleet_number_of(const struct fleet_row *row, size_t i, uint64_t max);
/* Copies at most `max` bytes into the room. NULL: the value is empty, or NULL. */
const char *fleet_bounded(char room[static REASON_BYTES + 1], const char *value, size_t max);
/* The same for `n` bytes that the writer encoded. NULL: they are malformed, or encode nothing. */
const char *fleet_text(
    char room[static REASON_BYTES + 1], const char *value, size_t n, size_t max);
/* Copies the first word of a list; `size` is of `word`, and a word that does not fit becomes empty.
 * Returns where the rest begins; NULL: the list was empty. */
const char *fleet_take_word(const char *list, char separator, char *word, size_t size);

/* The value of a word KEY=VALUE among others, and its length; NULL: there is none. */
const char *fleet_info_find(const char *info, const char *key, size_t *lengthp);
/* The same, a number up to `max`; 0: there is none. */
uint64_t fleet_info_number(const char *info, const char *key, uint64_t max);
/* The i-th name in a list of resources, as the lease's own host says: `hides` has those that hide
 * it, `all` those of which it has all. False: there are no more (of an older host, none). */
bool fleet_info_name(
    const char *info, const char *key, size_t i, char name[static NAME_BYTES + 1]);

enum fleet_lease { FLEET_NEITHER, FLEET_HOLDER, FLEET_WAITER };
/* Which kind of lease a well-formed row of that resource describes. */
enum fleet_lease fleet_row_kind(const struct fleet_row *row, const struct fleet_resource *resource);
bool fleet_is_pool(const struct fleet_row *row);
/* The row of the first waiter, where the holders end. Behind the last resource's waiters may be
 * rows of another kind. */
size_t fleet_first_waiter(const struct fleet_rows *rows, const struct fleet_resource *resource);

/* ---- holders of a unit ---- */

/* The holder's row; NULL: nobody has that unit of the resource. */
const struct fleet_row *fleet_find_holder(
    const struct fleet_rows *rows, const struct fleet_resource *resource, const char *unit);
/* Whether that unit exists, as far as the resource's row says. */
bool fleet_has_unit(
    const struct fleet_rows *rows, const struct fleet_resource *resource, const char *unit);

/* SESSION/ID: 16 hex digits and a lease's id, which goes to *idp. */
bool fleet_key_parse(const char *key, uint64_t *idp);
