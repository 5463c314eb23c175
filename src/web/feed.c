#include "web/feed.h"

#include "base/memory.h"
#include "base/words.h"
#include "view/json.h"
#include "view/users.h"

#include <stdlib.h>
#include <string.h>

/* ---- serials ---- */

void feed_serial_format(char out[static FEED_SERIAL_SIZE], const struct feed_serial *serial)
{
    char *end = put_hex(out, serial->instance);
    end = put_number(put_byte(end, '.'), serial->live);
    end = put_number(put_byte(end, '.'), serial->events);
    *end = '\0';
}

bool feed_serial_parse(const char *text, struct feed_serial *serial)
{
    char copy[FEED_SERIAL_SIZE], *rest = copy, expected[HEX_DIGITS + 1];
    if (strlen(text) >= sizeof copy) {
        return false;
    }
    strcpy(copy, text);
    const char *instance = strsep(&rest, "."), *live = strsep(&rest, ".");
    serial->instance = strtoul(instance, NULL, 16);
    *put_hex(expected, serial->instance) = '\0';
    return strcmp(instance, expected) == 0 && live && rest &&
        number_parse(live, INT64_MAX, &serial->live) &&
        number_parse(rest, INT64_MAX, &serial->events);
}

/* ---- pieces ---- */

/* What was made of a resource, and is kept; or when a template has changed. */
struct piece {
    struct table_node node;
    char *name; /* owned */
    uint64_t made; /* the serial of what it shows; 0: there is nothing yet */
    struct text text;
};

static struct piece *feed_find(const struct feed *feed, const char *name)
{
    struct table_node *node = table_find(&feed->pieces, hash_name(name));
    for (; node; node = table_find_next(node)) {
        struct piece *piece = container_of(node, struct piece, node);
        if (strcmp(piece->name, name) == 0) {
            return piece;
        }
    }
    return NULL;
}

static struct piece *find_or_new(struct feed *feed, const char *name)
{
    struct piece *piece = feed_find(feed, name);
    if (!piece) {
        piece = memory_new(sizeof *piece);
        piece->name = memory_string(name);
        table_insert(&feed->pieces, &piece->node, hash_name(name));
    }
    return piece;
}

static void remove_piece(struct feed *feed, struct piece *piece)
{
    table_remove(&feed->pieces, &piece->node);
    text_deinit(&piece->text);
    free(piece->name);
    free(piece);
}

/* ---- what changes ---- */

/* The serial of the batch is known after it. */
static void note_removed(struct feed *feed, const char *name)
{
    struct feed_removed *removed = &feed->removed[feed->n_removed++ % FEED_REMOVED];
    free(removed->name);
    removed->name = memory_string(name);
    removed->serial = UINT64_MAX;
    struct piece *piece = feed_find(feed, name);
    if (piece) {
        remove_piece(feed, piece);
    }
}

/* What can be granted depends on the host and the database too. */
static void on_host(void *context, const struct status *before, const struct status *now)
{
    struct feed *feed = context;
    feed->has_all_changed |= before->draining != now->draining ||
        before->granting.is_given != now->granting.is_given ||
        before->granting.number != now->granting.number;
}

static void on_record(void *context, enum status_line kind, const void *before, const void *now)
{
    struct feed *feed = context;
    if (kind == LINE_DATABASE) {
        const struct status_database *was = before, *is = now;
        feed->has_all_changed |=
            !was || !is || was->grace_until.is_given != is->grace_until.is_given;
    } else if (!now) {
        note_removed(feed, ((const struct status_resource *)before)->name);
    } else if (kind == LINE_TEMPLATE) {
        find_or_new(feed, ((const struct status_resource *)now)->name)->made = 0;
    }
}

void feed_note(struct feed *feed)
{
    if (feed->has_all_changed) {
        feed->has_all_changed = false;
        feed->all_changed = feed->live->serial;
    }
    for (; feed->n_stamped < feed->n_removed; feed->n_stamped++) {
        feed->removed[feed->n_stamped % FEED_REMOVED].serial = feed->live->serial;
    }
}

void feed_init(struct feed *feed, struct live *live, uint64_t instance)
{
    *feed = (struct feed){.live = live, .instance = instance};
    feed->watcher = (struct live_watcher){
        .context = feed,
        .host = on_host,
        .record = on_record,
    };
    live_watch(live, &feed->watcher);
}

void feed_deinit(struct feed *feed)
{
    struct table_node *node;
    uint64_t cursor = 0;
    while ((node = table_walk(&feed->pieces, &cursor)) != NULL || cursor != 0) {
        for (struct table_node *next; node; node = next) {
            next = node->next;
            remove_piece(feed, container_of(node, struct piece, node));
        }
    }
    table_deinit(&feed->pieces);
    for (size_t i = 0; i < FEED_REMOVED; i++) {
        free(feed->removed[i].name);
    }
}

/* ---- what is said ---- */

bool feed_is_behind(
    const struct feed *feed, const struct feed_around *around, const struct feed_serial *after)
{
    return after->instance != feed->instance || after->live != feed->live->serial ||
        after->events != around->events;
}

/* The names that were removed later are all known: what is lost was removed before the oldest. */
static bool is_known(const struct feed *feed, const struct feed_serial *after)
{
    uint64_t n = feed->n_removed;
    const struct feed_removed *oldest = &feed->removed[n % FEED_REMOVED];
    return after->instance == feed->instance && after->live > 0 &&
        after->live <= feed->live->serial && after->events > 0 &&
        (n <= FEED_REMOVED || oldest->serial <= after->live);
}

static void add_key(struct text *out, const char *key)
{
    text_add(out, out->bytes[out->length - 1] == '{' ? "\"" : ",\"");
    text_add(out, key);
    text_add(out, "\":");
}

static void add_string(struct text *out, const char *key, const char *string)
{
    add_key(out, key);
    json_add(text_value(string), out);
}

static void add_instant(struct text *out, const char *key, const struct instant *instant)
{
    add_key(out, key);
    if (instant->is_given) {
        text_add_format(out, "%lld", (long long)instant->at);
    } else {
        text_add(out, "null");
    }
}

static void add_flag(struct text *out, const char *key, bool flag)
{
    add_key(out, key);
    text_add(out, flag ? "true" : "false");
}

/* Who drains the host, since when and why. */
static void add_drain(struct text *out, const struct status *status)
{
    const struct optional *uid = &status->drained_by.uid;
    add_key(out, "drain");
    text_add(out, "{");
    add_instant(out, "drained_at",
        &(struct instant){status->drained_at.is_given, (int64_t)status->drained_at.number});
    add_instant(out, "drained_by_uid", &(struct instant){uid->is_given, (int64_t)uid->number});
    add_string(out, "drained_by_user", uid->is_given ? user_name(uid->number) : NULL);
    const struct optional *login = &status->drained_by_login.uid;
    add_string(out, "drained_by_login_user", login->is_given ? user_name(login->number) : NULL);
    add_string(out, "drain_reason", status->drain_reason);
    text_add(out, "}");
}

static void separate(struct text *out)
{
    text_add(out, out->bytes[out->length - 1] == '[' ? "" : ",");
}

static void add_resources(
    struct feed *feed, const struct status *status, uint64_t after, struct text *out)
{
    add_key(out, "resources");
    text_add(out, "[");
    for (size_t i = 0; i < status->n_resources; i++) {
        uint64_t changed = live_resource_at(feed->live, i)->changed;
        changed = changed > feed->all_changed ? changed : feed->all_changed;
        if (changed <= after) {
            continue;
        }
        const struct status_resource *resource = &status->resources[i];
        struct piece *piece = find_or_new(feed, resource->name);
        if (piece->made == 0 || piece->made < changed) {
            piece->text.length = 0;
            json_add(resource_value(status, resource), &piece->text);
            piece->made = feed->live->serial;
        }
        separate(out);
        text_add_bytes(out, piece->text.bytes, piece->text.length);
    }
    text_add(out, "]");
}

/* Of these .made is when they changed, 0 until they are first shown. */
static void add_templates(
    struct feed *feed, const struct status *status, uint64_t after, struct text *out)
{
    add_key(out, "templates");
    text_add(out, "[");
    for (size_t i = 0; i < status->n_templates; i++) {
        struct piece *piece = find_or_new(feed, status->templates[i].name);
        piece->made = piece->made == 0 ? feed->live->serial : piece->made;
        if (piece->made > after) {
            separate(out);
            json_add(template_value(&status->templates[i]), out);
        }
    }
    text_add(out, "]");
}

/* Those that are there again are among the others. */
static void add_removed(
    const struct feed *feed, const struct status *status, uint64_t after, struct text *out)
{
    add_key(out, "removed");
    text_add(out, "[");
    for (uint64_t i = feed->n_removed; i > 0 && i + FEED_REMOVED > feed->n_removed; i--) {
        const struct feed_removed *removed = &feed->removed[(i - 1) % FEED_REMOVED];
        if (removed->serial <= after) {
            break;
        }
        bool is_there = live_resource_find(feed->live, removed->name);
        for (size_t j = 0; !is_there && j < status->n_templates; j++) {
            is_there = strcmp(status->templates[j].name, removed->name) == 0;
        }
        if (!is_there) {
            separate(out);
            json_add(text_value(removed->name), out);
        }
    }
    text_add(out, "]");
}

static void add_around(const struct feed *feed, const struct feed_around *around,
    const struct status *status, struct text *out)
{
    const struct feed_serial serial = {feed->instance, feed->live->serial, around->events};
    char word[FEED_SERIAL_SIZE];
    feed_serial_format(word, &serial);
    add_key(out, "version");
    text_add(out, "1");
    add_string(out, "serial", word);
    add_key(out, "now_ms");
    text_add_number(out, around->wall);
    add_instant(out, "now", &status->now);
    add_flag(out, "connected", around->is_connected);
    add_string(out, "why", around->is_connected ? NULL : around->why);
    add_string(out, "host", around->host);
    add_flag(out, "draining", status->draining);
    add_drain(out, status);
    add_instant(out, "grace_until", &status->grace_until);
    add_key(out, "databases");
    json_add(databases_value(status), out);
    add_key(out, "hosts");
    text_add(out, around->hosts);
    add_key(out, "gone");
    text_add(out, around->gone);
}

void feed_print(struct feed *feed, const struct feed_around *around,
    const struct feed_serial *after, nanoseconds now, struct text *out)
{
    feed_note(feed);
    const struct status *status = live_status(feed->live, now);
    bool is_full = !after || !is_known(feed, after);
    uint64_t from = is_full ? 0 : after->live;
    text_add(out, "{");
    add_around(feed, around, status, out);
    add_flag(out, "full", is_full);
    add_resources(feed, status, from, out);
    add_templates(feed, status, from, out);
    if (!is_full) {
        add_removed(feed, status, from, out);
    }
    text_add(out, "}\n");
}
