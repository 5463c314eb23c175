/* status_keys.h - the lines of `status`, `watch` and `hosts` as records, and which keys they have:
 * the rows of status_keys.def. Pure.
 *
 * berthd fills a record and writes its line; who asks parses the line into the same record. Strings
 * belong to whoever fills it. What is NULL, false or not given is left out of the line. */
#pragma once

#include "wire/fields.h"

/* The attributes of a lease (base/attributes.def). Status and history show those with a title. */
enum shown_attribute {
#define ATTRIBUTE(word, ...) SHOWN_##word,
#include "base/attributes.def"
#undef ATTRIBUTE
    N_SHOWN
};

struct shown_row {
    const char *word;
    const char *title; /* or NULL */
};

extern const struct shown_row shown_rows[N_SHOWN];

/* Sets each from its key among `words`, decoded in place; NULL: it is missing, or has no title.
 * False: a value of the wrong form. */
bool shown_take(const char *shown[N_SHOWN], char *const words[], size_t n);

enum status_line {
    LINE_FIGURES, /* `ok`, or `host` in `watch` */
    LINE_RESOURCE,
    LINE_TEMPLATE,
    LINE_HOLDER,
    LINE_WAITER,
    LINE_DATABASE,
    LINE_HOST, /* in the answer to `hosts`, like the next */
    LINE_GONE,
    N_STATUS_LINES
};

/* The first word of the line. */
struct status_line_word {
    const char *word;
    size_t length;
};
extern const struct status_line_word status_line_words[N_STATUS_LINES];
/* Its keys; an empty one follows. N_STATUS_LINES has none. */
const struct field *status_fields(enum status_line line);
/* Which kind it is by its first word; N_STATUS_LINES: none of them. */
enum status_line status_line_of(const char *line);

/* Adds the line's word, name and keys. `whom` are bits 1 << FOR_... */
void status_line_begin(
    struct text *out, enum status_line line, const char *name, unsigned whom, const void *record);
/* Adds the whole line, of a kind that is the same for everybody. */
void status_line_write(
    struct text *out, enum status_line line, const char *name, const void *record);

#define MEMBER(word, type, ...) FIELD_C_##type word;

/* A holder or a waiter. */
struct status_lease {
    const char *id;
#define LEASE_KEY MEMBER
#include "wire/status_keys.def"
    const char *shown[N_SHOWN]; /* as .holder: for whom viewer.h says */
    bool is_held; /* it is no waiter */
    const char *user; /* of a writer: what it calls .uid, or NULL. No line has it */
    /* Of a reader: */
    char *line; /* all strings point into it */
    char process[16]; /* the name of the process, or "", if no program is given: programs.h */
};

struct status_leases {
    struct status_lease *list;
    size_t n;
};

struct status_reserve {
    const char *item, *reason;
};

/* A resource; or a template: names one level below it are resources. */
struct status_resource {
    const char *name;
#define RESOURCE_KEY MEMBER
#include "wire/status_keys.def"
    /* Of a reader: */
    bool is_template;
    char *line; /* all strings point into it */
    struct status_reserve *reserves; /* those with a reason */
    size_t n_reserves;
    struct status_leases leases; /* berthd tells holders first */
};

/* A Redis that grants the resources of fleet scope. */
struct status_database {
    const char *name;
#define DATABASE_KEY MEMBER
#include "wire/status_keys.def"
    char *line; /* of a reader: all strings point into it */
};

/* One that a database has heard from; a line of the answer to `hosts`. */
struct status_host {
    const char *name;
#define HOST_KEY MEMBER
#include "wire/status_keys.def"
    char *line; /* of a reader: all strings point into it */
};

/* One that a database has not heard from for so long that its leases have ended; likewise. */
struct status_gone {
    const char *name;
#define GONE_KEY MEMBER
#include "wire/status_keys.def"
    char *line; /* of a reader: all strings point into it */
};

/* The answer to `status`; or to `hosts`, which has .hosts, .gone and .databases. berthd fills
 * figures alone. */
struct status {
#define FIGURES_KEY MEMBER
#include "wire/status_keys.def"
    /* Of a reader: */
    bool begun; /* the `ok` line has come */
    char *line; /* that one: .closed points into it */
    struct status_resource *resources;
    size_t n_resources;
    size_t n_left_out; /* resources that status_choose() has taken out */
    struct status_resource *templates;
    size_t n_templates;
    struct status_database *databases;
    size_t n_databases;
    struct status_host *hosts;
    size_t n_hosts;
    struct status_gone *gone;
    size_t n_gone;
};

#undef MEMBER

/* Who has made a change that is in force, when, where and why: what is not known is not given. */
struct shown_decision {
    struct optional at; /* milliseconds since 1970 */
    struct shown_user by, login;
    const char *host, *reason;
};

static inline struct shown_decision pause_said(const struct status_resource *paused)
{
    return (struct shown_decision){paused->paused_at, paused->paused_by, paused->paused_by_login,
        paused->paused_host, paused->pause_reason};
}

static inline struct shown_decision change_said(const struct status_resource *changed)
{
    return (struct shown_decision){changed->changed_at, changed->changed_by,
        changed->changed_by_login, changed->changed_host, changed->change_reason};
}

static inline struct shown_decision drain_said(const struct status *drained)
{
    return (struct shown_decision){drained->drained_at, drained->drained_by,
        drained->drained_by_login, NULL, drained->drain_reason};
}

/* Whether those of the host are the same, but for the time and .closed. */
bool host_figures_equal(const struct status *a, const struct status *b);
