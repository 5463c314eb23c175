/* asking.h - requests that show what databases say: these are asked for their views, one after the
 * other, and the connection is parked until all have answered. */
#pragma once

#include "admission/user_names.h"
#include "database/fleet_views.h"
#include "wire/protocol.h"

struct asking;
struct call;
struct lease;
struct long_answer;
struct scene;
struct server;

/* The greatest age of what a database has said where many ask for the same: who waits in one queue,
 * or scrapes. */
#define ASKING_OLD_ENOUGH NANOSECONDS_PER_SECOND

/* In place of a number of names. */
#define NOT_ASKED SIZE_MAX

struct asking_kind {
    /* What to ask that database for: the number of names, 0 for everything, or NOT_ASKED. */
    size_t (*names)(
        const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS]);
    /* All have been asked: answers. False: it is to be called again when the users whom the answer
     * names are known. That must not be if .is_late. */
    bool (*answer)(struct conn *conn, struct asking *asking);
    void (*deinit)(struct asking *asking); /* of what else it is the beginning of; or NULL */
};

/* What a database has said. */
struct asked_part {
    struct view *view; /* with rows; or NULL */
    const char *why; /* why there is none, a word for `database_state`: set before, or NULL */
};

/* The beginning of what the request needs until it is answered. Zero but for .kind and .age. */
struct asking {
    const struct asking_kind *kind;
    struct view_asker asker;
    struct names_waiter names_waiter;
    struct asked_part parts[MAX_DATABASES + 1]; /* by definition.database */
    nanoseconds age; /* how old the views may be */
    uint8_t database; /* the one being asked; those before have been */
    bool is_late; /* there is no time to ask anybody any more */
    struct long_answer *rest; /* set by answer(): owns the asking from then on */
};

/* How old what is said of a lease that waits may be: no older than its request. */
nanoseconds asking_age(const struct lease *lease, nanoseconds now);
/* Answers, or parks the connection. Takes the asking over. */
void asking_begin(struct call *call, struct asking *asking);
/* Sets the scene's members of that database. */
void asking_set_scene(const struct asking *asking, const struct server *server, uint8_t database,
    struct scene *scene);
/* All of it. */
void asking_free(struct asking *asking);
