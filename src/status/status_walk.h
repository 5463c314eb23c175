/* status_walk.h - resources, each with its leases, and then templates, as lines, piece by piece:
 * the rest of the answer to `status`, and the snapshot of one who follows. Pure. */
#pragma once

#include "status/lease_row.h"
#include "status/long_answer.h"
#include "wire/protocol.h"

/* The figures of this host, for the first line. */
struct status host_figures_of(struct core *core, nanoseconds now);
/* The line begins with that word. */
void host_figures_write(struct text *out, const char *word, const struct status *figures);

/* ---- which resources a request asks for ---- */

/* {0}: all there are. */
struct asked_names {
    char *names[MAX_ARGUMENTS]; /* names, which are to be shown first, then patterns; owned */
    size_t n_names, n;
};

/* Copies the words: at most MAX_ARGUMENTS valid names, and patterns, which have stars. */
void asked_names_init(struct asked_names *asked, const char *const words[], size_t n);
void asked_names_deinit(struct asked_names *asked);
/* Whether that one is asked for. */
bool asked_names_has(const struct asked_names *asked, const char *name);
/* Whether all there are have to be looked at, behind the names. */
bool asked_names_search(const struct asked_names *asked);

/* ---- the walk ---- */

struct walk_source {
    struct core *core;
    bool follows; /* to one who follows */
    uint8_t n_databases;
    void *context;
    /* Sets the scene's members of that database. */
    void (*set_database)(void *context, uint8_t database, struct scene *scene);
};

struct status_walk {
    const struct walk_source *source;
    struct asked_names asked; /* owned */
    uint64_t only; /* the only waiter to show; 0: all */

    /* In this order: */
    size_t next_name; /* of those asked for */
    bool of_all; /* then of all there are */
    struct core_cursor cursor; /* while .of_all */
    uint8_t next_database; /* whose instances are shown that only other hosts use */
    char after[NAME_BYTES + 1]; /* the last of these; "": none yet */
    size_t next_template; /* place in the file */

    struct lease_walk leases; /* of the resource that came last */
    uint8_t database; /* of that resource; 0: host scope */
};

/* Of these names and patterns, which are copied; n = 0: of all. `only` is as in a lease_walk. All
 * that the source points to must outlive the walk. */
void status_walk_begin(struct status_walk *walk, const struct walk_source *source,
    const char *const names[], size_t n, uint64_t only);
/* At any time; {0} has ended. */
void status_walk_end(struct status_walk *walk);
/* Adds lines until `out` has `enough`, or much has been looked at. False: that was all. */
bool status_walk_continue(struct status_walk *walk, const struct answer_moment *moment,
    struct text *out, size_t enough);

struct scene scene_of(
    const struct walk_source *source, const struct answer_moment *moment, uint8_t database);
