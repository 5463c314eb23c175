#include "journal/history_entry.h"

#include <string.h>

enum { WORD_SIZE = 21 };

/* As in the file. Behind it the record, then the texts, each with a NUL. */
struct stored {
    uint64_t lease;
    int64_t ended_at;
    uint32_t uid, login, by, by_login;
    uint32_t record_length;
    uint16_t hiding;
    uint8_t kind, users, status, number; /* bit 3 of .users: .was_unseen */
    uint8_t texts; /* which there are: bit 1 << index of text_of() */
    char how[WORD_SIZE]; /* cut if it is longer; filled up with NULs, of which there is one */
    char bytes[];
};

_Static_assert(sizeof(struct stored) == offsetof(struct stored, bytes), "no padding");

enum { N_TEXTS = 3 };

static const size_t text_offsets[N_TEXTS] = {
    offsetof(struct history_entry, why),
    offsetof(struct history_entry, origin.cgroup),
    offsetof(struct history_entry, origin.args),
};

static inline const char **text_of(const struct history_entry *entry, size_t i)
{
    return (void *)((uintptr_t)entry + text_offsets[i]);
}

size_t history_entry_size(const struct history_entry *entry)
{
    size_t size = sizeof(struct stored) + entry->record_length;
#pragma GCC unroll 3
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = *text_of(entry, i);
        size += text ? strlen(text) + 1 : 0;
    }
    return size;
}

void history_entry_write(const struct history_entry *entry, void *room)
{
    struct stored *stored = room;
    *stored = (struct stored){
        .lease = entry->lease,
        .ended_at = entry->ended_at,
        .uid = entry->uid,
        .login = entry->origin.login,
        .by = entry->by.uid,
        .by_login = entry->by.login,
        .record_length = (uint32_t)entry->record_length,
        .hiding = entry->hiding,
        .kind = (uint8_t)entry->kind,
        .users = (uint8_t)(entry->origin.has_login | entry->by.is_known << 1 |
            entry->by.has_login << 2 | entry->was_unseen << 3),
        .status = (uint8_t)entry->status,
        .number = entry->number,
    };
    if (entry->how) {
        strncpy(stored->how, entry->how, sizeof stored->how - 1);
    }
    char *next = stored->bytes;
    if (entry->record_length > 0) {
        memcpy(next, entry->record, entry->record_length);
        next += entry->record_length;
    }
#pragma GCC unroll 3
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = *text_of(entry, i);
        if (text) {
            stored->texts |= (uint8_t)(1U << i);
            next = stpcpy(next, text) + 1;
        }
    }
}

bool history_entry_read(struct history_entry *entry, const void *bytes, size_t n)
{
    const struct stored *stored = bytes;
    if (n < sizeof *stored || stored->record_length > n - sizeof *stored ||
        stored->how[WORD_SIZE - 1] != '\0' ||
        (stored->kind != HISTORY_ENDED && stored->kind != HISTORY_DID) ||
        stored->status > HISTORY_SIGNALLED) {
        return false;
    }
    *entry = (struct history_entry){
        .kind = (enum history_kind)stored->kind,
        .lease = stored->lease,
        .ended_at = stored->ended_at,
        .uid = stored->uid,
        .hiding = stored->hiding,
        .how = stored->how,
        .status = (enum history_status)stored->status,
        .number = stored->number,
        .origin = {.has_login = (stored->users & 1) != 0, .login = stored->login},
        .by = {.is_known = (stored->users & 2) != 0,
            .uid = stored->by,
            .has_login = (stored->users & 4) != 0,
            .login = stored->by_login},
        .was_unseen = (stored->users & 8) != 0,
        .record = stored->bytes,
        .record_length = stored->record_length,
    };
    const char *next = stored->bytes + stored->record_length;
    const char *end = (const char *)bytes + n;
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (stored->texts & 1U << i) {
            const char *nul = memchr(next, '\0', (size_t)(end - next));
            if (!nul) {
                return false;
            }
            *text_of(entry, i) = next;
            next = nul + 1;
        }
    }
    return true;
}

/* ---- what operators did: the record has these, each with a NUL; "" stands for NULL ---- */

enum { N_DID_TEXTS = 6 };

static const size_t did_offsets[N_DID_TEXTS] = {
    offsetof(struct did, resource),
    offsetof(struct did, target),
    offsetof(struct did, old),
    offsetof(struct did, new),
    offsetof(struct did, host),
    offsetof(struct did, others),
};

struct history_entry did_entry(const struct did *did, nanoseconds at, struct text *record)
{
    for (size_t i = 0; i < N_DID_TEXTS; i++) {
        const char *text = *(const char *const *)((uintptr_t)did + did_offsets[i]);
        text_add_bytes(record, text ? text : "", text ? strlen(text) + 1 : 1);
    }
    return (struct history_entry){
        .kind = HISTORY_DID,
        .ended_at = at,
        .hiding = did->hiding,
        .how = did->verb,
        .by = did->by,
        .why = did->reason,
        .record = record->bytes,
        .record_length = record->length,
    };
}

bool did_read(struct did *did, const struct history_entry *entry)
{
    const char *next = entry->record, *end = next + entry->record_length;
    *did = (struct did){
        .verb = entry->how, .hiding = entry->hiding, .by = entry->by, .reason = entry->why};
    for (size_t i = 0; entry->kind == HISTORY_DID && i < N_DID_TEXTS; i++) {
        const char *nul = memchr(next, '\0', (size_t)(end - next));
        if (!nul) {
            return false;
        }
        *(const char **)((uintptr_t)did + did_offsets[i]) = *next ? next : NULL;
        next = nul + 1;
    }
    return entry->kind == HISTORY_DID;
}
