#include "status/fleet_rows.h"

#include "base/memory.h"
#include "base/words.h"
#include "fleet/session.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

const char *fleet_field(const struct fleet_row *row, size_t i)
{
    const char *field = row->fields;
    if (i >= row->n) {
        return "";
    }
    while (i-- > 0) {
        field += strlen(field) + 1;
    }
    return field;
}

bool fleet_number(const struct fleet_row *row, size_t i, uint64_t max, uint64_t *numberp)
{
    *numberp = 0;
    return number_parse(fleet_field(row, i), max, numberp);
}

uint64_t fleet_number_of(const struct fleet_row *row, size_t i, uint64_t max)
{
    uint64_t number;
    fleet_number(row, i, max, &number);
    return number;
}

static bool row_is(const struct fleet_row *row, const char *word)
{
    return strcmp(row->fields, word) == 0;
}

static bool resource_row_is_sound(const struct fleet_row *row)
{
    enum { N_KINDS = 3 };
    static const char *const kinds[N_KINDS] = {"semaphore", "lock", "pool"};
    const char *name = row->n > RESOURCE_NAME ? fleet_field(row, RESOURCE_NAME) : "";
    uint64_t number;
    if (!row_is(row, "resource") || row->n < N_RESOURCE_FIELDS ||
        !(name_is_valid(name) || template_name_is_valid(name)) ||
        words_index(fleet_field(row, RESOURCE_KIND), kinds, N_KINDS) == N_KINDS) {
        return false;
    }
    for (size_t i = RESOURCE_LIMIT; i <= RESOURCE_COOLING; i++) {
        if (!fleet_number(row, i, FLEET_NUMBER_MAX, &number)) {
            return false;
        }
    }
    return fleet_number(row, RESOURCE_PAUSED, 1, &number);
}

/* Reads the row at `at`; returns where the next one begins. */
static const char *row_read(struct fleet_row *row, const char *at, const char *end)
{
    *row = (struct fleet_row){.fields = at};
    while (at < end && *at != '\n') {
        const char *nul = memchr(at, '\0', (size_t)(end - at));
        if (!nul) {
            return end; /* cut off: no field */
        }
        row->n++;
        at = nul + 1;
    }
    return at < end ? at + 1 : end;
}

static int resource_compare(const void *left, const void *right)
{
    const struct fleet_resource *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* Rows of leases belong to the resource above them. */
static void find_resources(struct fleet_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_rows; i++) {
        n += row_is(&rows->rows[i], "resource");
    }
    rows->resources = memory_new((n + 1) * sizeof rows->resources[0]);
    struct fleet_resource *last = NULL, unsound;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct fleet_row *row = &rows->rows[i];
        if (row_is(row, "resource")) {
            last = resource_row_is_sound(row) ? &rows->resources[rows->n_resources++] : &unsound;
            *last = (struct fleet_resource){.name = fleet_field(row, RESOURCE_NAME), .row = i};
        }
        if (last) {
            last->end = i + 1;
        }
    }
    qsort(rows->resources, rows->n_resources, sizeof rows->resources[0], resource_compare);
    size_t kept = 0;
    for (size_t i = 0; i < rows->n_resources; i++) {
        if (kept == 0 || strcmp(rows->resources[kept - 1].name, rows->resources[i].name) != 0) {
            rows->resources[kept++] = rows->resources[i];
        }
    }
    rows->n_resources = kept;
}

struct fleet_rows *fleet_rows_new(struct text *text)
{
    struct fleet_rows *rows = memory_new(sizeof *rows);
    size_t length = text->length;
    rows->text = text_take(text);
    const char *at = rows->text, *end = at + length;
    while (at < end) {
        struct fleet_row row;
        at = row_read(&row, at, end);
        if (row.n > 0) {
            rows->rows = memory_grow(rows->rows, rows->n_rows, sizeof row);
            rows->rows[rows->n_rows++] = row;
        }
    }
    rows->n_bytes = length + 2 * rows->n_rows * sizeof *rows->rows;
    find_resources(rows);
    return rows;
}

struct fleet_rows *fleet_rows_free(struct fleet_rows *rows)
{
    if (rows) {
        free(rows->resources);
        free(rows->rows);
        free(rows->text);
        free(rows);
    }
    return NULL;
}

const struct fleet_row *fleet_rows_next(
    const struct fleet_rows *rows, const char *word, size_t n, size_t *ip)
{
    while (*ip < rows->n_rows) {
        const struct fleet_row *row = &rows->rows[(*ip)++];
        if (row_is(row, word) && row->n >= n) {
            return row;
        }
    }
    return NULL;
}

/* The index of the first that is not before `name`. */
static size_t fleet_rows_place_of(const struct fleet_rows *rows, const char *name)
{
    size_t low = 0, high = rows->n_resources;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = strcmp(rows->resources[middle].name, name) < 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

static bool is_at(const struct fleet_rows *rows, size_t place, const char *name)
{
    return place < rows->n_resources && strcmp(rows->resources[place].name, name) == 0;
}

const struct fleet_resource *fleet_rows_find(const struct fleet_rows *rows, const char *name)
{
    size_t place = fleet_rows_place_of(rows, name);
    return is_at(rows, place, name) ? &rows->resources[place] : NULL;
}

const struct fleet_resource *fleet_rows_behind(const struct fleet_rows *rows, const char *name)
{
    size_t place = fleet_rows_place_of(rows, name);
    place += is_at(rows, place, name);
    return place < rows->n_resources ? &rows->resources[place] : NULL;
}

uint32_t fleet_rows_n_instances(const struct fleet_rows *rows, const char *template)
{
    char prefix[NAME_BYTES + 1];
    size_t n = strlen(template) - 1;
    memcpy(prefix, template, n);
    prefix[n] = '\0';
    uint32_t n_instances = 0;
    for (size_t i = fleet_rows_place_of(rows, prefix);
         i < rows->n_resources && strncmp(rows->resources[i].name, prefix, n) == 0; i++) {
        const struct fleet_row *row = &rows->rows[rows->resources[i].row];
        n_instances += strcmp(fleet_field(row, RESOURCE_DEFINITION), template) == 0 &&
            strcmp(fleet_field(row, RESOURCE_NAME), template) != 0;
    }
    return n_instances;
}

bool fleet_key_parse(const char *key, uint64_t *idp)
{
    size_t n = strspn(key, "0123456789abcdef");
    return n == SESSION_ID_SIZE - 1 && key[n] == '/' && lease_id_parse(key + n + 1, idp);
}

/* ---- words ---- */

const char *fleet_bounded(char room[static REASON_BYTES + 1], const char *value, size_t max)
{
    size_t n = value ? strnlen(value, max) : 0;
    if (n == 0 || n > REASON_BYTES) {
        return NULL;
    }
    memcpy(room, value, n);
    room[n] = '\0';
    return room;
}

const char *fleet_text(
    char room[static REASON_BYTES + 1], const char *value, size_t n, size_t max)
{
    char copy[3 * REASON_BYTES + 1];
    if (n >= sizeof copy) {
        return NULL;
    }
    memcpy(copy, value, n);
    copy[n] = '\0';
    return percent_decode(copy) ? fleet_bounded(room, copy, max) : NULL;
}

/* Cuts the next word off a list; NULL at the end. `size` is of `word`; a word that does not fit is
 * returned empty. */
const char *fleet_take_word(const char *list, char separator, char *word, size_t size)
{
    if (!list || *list == '\0') {
        return NULL;
    }
    const char *end = strchrnul(list, separator);
    size_t n = (size_t)(end - list);
    n = n < size ? n : 0;
    memcpy(word, list, n);
    word[n] = '\0';
    return *end ? end + 1 : end;
}

const char *fleet_info_find(const char *info, const char *key, size_t *lengthp)
{
    size_t n = strlen(key);
    for (const char *word = info; *word; word += strspn(word, " ")) {
        *lengthp = strcspn(word, " ");
        if (*lengthp > n && strncmp(word, key, n) == 0 && word[n] == '=') {
            *lengthp -= n + 1;
            return word + n + 1;
        }
        word += *lengthp;
    }
    return NULL;
}

uint64_t fleet_info_number(const char *info, const char *key, uint64_t max)
{
    char digits[24];
    size_t length;
    uint64_t number = 0;
    const char *value = fleet_info_find(info, key, &length);
    if (value && length < sizeof digits) {
        memcpy(digits, value, length);
        digits[length] = '\0';
        number_parse(digits, max, &number);
    }
    return number;
}

bool fleet_info_name(
    const char *info, const char *key, size_t i, char name[static NAME_BYTES + 1])
{
    size_t n;
    const char *names = fleet_info_find(info, key, &n);
    for (; names && i > 0; i--) {
        names += strcspn(names, ", ");
        names = *names == ',' ? names + 1 : NULL;
    }
    n = names ? strcspn(names, ", ") : 0;
    bool fits = n > 0 && n <= NAME_BYTES;
    memcpy(name, fits ? names : "", fits ? n : 0);
    name[fits ? n : 0] = '\0';
    return fits;
}

/* ---- units and leases ---- */

bool fleet_is_pool(const struct fleet_row *row)
{
    return strcmp(fleet_field(row, RESOURCE_KIND), "pool") == 0;
}

bool fleet_has_unit(
    const struct fleet_rows *rows, const struct fleet_resource *resource, const char *unit)
{
    const struct fleet_row *row = &rows->rows[resource->row];
    uint64_t slot, limit;
    char word[ITEM_BYTES + 1];
    if (!fleet_is_pool(row)) {
        fleet_number(row, RESOURCE_LIMIT, FLEET_NUMBER_MAX, &limit);
        return number_parse(unit, FLEET_NUMBER_MAX, &slot) && slot < limit;
    }
    for (const char *rest = fleet_field(row, RESOURCE_ITEMS);
         (rest = fleet_take_word(rest, ',', word, sizeof word));) {
        if (strcmp(word, unit) == 0) {
            return true;
        }
    }
    return false;
}

enum fleet_lease fleet_row_kind(const struct fleet_row *row, const struct fleet_resource *resource)
{
    uint64_t id, uid;
    enum fleet_lease kind = FLEET_NEITHER;
    if (row_is(row, "holder") && row->n >= N_HOLDER_FIELDS) {
        kind = FLEET_HOLDER;
    } else if (row_is(row, "waiter") && row->n >= N_WAITER_FIELDS) {
        kind = FLEET_WAITER;
    }
    bool is_sound = strcmp(fleet_field(row, ROW_NAME), resource->name) == 0 &&
        fleet_key_parse(fleet_field(row, ROW_KEY), &id) &&
        fleet_number(row, ROW_UID, UINT32_MAX, &uid);
    return is_sound ? kind : FLEET_NEITHER;
}

size_t fleet_first_waiter(const struct fleet_rows *rows, const struct fleet_resource *resource)
{
    size_t low = resource->row + 1, high = resource->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = row_is(&rows->rows[middle], "holder");
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

/* ---- holders of a unit ---- */

static bool has_unit(const struct fleet_row *row, const char *unit, bool is_pool)
{
    char word[ITEM_BYTES + 1];
    uint64_t slot, first, last;
    bool is_slot = !is_pool && number_parse(unit, FLEET_NUMBER_MAX, &slot);
    for (const char *rest = fleet_field(row, HOLDER_UNITS);
         (rest = fleet_take_word(rest, ',', word, sizeof word));) {
        bool is_in = is_slot
            ? range_parse(word, strlen(word), FLEET_NUMBER_MAX, &first, &last) &&
                first <= slot && slot <= last
            : strcmp(word, unit) == 0;
        if (is_in) {
            return true;
        }
    }
    return false;
}

const struct fleet_row *fleet_find_holder(
    const struct fleet_rows *rows, const struct fleet_resource *resource, const char *unit)
{
    bool is_pool = fleet_is_pool(&rows->rows[resource->row]);
    for (size_t i = resource->row + 1; i < resource->end; i++) {
        const struct fleet_row *row = &rows->rows[i];
        if (fleet_row_kind(row, resource) == FLEET_HOLDER && has_unit(row, unit, is_pool)) {
            return row;
        }
    }
    return NULL;
}
