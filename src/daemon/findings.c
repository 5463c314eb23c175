#include "daemon/findings.h"

#include "base/memory.h"
#include "database/fleet_journal.h"
#include "job/process.h"
#include "record/history.h"
#include "record/ledger.h"

#include <stdlib.h>
#include <string.h>

static void add_found(struct findings *findings, struct found found)
{
    findings->list = memory_grow(findings->list, findings->n, sizeof *findings->list);
    findings->list[findings->n++] = found;
}

void findings_add(void *context, uint32_t slot, const char *bytes, size_t length)
{
    struct findings *findings = context;
    struct found found = {.slot = slot};
    enum record_kind kind = record_kind(bytes, length);
    if (kind == RECORD_LEASE) {
        found.saved = record_read(bytes, length);
    } else if (fleet_is_tenure(bytes, length) && fleet_tenure_can_be_read(bytes, length)) {
        found.tenure = memory_new(length + 1);
        memcpy(found.tenure, bytes, length);
    }
    if (found.saved || found.tenure) {
        add_found(findings, found);
    } else if (record_read_numbers(bytes, length, &findings->numbers)) {
        findings->numbers_slot = slot;
    } else {
        findings->has_unreadable |=
            kind == RECORD_MUST_UNDERSTAND || fleet_is_tenure(bytes, length);
        findings->has_nonsense |= kind == RECORD_LEASE || kind == RECORD_NONSENSE;
    }
}

void findings_deinit(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        record_free(findings->list[i].saved);
        free(findings->list[i].tenure);
    }
    free(findings->list);
}

/* Tenures, then holders in the order of their grants, then waiters. */
static int compare_for_restore(const void *a, const void *b)
{
    const struct found *found = a, *other = b;
    const struct saved_lease *x = found->saved;
    const struct saved_lease *y = other->saved;
    if (found->tenure || other->tenure) {
        return !found->tenure - !other->tenure;
    }
    if (x->is_held != y->is_held) {
        return x->is_held ? -1 : 1;
    }
    if (x->is_held && x->granted_at != y->granted_at) {
        return x->granted_at < y->granted_at ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* By lease, behind tenures. */
static int compare_ids(const void *a, const void *b)
{
    const struct found *found = a, *other = b;
    const struct saved_lease *x = found->saved, *y = other->saved;
    return !x || !y ? !y - !x : (x->id > y->id) - (x->id < y->id);
}

/* First the record that says that its units rest, or else that it is held. */
static int compare_leases(const void *a, const void *b)
{
    const struct found *found = a, *other = b;
    const struct saved_lease *x = found->saved, *y = other->saved;
    int order = compare_ids(found, other);
    if (order != 0 || !x) {
        return order;
    }
    bool x_rests = x->rested_at != 0, y_rests = y->rested_at != 0;
    return x_rests != y_rests ? y_rests - x_rests : y->is_held - x->is_held;
}

/* A berthd killed between the two writes of a record that moves leaves two of one lease. */
static void erase_second_records(struct server *server, struct findings *findings)
{
    size_t n = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct found found = findings->list[i];
        const struct saved_lease *before = n > 0 ? findings->list[n - 1].saved : NULL;
        if (!before || !found.saved || before->id != found.saved->id) {
            findings->list[n++] = found;
            continue;
        }
        if (found.slot != RECORD_NONE) {
            ledger_give_back(&server->ledger, found.slot);
        }
        record_free(found.saved);
    }
    findings->n = n;
}

/* They are sorted by lease. */
static struct found *find_lease(const struct findings *findings, uint64_t id)
{
    struct saved_lease wanted = {.id = id};
    return bsearch(&(struct found){.saved = &wanted}, findings->list, findings->n,
        sizeof *findings->list, compare_ids);
}

/* ---- which of them have ended ---- */

/* A berthd that was killed before it erased the record of a lease whose end it had written has told
 * nobody; and so may others after it, as they came back. */
static void find_ends(const struct server *server, const struct findings *findings)
{
    struct history_entry entry;
    uint64_t position = 0;
    while (history_next(server->history, &position, &entry)) {
        struct found *found =
            entry.kind == HISTORY_ENDED ? find_lease(findings, entry.lease) : NULL;
        if (found && found->saved->rested_at == 0) {
            found->saved->rested_at = entry.ended_at;
            found->is_over = true;
        }
    }
}

/* ---- which of them have shares ---- */

static bool keeps_what_it_shares(const struct found *found)
{
    const struct saved_lease *saved = found->saved;
    return saved->is_held && saved->rested_at == 0 &&
        (found->has_shares || !saved_ended_unreleased(saved) || saved_is_being_stopped(saved));
}

static bool is_share(const struct found *found)
{
    bool is = false;
    for (size_t i = 0; found->saved && i < found->saved->n_claims; i++) {
        is |= found->saved->claims[i].sharer != 0;
    }
    return is;
}

/* What is shared has a smaller id than what shares it. */
static void find_shares(struct findings *findings)
{
    for (size_t i = findings->n; i-- > 0;) {
        const struct found *found = &findings->list[i];
        bool keeps = is_share(found) && keeps_what_it_shares(found);
        for (size_t k = 0; keeps && k < found->saved->n_claims; k++) {
            struct found *shared = find_lease(findings, found->saved->claims[k].sharer);
            if (shared) {
                shared->has_shares = true;
            }
        }
    }
}

/* ---- in order ---- */

void findings_sort(struct server *server, struct findings *findings)
{
    if (findings->n > 0) {
        qsort(findings->list, findings->n, sizeof *findings->list, compare_leases);
        erase_second_records(server, findings);
        find_ends(server, findings);
        find_shares(findings);
        qsort(findings->list, findings->n, sizeof *findings->list, compare_for_restore);
    }
}

/* ---- which of them are over ---- */

bool saved_ended_unreleased(const struct saved_lease *saved)
{
    return saved->binding == BOUND_PROCESS && !process_is_alive(&saved->process) &&
        !process_is_alive(&saved->wrapper);
}

bool saved_is_being_stopped(const struct saved_lease *saved)
{
    bool has_job = saved->attributes.signal != 0;
    return saved->stopping != OUTCOME_OK && has_job && saved_ended_unreleased(saved);
}
