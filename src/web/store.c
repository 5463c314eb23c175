/* store.c - the store's thread, and the way there and back. */
#include "web/store.h"

#include "base/clock.h"
#include "base/memory.h"
#include "log/log.h"
#include "view/json.h"
#include "web/store_keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum item_kind { ITEM_ROW, ITEM_COVER, ITEM_FIND };

/* Queries that the thread has: an answer may be of megabytes, and lies here until it is taken. */
enum { MAX_FINDS = 4 };

/* What the thread is to do, and its answer. */
struct item {
    struct item *next;
    enum item_kind kind;
    struct store_row *row; /* owned */
    struct store_span span;
    struct store_question question;
    char *resource; /* owned: question.resource */
    store_taker *taker;
    void *context;
    struct text json; /* the answer; empty: there is no file */
};

struct list {
    struct item *first, **end;
};

struct store {
    char *path;
    bool has_thread; /* else nothing is kept */
    uv_thread_t thread;
    uv_async_t async; /* there are answers, or news */

    /* The loop's alone. */
    uint64_t covered_until, added, dropped;
    bool has_dropped; /* since the last cover */
    struct list later; /* queries that the thread does not have yet */
    size_t n_finds; /* those that it has */
    char health[1024];
    struct store_figures figures;

    /* The thread's alone. */
    struct store_keeper keeper;

    /* Of both, under the lock. */
    uv_mutex_t lock;
    uv_cond_t has_news;
    struct list asked, answered;
    size_t n_rows, row_bytes; /* in `asked` */
    bool is_ending;
    struct {
        char health[1024];
        struct text notices;
        struct store_figures figures;
        uint64_t covered_until, dropped;
    } told;
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_add(struct list *list, struct item *item)
{
    item->next = NULL;
    *list->end = item;
    list->end = &item->next;
}

static struct item *list_take_all(struct list *list)
{
    struct item *first = list->first;
    list_init(list);
    return first;
}

static void item_free(struct item *item)
{
    free(item->resource);
    text_deinit(&item->json);
    free(item);
}

static uint64_t wall_now(void)
{
    return milliseconds(clock_wall_now());
}

/* ---- on the thread ---- */

static void carry_out(struct store *store, struct item *item, uint64_t *droppedp)
{
    switch (item->kind) {
    case ITEM_ROW:
        *droppedp += !store_keeper_add(&store->keeper, item->row);
        break;
    case ITEM_COVER:
        store_keeper_cover(&store->keeper, item->span.from, item->span.until);
        break;
    case ITEM_FIND:
        store_keeper_find(&store->keeper, &item->question, wall_now(), &item->json);
        break;
    }
}

/* Tells the loop how things are. Under the lock. */
static void store_tell(struct store *store, uint64_t dropped)
{
    const struct store_keeper *keeper = &store->keeper;
    memcpy(store->told.health, keeper->why, sizeof store->told.health);
    if (keeper->notices.length > 0) {
        text_add(&store->told.notices, keeper->notices.bytes);
        store->keeper.notices.length = 0;
    }
    store->told.covered_until = keeper->covered_until;
    store->told.dropped += dropped;
    store->told.figures.leases = keeper->file.n_leases + keeper->n_rows;
    store->told.figures.failures = keeper->failures;
}

/* Takes what is asked, or waits for it until the instant. False: the store ends, and all is done.*/
static bool store_take(struct store *store, uint64_t wake_at, struct item **itemsp)
{
    uint64_t now = wall_now();
    if (!store->asked.first && !store->is_ending && wake_at > now) {
        uv_cond_timedwait(&store->has_news, &store->lock, (wake_at - now) * 1000000);
    }
    *itemsp = list_take_all(&store->asked);
    store->n_rows = store->row_bytes = 0;
    return *itemsp || !store->is_ending;
}

/* Returns when there will be more to do. */
static uint64_t work(struct store *store, struct item *items)
{
    uint64_t dropped = 0;
    struct list questions;
    list_init(&questions);
    for (struct item *item = items, *next; item; item = next) {
        next = item->next;
        carry_out(store, item, &dropped);
        if (item->kind == ITEM_FIND) {
            list_add(&questions, item);
        } else {
            item_free(item);
        }
    }
    uint64_t wake_at = store_keeper_step(&store->keeper, wall_now());
    uint64_t bytes = store->keeper.file.database ? store_file_bytes(&store->keeper.file) : 0;
    uv_mutex_lock(&store->lock);
    if (questions.first) {
        *store->answered.end = questions.first;
        store->answered.end = questions.end;
    }
    store_tell(store, dropped);
    store->told.figures.bytes = bytes;
    uv_mutex_unlock(&store->lock);
    return wake_at;
}

static void store_run(void *argument)
{
    struct store *store = argument;
    uint64_t wake_at = 0;
    for (;;) {
        struct item *items;
        uv_mutex_lock(&store->lock);
        bool goes_on = store_take(store, wake_at, &items);
        uv_mutex_unlock(&store->lock);
        if (!goes_on) {
            break;
        }
        wake_at = work(store, items);
        uv_async_send(&store->async);
    }
}

/* ---- on the loop ---- */

static void log_lines(char *lines)
{
    for (char *line; (line = strsep(&lines, "\n")) != NULL;) {
        if (line[0]) {
            log_warning("%s", line);
        }
    }
}

/* What the thread has told. */
static void hear(struct store *store)
{
    uv_mutex_lock(&store->lock);
    struct item *answers = list_take_all(&store->answered);
    char *lines = text_take(&store->told.notices);
    memcpy(store->health, store->told.health, sizeof store->health);
    store->figures = store->told.figures;
    store->dropped += store->told.dropped;
    store->has_dropped |= store->told.dropped > 0;
    store->told.dropped = 0;
    if (store->told.covered_until > store->covered_until) {
        store->covered_until = store->told.covered_until;
    }
    uv_mutex_unlock(&store->lock);
    log_lines(lines);
    free(lines);
    for (struct item *next; answers; answers = next) {
        bool is_known = answers->json.length > 0;
        next = answers->next;
        store->n_finds--;
        answers->taker(answers->context, is_known ? &answers->json : NULL,
            is_known ? NULL : "berth-web keeps no history: its file names no `database`");
        item_free(answers);
    }
}

static void store_ask(struct store *store, struct item *item);

static struct item *take_later(struct store *store)
{
    struct item *item = store->later.first;
    store->later.first = item->next;
    if (!store->later.first) {
        list_init(&store->later);
    }
    return item;
}

static void on_async(uv_async_t *async)
{
    struct store *store = container_of(async, struct store, async);
    hear(store);
    while (store->later.first && store->n_finds < MAX_FINDS) {
        store->n_finds++;
        store_ask(store, take_later(store));
    }
}

static void start(struct store *store, nanoseconds retention)
{
    store_keeper_init(&store->keeper, store->path, milliseconds(retention), STORE_MAX_PAGES);
    work(store, NULL); /* opens it */
    hear(store);
    int error = uv_thread_create(&store->thread, store_run, store);
    store->has_thread = error == 0;
    if (error) {
        snprintf(store->health, sizeof store->health, "history: cannot start a thread: %s",
            uv_strerror(error));
        log_error("%s", store->health);
        store_keeper_deinit(&store->keeper);
    }
}

struct store *store_open(uv_loop_t *loop, const char *path, nanoseconds retention)
{
    struct store *store = memory_new(sizeof *store);
    store->path = memory_string(path);
    list_init(&store->asked);
    list_init(&store->answered);
    list_init(&store->later);
    uv_mutex_init(&store->lock);
    uv_cond_init(&store->has_news);
    uv_async_init(loop, &store->async, on_async);
    if (path) {
        start(store, retention);
    }
    return store;
}

static void store_on_closed(uv_handle_t *handle)
{
    struct store *store = container_of((uv_async_t *)handle, struct store, async);
    uv_cond_destroy(&store->has_news);
    uv_mutex_destroy(&store->lock);
    text_deinit(&store->told.notices);
    free(store->path);
    free(store);
}

/* The thread has ended. */
static void end_keeper(struct store *store)
{
    store_keeper_finish(&store->keeper, wall_now());
    if (store->keeper.n_rows > 0) {
        log_error(
            "%s: %zu leases that ended are not in it", store->keeper.why, store->keeper.n_rows);
    }
    store_keeper_deinit(&store->keeper);
}

void store_close(struct store *store)
{
    if (store->has_thread) {
        uv_mutex_lock(&store->lock);
        store->is_ending = true;
        uv_cond_signal(&store->has_news);
        uv_mutex_unlock(&store->lock);
        uv_thread_join(&store->thread);
        end_keeper(store);
    }
    hear(store);
    while (store->later.first) {
        struct item *item = take_later(store);
        item->taker(item->context, NULL, "berth-web ends");
        item_free(item);
    }
    uv_close((uv_handle_t *)&store->async, store_on_closed);
}

/* ---- what is asked ---- */

static void store_ask(struct store *store, struct item *item)
{
    uv_mutex_lock(&store->lock);
    if (!store->has_thread) {
        list_add(&store->answered, item);
        uv_async_send(&store->async);
        uv_mutex_unlock(&store->lock);
        return;
    }
    list_add(&store->asked, item);
    if (item->kind == ITEM_ROW) {
        store->n_rows++;
        store->row_bytes += item->row->bytes;
    }
    uv_cond_signal(&store->has_news);
    uv_mutex_unlock(&store->lock);
}

static struct item *item_new(enum item_kind kind)
{
    struct item *item = memory_new(sizeof *item);
    item->kind = kind;
    return item;
}

static char *add_string(char **roomp, const char *string)
{
    char *begin = *roomp;
    size_t n = strlen(string) + 1;
    memcpy(begin, string, n);
    *roomp += n;
    return begin;
}

static struct store_row *row_of(const struct past_lease *lease)
{
    struct text json = TEXT_INIT;
    json_add(past_lease_value(lease), &json);
    size_t bytes = sizeof(struct store_row) + lease->n_claims * sizeof(char *) + strlen(lease->id) +
        1 + json.length + 1;
    for (size_t i = 0; i < lease->n_claims; i++) {
        bytes += strlen(lease->claims[i].name) + 1;
    }
    struct store_row *row = memory_new(bytes);
    *row = (struct store_row){
        .asked = past_asked(lease),
        .ended = lease->ended,
        .bytes = bytes,
        .n_names = lease->n_claims,
    };
    char *room = (char *)&row->names[lease->n_claims];
    row->id = add_string(&room, lease->id);
    row->json = add_string(&room, json.bytes);
    for (size_t i = 0; i < lease->n_claims; i++) {
        row->names[i] = add_string(&room, lease->claims[i].name);
    }
    text_deinit(&json);
    return row;
}

static bool is_too_far_behind(struct store *store)
{
    uv_mutex_lock(&store->lock);
    bool is_behind = store->n_rows >= STORE_MAX_ROWS || store->row_bytes >= STORE_MAX_BYTES;
    uv_mutex_unlock(&store->lock);
    return is_behind;
}

void store_add(struct store *store, const struct past_lease *lease)
{
    if (!store->has_thread) {
        return;
    }
    if (is_too_far_behind(store)) {
        store->dropped++;
        store->has_dropped = true;
        return;
    }
    struct item *item = item_new(ITEM_ROW);
    item->row = row_of(lease);
    store->added++;
    store_ask(store, item);
}

void store_covers(struct store *store, uint64_t from, uint64_t until)
{
    if (!store->has_thread || until <= from) {
        return;
    }
    if (until > store->covered_until) {
        store->covered_until = until;
    }
    if (store->has_dropped) { /* some of it is missing */
        store->has_dropped = false;
        return;
    }
    struct item *item = item_new(ITEM_COVER);
    item->span = (struct store_span){from, until};
    store_ask(store, item);
}

uint64_t store_covered_until(const struct store *store)
{
    return store->covered_until;
}

void store_find(
    struct store *store, const struct store_query *query, store_taker *taker, void *context)
{
    struct item *item = item_new(ITEM_FIND);
    item->resource = memory_string(query->resource);
    item->question =
        (struct store_question){query->from, query->until, item->resource, query->limit};
    item->taker = taker;
    item->context = context;
    if (store->has_thread && store->n_finds >= MAX_FINDS) {
        list_add(&store->later, item);
        return;
    }
    store->n_finds++;
    store_ask(store, item);
}

const char *store_health(const struct store *store)
{
    return store->health[0] ? store->health : NULL;
}

void store_look(const struct store *store, struct store_figures *figures)
{
    *figures = store->figures;
    figures->added = store->added;
    figures->dropped = store->dropped;
}
