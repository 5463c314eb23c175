#include "core/news.h"

#include "base/memory.h"
#include "core/lease.h"
#include "core/resource.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static struct news_name *find_name(const struct news *news, const char *text, uint64_t hash)
{
    struct table_node *node = table_find(&news->names, hash);
    while (node && strcmp(container_of(node, struct news_name, by_text)->text, text) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct news_name, by_text) : NULL;
}

/* Finds it, or makes one that no entry has yet. */
static struct news_name *get_name(struct news *news, const char *text)
{
    uint64_t hash = hash_name(text);
    struct news_name *name = find_name(news, text, hash);
    if (!name) {
        size_t size = strlen(text) + 1;
        name = memory_new(sizeof *name + size);
        memcpy(name->text, text, size);
        table_insert(&news->names, &name->by_text, hash);
    }
    return name;
}

static void leave_name(struct news *news, struct news_name *name)
{
    if (name && --name->n_entries == 0) {
        table_remove(&news->names, &name->by_text);
        free(name);
    }
}

/* ---- entries ---- */

static struct news_name *listed_of(const struct news_entry *entry)
{
    return entry->kind == NEWS_LISTED ? entry->listed : NULL;
}

static void forget_first(struct news *news)
{
    struct news_entry *entry = &news->entries[news->first++ % NEWS_ENTRIES];
    leave_name(news, listed_of(entry));
    leave_name(news, entry->name);
}

static void append(struct news *news, const struct news_entry *entry)
{
    struct news_name *listed = listed_of(entry);
    if (entry->name) {
        entry->name->n_entries++;
    }
    if (listed) {
        listed->n_entries++;
    }
    if (news->end - news->first == NEWS_ENTRIES) {
        forget_first(news); /* after the names are in use: it may have the same ones */
    }
    news->entries[news->end++ % NEWS_ENTRIES] = *entry;
}

/* An entry that nobody has read stands for all that happens until somebody does. */
static bool is_unread(const struct news *news, uint64_t news_serial)
{
    return news_serial >= news->read_to && news_serial >= news->first;
}

uint64_t news_cursor(struct news *news)
{
    news->read_to = news->end;
    return news->end;
}

const struct news_entry *news_next(struct news *news, uint64_t *cursorp)
{
    assert(news_has(news, *cursorp));
    if (*cursorp >= news->end) {
        return NULL;
    }
    const struct news_entry *entry = &news->entries[(*cursorp)++ % NEWS_ENTRIES];
    news->read_to = *cursorp > news->read_to ? *cursorp : news->read_to;
    return entry;
}

/* ---- what is logged ---- */

void news_tell_name(struct news *news, enum news_kind kind, const char *text)
{
    struct news_name *name = get_name(news, text);
    uint64_t *news_serialp = &name->news_serial[kind];
    if (!is_unread(news, *news_serialp)) {
        *news_serialp = news->end;
        append(news, &(struct news_entry){.kind = kind, .name = name});
    }
}

/* The resource comes first: it may be new. */
void news_tell_lease(struct news *news, struct lease *lease)
{
    bool is_told = is_unread(news, lease->news_serial);
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        news_tell_name(news, NEWS_RESOURCE, lease->claims[i].resource->name);
    }
    if (is_told) {
        return;
    }
    lease->news_serial = news->end;
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        append(news,
            &(struct news_entry){.kind = NEWS_LEASE,
                .name = get_name(news, lease->claims[i].resource->name),
                .lease = lease->id});
    }
}

void news_listed(struct news *news, const char *lease, const char *resource)
{
    if (news_is_on(news)) {
        append(news,
            &(struct news_entry){.kind = NEWS_LISTED,
                .name = get_name(news, resource),
                .listed = get_name(news, lease)});
    }
}

void news_database(struct news *news, uint64_t database)
{
    if (news_is_on(news)) {
        append(news, &(struct news_entry){.kind = NEWS_DATABASE, .database = database});
    }
}

void news_host(struct news *news)
{
    if (news_is_on(news)) {
        append(news, &(struct news_entry){.kind = NEWS_HOST});
    }
}

static void forget_entries(struct news *news)
{
    while (news->first < news->end) {
        forget_first(news);
    }
}

void news_all(struct news *news)
{
    if (news_is_on(news)) {
        forget_entries(news);
        news->first = ++news->end; /* no cursor is there yet */
    }
}

/* ---- who follows ---- */

void news_follow(struct news *news)
{
    if (news->n_followers++ == 0) {
        news->entries = memory_new(NEWS_ENTRIES * sizeof news->entries[0]);
        news->first = ++news->end; /* what was told an earlier follower is read */
    }
}

void news_unfollow(struct news *news)
{
    assert(news->n_followers > 0);
    if (--news->n_followers == 0) {
        forget_entries(news);
        table_deinit(&news->names);
        free(news->entries);
        news->entries = NULL;
    }
}
