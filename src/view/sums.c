#include "view/sums.h"

#include "base/memory.h"
#include "base/words.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* ---- figures ---- */

static void add_unit_time(struct figures *figures, const struct optional *unit_time)
{
    figures->unit_time.is_given &= unit_time->is_given;
    figures->unit_time.number = capped_sum(figures->unit_time.number, unit_time->number);
}

void figures_merge(struct figures *into, const struct figures *from)
{
    into->n_leases = capped_sum(into->n_leases, from->n_leases);
    into->n_refused = capped_sum(into->n_refused, from->n_refused);
    into->n_waiting = capped_sum(into->n_waiting, from->n_waiting);
    spread_merge(&into->waits, &from->waits);
    spread_merge(&into->holds, &from->holds);
    add_unit_time(into, &from->unit_time);
}

void figures_deinit(struct figures *figures)
{
    spread_deinit(&figures->waits);
    spread_deinit(&figures->holds);
}

/* ---- rows ---- */

static uint64_t sums_hash(const char *name, const char *database, uint64_t uid)
{
    return hash_name(name) ^ hash_name(database) * 3 ^ hash_number(uid);
}

static struct sums_row *find_row(
    struct sums *sums, const char *name, const char *database, uint64_t uid)
{
    uint64_t hash = sums_hash(name, database, uid);
    struct table_node *node = table_find(&sums->rows, hash);
    for (; node; node = table_find_next(node)) {
        struct sums_row *row = container_of(node, struct sums_row, node);
        if (row->uid == uid && strcmp(row->name, name) == 0 &&
            strcmp(row->database, database) == 0) {
            return row;
        }
    }
    struct sums_row *row = memory_new(sizeof *row);
    row->name = memory_string(name);
    row->database = memory_string(database);
    row->uid = uid;
    row->figures.unit_time.is_given = true;
    table_insert(&sums->rows, &row->node, hash);
    return row;
}

static void free_row(struct sums *sums, struct sums_row *row)
{
    table_remove(&sums->rows, &row->node);
    figures_deinit(&row->figures);
    free(row->name);
    free(row->database);
    free(row);
}

static int by_name_and_uid(const void *left, const void *right)
{
    const struct sums_row *a = *(const struct sums_row *const *)left,
                           *b = *(const struct sums_row *const *)right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->uid > b->uid) - (a->uid < b->uid);
}

size_t sums_list(const struct sums *sums, const struct sums_row ***listp)
{
    const struct sums_row **list = memory_resize(NULL, sums->rows.n + 1, sizeof *list);
    size_t n = 0;
    uint64_t cursor = 0;
    do {
        const struct table_node *node = table_walk(&sums->rows, &cursor);
        for (; node; node = node->next) {
            list[n++] = container_of(node, struct sums_row, node);
        }
    } while (cursor != 0);
    qsort(list, n, sizeof *list, by_name_and_uid);
    *listp = list;
    return n;
}

void sums_forget(struct sums *sums, const char *database)
{
    const struct sums_row **rows;
    size_t n = sums_list(sums, &rows);
    for (size_t i = 0; i < n; i++) {
        if (!database || strcmp(rows[i]->database, database) == 0) {
            free_row(sums, (struct sums_row *)rows[i]);
        }
    }
    free(rows);
}

void sums_merge(struct sums *into, const struct sums *from)
{
    const struct sums_row **rows;
    size_t n = sums_list(from, &rows);
    for (size_t i = 0; i < n; i++) {
        struct sums_row *row = find_row(into, rows[i]->name, rows[i]->database, rows[i]->uid);
        figures_merge(&row->figures, &rows[i]->figures);
    }
    free(rows);
}

void sums_deinit(struct sums *sums)
{
    sums_forget(sums, NULL);
    table_deinit(&sums->rows);
    *sums = (struct sums){0};
}

/* ---- counting ---- */

/* For how long it was held in the span. */
static uint64_t held_in_span(const struct sums *sums, const struct sums_entry *entry)
{
    uint64_t granted = entry->ended > entry->held ? entry->ended - entry->held : 0;
    uint64_t from = granted > sums->from ? granted : sums->from;
    uint64_t to = entry->ended < sums->to ? entry->ended : sums->to;
    return entry->held > 0 && to > from ? to - from : 0;
}

static struct optional unit_time_of(const struct optional *units, uint64_t held)
{
    bool fits = held == 0 || units->number <= INT64_MAX / held;
    return (struct optional){
        held == 0 || (units->is_given && fits), fits ? units->number * held : 0};
}

static void count_entry(struct figures *figures, const struct sums_entry *entry)
{
    bool was_granted = entry->kind == SUMS_LEASE;
    figures->n_leases += was_granted;
    figures->n_refused += entry->kind == SUMS_REFUSED;
    figures->n_waiting += entry->kind == SUMS_WAITING;
    if (entry->kind != SUMS_HELD) {
        spread_add(&figures->waits, entry->waited);
    }
    if (was_granted) {
        spread_add(&figures->holds, entry->held);
    }
}

void sums_add(struct sums *sums, const struct sums_entry *entry,
    const struct sums_claim claims[], size_t n)
{
    uint64_t held = held_in_span(sums, entry);
    const char *database = entry->database ? entry->database : "";
    struct sums_row *all = n > 0 ? find_row(sums, SUMS_ALL, database, entry->uid) : NULL;
    for (size_t i = 0; i < n; i++) {
        struct sums_row *row = find_row(sums, claims[i].name, database, entry->uid);
        const struct optional unit_time = unit_time_of(&claims[i].units, held);
        count_entry(&row->figures, entry);
        add_unit_time(&row->figures, &unit_time);
        add_unit_time(&all->figures, &unit_time);
    }
    if (all) {
        count_entry(&all->figures, entry);
    }
}

/* ---- as lines ---- */

/* What a line says besides its name. */
struct figures_line {
    struct figures figures;
    uint64_t uid;
    const char *waits, *holds, *database;
};

#define FIGURE(key_, type_, member)                                                                \
    {                                                                                              \
        .key = key_, .type = type_, .offset = offsetof(struct figures_line, member)                \
    }

static const struct field figures_fields[] = {
    FIGURE("uid", FIELD_NUMBER, uid),
    FIGURE("database", FIELD_TEXT, database),
    FIGURE("leases", FIELD_NUMBER, figures.n_leases),
    FIGURE("refused", FIELD_NUMBER, figures.n_refused),
    FIGURE("unit_time", FIELD_OPTIONAL, figures.unit_time),
    FIGURE("wait_sum", FIELD_NUMBER, figures.waits.sum),
    FIGURE("wait_longest", FIELD_NUMBER, figures.waits.longest),
    FIGURE("waits", FIELD_TEXT, waits),
    FIGURE("hold_sum", FIELD_NUMBER, figures.holds.sum),
    FIGURE("hold_longest", FIELD_NUMBER, figures.holds.longest),
    FIGURE("holds", FIELD_TEXT, holds),
    {0},
};

enum { ROOM_OF_BUCKETS = (LINE_BYTES - 1024) / 2 }; /* the rest is for a name and numbers */

static unsigned add_spread(struct text *out, const char *key, const struct spread *spread,
    unsigned first)
{
    if (spread->n == 0 || first == SPREAD_BUCKETS) {
        return SPREAD_BUCKETS;
    }
    text_add_format(out, " %s_sum=%llu %s_longest=%llu %ss=", key,
        (unsigned long long)(first == 0 ? spread->sum : 0), key,
        (unsigned long long)spread->longest, key);
    return spread_write(spread, first, ROOM_OF_BUCKETS, out);
}

/* What does not fit on one line is on the next: they are added up. */
static void write_row(const struct sums_row *row, struct text *out)
{
    const struct figures *figures = &row->figures;
    unsigned wait = 0, hold = 0;
    do {
        bool is_first = wait == 0 && hold == 0;
        text_add(out, "figures ");
        text_add(out, row->name);
        text_add_number_key(out, "uid", row->uid);
        text_add_key(out, "database", row->database[0] ? row->database : NULL);
        text_add_number_key(out, "leases", is_first ? figures->n_leases : 0);
        text_add_number_key(out, "refused", is_first ? figures->n_refused : 0);
        if (figures->unit_time.is_given) {
            text_add_number_key(out, "unit_time", is_first ? figures->unit_time.number : 0);
        }
        wait = add_spread(out, "wait", &figures->waits, wait);
        hold = add_spread(out, "hold", &figures->holds, hold);
        text_add(out, "\n");
    } while (wait < SPREAD_BUCKETS || hold < SPREAD_BUCKETS);
}

void sums_write_some(const struct sums *sums, uint64_t *cursorp, struct text *out)
{
    const struct table_node *node = table_walk(&sums->rows, cursorp);
    for (; node; node = node->next) {
        write_row(container_of(node, const struct sums_row, node), out);
    }
}

bool sums_take(struct sums *sums, char *line)
{
    struct figures_line said = {.database = ""};
    const char *name;
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    bool is_good = line_take(figures_fields, words, n, &name, &said) &&
        spread_read(&said.figures.waits, (char *)said.waits) &&
        spread_read(&said.figures.holds, (char *)said.holds);
    if (is_good) {
        figures_merge(&find_row(sums, name, said.database, said.uid)->figures, &said.figures);
    }
    figures_deinit(&said.figures);
    return is_good;
}
