/* news.h - change log for `watch`: names the leases, resources and templates that changed, and
 * copies nothing; whoever reads an entry looks up the current state.
 *
 * The log is a ring, so that a reader that stops costs nothing: a cursor that falls out of it has
 * to begin again with all there is. Nothing is logged, and no memory is used, while nobody follows.
 * A change that nobody has read yet is not logged twice. Pure. */
#pragma once

#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

enum { NEWS_ENTRIES = 16384 };

struct lease;

enum news_kind {
    NEWS_RESOURCE, /* .name: its figures, or whether it exists */
    NEWS_TEMPLATE, /* .name */
    NEWS_LEASE, /* .lease on the resource .name: it waits there, holds there, or neither any more */
    NEWS_LISTED, /* the same of another host's lease, .listed, as its database has listed it */
    NEWS_DATABASE, /* .database */
    NEWS_HOST, /* the figures of this host */
};

/* A name in the log; it lives as long as an entry has it. */
struct news_name {
    struct table_node by_text; /* in news.names */
    uint64_t n_entries; /* that have it */
    uint64_t news_serial[2]; /* the newest entry about it: NEWS_RESOURCE, NEWS_TEMPLATE; 0: none */
    char text[];
};

struct news_entry {
    struct news_name *name; /* or NULL */
    union {
        uint64_t lease;
        struct news_name *listed; /* SESSION/LEASE */
        uint64_t database;
    };
    enum news_kind kind;
};

/* All zero: nobody follows. */
struct news {
    struct news_entry *entries; /* entry i is at i % NEWS_ENTRIES; NULL: nobody follows */
    uint64_t first, end; /* which are kept: they count from 1 on, and never begin again */
    uint64_t read_to; /* nobody has read this one yet, nor a later one */
    struct table names;
    uint32_t n_followers;
};

/* Whoever follows begins with a cursor that has fallen out, such as 0, and ends with
 * news_unfollow(). */
void news_follow(struct news *news);
void news_unfollow(struct news *news);

static inline bool news_is_on(const struct news *news)
{
    return news->entries;
}

/* Whether all from there on is still known. */
static inline bool news_has(const struct news *news, uint64_t cursor)
{
    return cursor >= news->first;
}

/* Where the entries end now. */
static inline uint64_t news_end(const struct news *news)
{
    return news->end;
}

/* The cursor of one who has seen how everything is now. */
uint64_t news_cursor(struct news *news);
/* The entry at the cursor, which moves on; NULL: there is none yet. It is good until something is
 * logged. news_has() must be true. */
const struct news_entry *news_next(struct news *news, uint64_t *cursorp);

/* For the functions below, when somebody follows. */
void news_tell_name(struct news *news, enum news_kind kind, const char *text);
void news_tell_lease(struct news *news, struct lease *lease);

/* These do nothing while nobody follows. */
static inline void news_resource(struct news *news, const char *name)
{
    if (news_is_on(news)) {
        news_tell_name(news, NEWS_RESOURCE, name);
    }
}

static inline void news_template(struct news *news, const char *name)
{
    if (news_is_on(news)) {
        news_tell_name(news, NEWS_TEMPLATE, name);
    }
}

/* The lease on each of its resources, and the figures of these. */
static inline void news_lease(struct news *news, struct lease *lease)
{
    if (news_is_on(news)) {
        news_tell_lease(news, lease);
    }
}

/* SESSION/LEASE on that resource, of another host. */
void news_listed(struct news *news, const char *lease, const char *resource);
void news_database(struct news *news, uint64_t database);
void news_host(struct news *news);
/* Anything may be different: every cursor falls out. */
void news_all(struct news *news);
