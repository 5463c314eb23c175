/* findings.h - what the journal of an earlier berthd has, in the order in which it comes back. */
#pragma once

#include "admission/server.h"
#include "journal/record.h"

struct found {
    struct saved_lease *saved; /* or NULL, and */
    bool is_over; /* by the history, which has given .saved.rested_at */
    bool has_shares; /* of its units: one that may still run, or is being stopped, uses them */
    char *tenure; /* a database's tenure; owned */
    uint32_t slot;
};

struct findings {
    struct found *list;
    size_t n;
    bool has_nonsense; /* a record with a good checksum that makes no sense */
    uint32_t numbers_slot; /* RECORD_NONE: no record says */
    struct record_numbers numbers; /* what that says */
    bool has_unreadable; /* a later version's record that must not be ignored */
};

/* A record of the journal: the function for journal_open(). One that cannot be read stays where it
 * is: a later version may need it. */
void findings_add(void *context, uint32_t slot, const char *bytes, size_t length);
/* Tenures, then holders in the order of their grants, then waiters; each lease once. */
void findings_sort(struct server *server, struct findings *findings);
void findings_deinit(struct findings *findings);

/* Its processes are gone. */
bool saved_ended_unreleased(const struct saved_lease *saved);
/* Its main process is dead, but the client that stops the rest of the job may be about to come
 * back. */
bool saved_is_being_stopped(const struct saved_lease *saved);
