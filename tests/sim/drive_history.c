/* drive_history.c - the history that berthd keeps, in a file that outlives each core, against the
 * model's. */
#include "drive_internal.h"

#include "journal/record.h"
#include "status/answer_lines.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RING_BYTES = 256 * 1024 };

/* ---- the file ---- */

static char directory[PATH_MAX];

static void remove_directory(void)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/s.history", directory);
    unlink(path);
    rmdir(directory);
}

static void make_directory(void)
{
    const char *parent = getenv("TMPDIR");
    unsetenv("RUNTIME_DIRECTORY");
    snprintf(directory, sizeof directory, "%s/berth-sim-XXXXXX", parent ? parent : "/tmp");
    REQUIRE(mkdtemp(directory), "no directory like %s", directory);
    atexit(remove_directory);
}

static void open_it(struct simulation *simulation, size_t size)
{
    char socket[PATH_MAX + 16];
    snprintf(socket, sizeof socket, "%s/s", directory);
    history_begin(&simulation->history, socket, "boot", size);
    REQUIRE(simulation->history.ring.error == 0, "no file for the history in %s", directory);
}

void histories_begin(struct simulation *simulation)
{
    if (directory[0] == '\0') {
        make_directory();
    }
    open_it(simulation, 0); /* without the entries of another run */
    history_end(&simulation->history);
    open_it(simulation, RING_BYTES);
}

/* As a SIGKILL leaves it. */
void histories_restart(struct simulation *simulation)
{
    history_end(&simulation->history);
    open_it(simulation, RING_BYTES);
}

void histories_free(struct simulation *simulation)
{
    history_end(&simulation->history);
    free(simulation->told);
}

/* ---- what is said of a lease ---- */

static struct told *told_of(struct simulation *simulation, uint64_t id)
{
    for (size_t i = simulation->n_told; i-- > 0;) {
        if (simulation->told[i].id == id) {
            return &simulation->told[i];
        }
    }
    simulation->told =
        realloc(simulation->told, (simulation->n_told + 1) * sizeof *simulation->told);
    simulation->told[simulation->n_told] = (struct told){.id = id};
    return &simulation->told[simulation->n_told++];
}

/* Its number may come again, if the state is lost. */
static void forget_told(struct simulation *simulation, struct told *told)
{
    *told = simulation->told[--simulation->n_told];
}

void histories_taken(struct simulation *simulation, uint64_t id)
{
    struct told *told = told_of(simulation, id);
    const struct actor by = {
        .is_known = true, .uid = ++told->n_taken * 1000 + (uint32_t)(id % 1000)};
    lease_note_taker(core_find_lease(simulation->core, id), &by, "why");
}

void histories_told(struct simulation *simulation, uint64_t id)
{
    told_of(simulation, id)->has_status = true;
    struct lease *lease = core_find_lease(simulation->core, id);
    lease->job_end = HISTORY_EXITED;
    lease->job_status = (uint8_t)(id % (UINT8_MAX + 1));
}

/* ---- entries ---- */

void histories_ended(struct simulation *simulation, const struct lease *lease)
{
    const char *text = lease->record != 0 ? simulation->records[lease->record - 1].text : NULL;
    history_ended(&simulation->history, lease, text, text ? strlen(text) : 0);
}

void histories_gone(
    struct simulation *simulation, const struct record *record, const struct earlier_end *end)
{
    history_add_earlier(&simulation->history, simulation->core, record->saved, end, record->text,
        strlen(record->text));
}

/* ---- against the model ---- */

static void compare_claims(
    const struct saved_lease *lease, const struct model_ended *expected, bool held)
{
    REQUIRE(lease->n_claims == expected->n_claims, "%zu resources", lease->n_claims);
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct saved_claim *claim = &lease->claims[i];
        REQUIRE(strcmp(claim->name, expected->claims[i].name) == 0, "on %s", claim->name);
        REQUIRE(claim->count == expected->claims[i].count, "%u of %s", claim->count, claim->name);
        for (uint32_t k = 0; held && k < claim->count; k++) {
            const struct saved_unit *unit = &claim->units[k];
            uint32_t number = unit->item ? (uint32_t)atoi(unit->item + 1) : unit->slot;
            REQUIRE(memchr(expected->claims[i].units, (int)number, claim->count), "unit %u of %s",
                number, claim->name);
        }
    }
}

static void compare_entry(struct simulation *simulation, const struct history_entry *entry,
    const struct model_ended *expected)
{
    struct saved_lease *lease = record_read(entry->record, entry->record_length);
    struct told *told = told_of(simulation, entry->lease);
    uint32_t by = told->n_taken * 1000 + (uint32_t)(entry->lease % 1000);
    REQUIRE(lease && lease->id == entry->lease, "the record of %ju is not its own: %.*s",
        entry->lease, (int)entry->record_length, entry->record);
    bool is_gone = expected->why == OUTCOME_RELEASED && expected->deserted;
    const char *how = is_gone ? HISTORY_GONE : code_table[outcome_code(expected->why)].word;
    REQUIRE(strcmp(entry->how, how) == 0, "%ju: %s, not %s", entry->lease, entry->how, how);
    REQUIRE(entry->was_unseen == expected->unseen, "%ju unseen", entry->lease);
    REQUIRE(entry->uid == expected->uid && lease->uid == expected->uid, "uid %u", entry->uid);
    REQUIRE(lease->is_held == expected->held, "%ju was held: %d", entry->lease, lease->is_held);
    REQUIRE(entry->ended_at == expected->ended_at && lease->asked_at == expected->asked_at &&
            (!lease->is_held || lease->granted_at == expected->granted_at),
        "the times of %ju", entry->lease);
    REQUIRE(entry->by.is_known == (told->n_taken > 0) &&
            (!entry->by.is_known || (entry->by.uid == by && strcmp(entry->why, "why") == 0)),
        "%ju was taken by %u, not by %u", entry->lease, entry->by.uid, by);
    REQUIRE((entry->status == HISTORY_EXITED) == told->has_status &&
            (!told->has_status || entry->number == entry->lease % (UINT8_MAX + 1)),
        "how the job of %ju ended", entry->lease);
    compare_claims(lease, expected, lease->is_held);
    forget_told(simulation, told);
    record_free(lease);
}

/* The next entry about an end. */
static bool next_end(
    const struct history_ring *ring, uint64_t *positionp, struct history_entry *entry)
{
    const void *bytes;
    size_t n;
    while (history_ring_next(ring, positionp, &bytes, &n)) {
        REQUIRE(history_entry_read(entry, bytes, n), "an entry cannot be read");
        if (entry->kind == HISTORY_ENDED) {
            return true;
        }
    }
    return false;
}

static const struct model_ended *take_expected(struct model *model, uint64_t id)
{
    for (size_t i = model->n_ended_seen; i < model->n_ended; i++) {
        if (model->ended[i].id == id) {
            struct model_ended found = model->ended[i];
            model->ended[i] = model->ended[model->n_ended_seen];
            model->ended[model->n_ended_seen] = found;
            return &model->ended[model->n_ended_seen++];
        }
    }
    fail("lease %ju is in the history, and has not ended", id);
}

/* What has ended in this step, whatever the order. */
void histories_compare(struct simulation *simulation)
{
    struct model *model = simulation->model;
    struct history_entry entry;
    while (next_end(&simulation->history.ring, &simulation->position, &entry)) {
        compare_entry(simulation, &entry, take_expected(model, entry.lease));
    }
    REQUIRE(model->n_ended_seen == model->n_ended, "lease %ju has ended, and is not in the history",
        model->ended[model->n_ended_seen].id);
}

void histories_ready(struct simulation *simulation)
{
    histories_compare(simulation);
    for (size_t i = simulation->n_told; i-- > 0;) {
        if (!core_find_lease(simulation->core, simulation->told[i].id)) {
            forget_told(simulation, &simulation->told[i]);
        }
    }
}

/* After a restart: the entries are the last that were there, in their order. */
void histories_compare_all(struct simulation *simulation)
{
    const struct model *model = simulation->model;
    struct history_entry entry;
    uint64_t position = 0, counted = 0;
    while (next_end(&simulation->history.ring, &position, &entry)) {
        counted++;
    }
    REQUIRE(counted <= model->n_ended && (counted == model->n_ended || counted > 100),
        "%ju entries after a restart, of %zu", counted, model->n_ended);
    position = 0;
    for (size_t i = model->n_ended - counted; i < model->n_ended; i++) {
        next_end(&simulation->history.ring, &position, &entry);
        REQUIRE(entry.lease == model->ended[i].id, "lease %ju is where %ju was", entry.lease,
            model->ended[i].id);
    }
}
