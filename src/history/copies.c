#include "history/copies.h"

#include "base/memory.h"
#include "history/rows.h"
#include "log/log.h"
#include "status/fleet_ended.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (5 * NANOSECONDS_PER_SECOND)
#define NAMES_AGAIN (60 * NANOSECONDS_PER_SECOND)
#define PATIENCE (15 * NANOSECONDS_PER_SECOND) /* berthd waits for a database, too */
#define GLANCE (10 * NANOSECONDS_PER_MILLISECOND)

#define PREFIX "of-" /* of a database's directory: no day is called so */

enum { READS_AT_ONCE = 32 };

/* ---- the list ---- */

struct copy *copies_find(const struct copies *copies, const char *database)
{
    for (size_t i = 0; i < copies->n; i++) {
        if (strcmp(copies->list[i]->name, database) == 0) {
            return copies->list[i];
        }
    }
    return NULL;
}

static void add_copy(struct copies *copies, const char *database)
{
    struct text path = TEXT_INIT;
    struct copy *copy = memory_new(sizeof *copy);
    text_add_format(&path, "%s/" PREFIX "%s", copies->directory, database);
    if (!strchr(database, '/') && days_open(&copy->days, path.bytes, copies->keep, copies->size)) {
        copy->name = memory_string(database);
        copy->days.rings_ascend = true;
        days_find_drained(&copy->days);
        copies->list = memory_grow(copies->list, copies->n, sizeof *copies->list);
        copies->list[copies->n++] = copy;
    } else {
        free(copy);
    }
    text_deinit(&path);
}

/* ---- lines ---- */

static uint64_t number_of(char *const words[], size_t n, const char *key)
{
    uint64_t number = 0;
    words_find_number(words, n, key, &number);
    return number;
}

/* Those that are for us alone. */
static void cut_keys(char *line)
{
    static const char *const keys[] = {" id=", " hiding=", " claims="};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char *key = strstr(line, keys[i]);
        if (key) {
            const char *end = key + 1 + strcspn(key + 1, " ");
            memmove(key, end, strlen(end) + 1);
        }
    }
}

static bool is_did(char *const words[])
{
    return strcmp(words[0], "did") == 0;
}

static bool add_line(
    struct days *days, char *const words[], size_t n, char *line, const struct drained *at)
{
    char unknown[] = "... 0", none[] = "", *said = words_find(words, n, "claims");
    char *claims = said ? said : is_did(words) ? none : unknown; /* unless it did not fit: then only
                                                    who sees all sees the details */
    uint16_t hiding = said ? (uint16_t)number_of(words, n, "hiding") : UINT16_MAX;
    cut_keys(line);
    return !percent_decode(claims) || days_add_line(days, line, claims, hiding, at);
}

/* An entry, or a gap between two. False: it cannot be written. */
static bool add_entry(struct copies *copies, char *const words[], size_t n, char *line)
{
    struct days *days = &copies->asked->days;
    struct drained at = {0}, before = days->added;
    bool is_gap = strcmp(words[0], "gap") == 0, is_added = true;
    const char *from_key = is_gap ? "from" : is_did(words) ? "at" : "ended";
    int64_t from = (int64_t)number_of(words, n, from_key);
    const char *why = words_find(words, n, "why");
    why = is_gap && why ? why : "";
    if (!stream_id_parse(words_find(words, n, "id"), &at.ring, &at.serial)) {
        /* The next answer says it again, or more. */
        copies->has_failed |= strcmp(why, "down") == 0;
        return true;
    }
    bool is_known = at.ring == before.ring && at.serial == before.serial;
    if (copies->awaits_known && !is_known) { /* the database has forgotten it, and perhaps more */
        is_added = days_add_gap(days, before.ended, from, "overwritten", 0, &before);
    }
    copies->awaits_known = false;
    if (!is_added || is_known) {
        return is_added;
    }
    int64_t until = (int64_t)number_of(words, n, "until");
    return is_gap ? days_add_gap(days, from, until, why, number_of(words, n, "n"), &at)
                  : add_line(days, words, n, line, &at);
}

static bool take_entry(struct copies *copies, char *line)
{
    char *words[MAX_WORDS], *copy = memory_string(line);
    size_t n = words_split(copy, words, MAX_WORDS);
    bool is_added = n < 2 || add_entry(copies, words, n, line);
    free(copy);
    return is_added;
}

/* What is kept is complete from the database's first entry on. */
static bool take_head(struct copies *copies, char *line)
{
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    uint64_t since = 0;
    copies->has_begun = true;
    copies->has_failed = n == 0 || strcmp(words[0], "ok") != 0;
    if (copies->has_failed || !copies->asked || copies->asked->days.n > 0 ||
        !words_find_number(words, n, "since", &since)) {
        return !copies->has_failed;
    }
    return days_add_seen(&copies->asked->days, (int64_t)since, &(struct drained){0});
}

static enum answer_result copies_take(void *object, char *line)
{
    static const char database[] = "database ", ended[] = "ended ", did[] = "did ", gap[] = "gap ";
    struct copies *copies = object;
    bool is_good = true;
    if (!copies->has_begun) {
        is_good = take_head(copies, line);
    } else if (strcmp(line, "end") == 0) {
        return ANSWER_END;
    } else if (!copies->asked && strncmp(line, database, strlen(database)) == 0) {
        char *name = line + strlen(database);
        if (percent_decode(name) && !copies_find(copies, name)) {
            add_copy(copies, name);
        }
    } else if (copies->asked && (strncmp(line, ended, strlen(ended)) == 0 ||
                                    strncmp(line, did, strlen(did)) == 0 ||
                                    strncmp(line, gap, strlen(gap)) == 0)) {
        is_good = take_entry(copies, line);
    }
    copies->has_failed |= !is_good;
    return is_good ? ANSWER_MORE : ANSWER_END;
}

/* ---- questions ---- */

/* From just before the newest entry that is known: that it comes again shows that no other has gone
 * in between. */
static void ask_entries(struct copies *copies, struct copy *copy, struct text *line)
{
    const struct drained *at = &copy->days.added;
    text_add(line, "history");
    text_add_key(line, "database", copy->name);
    copies->awaits_known = at->ring > 0;
    text_add_format(line, " after=%ju-%ju\n",
        (uintmax_t)(at->ring > 0 && at->serial == 0 ? at->ring - 1 : at->ring),
        (uintmax_t)(at->ring == 0 ? 0 : at->serial - 1)); /* 0: the last one of the ms before */
}

/* `copy` NULL: for the names. */
static void copies_ask(struct copies *copies, struct copy *copy, nanoseconds now)
{
    struct text line = TEXT_INIT;
    if (copy && !days_find_drained(&copy->days)) {
        copy->tried_at = now;
        return;
    }
    copies->asked = copy;
    copies->is_asking = true;
    copies->has_begun = copies->has_failed = false;
    copies->asked_at = copies->heard_at = now;
    if (copy) {
        ask_entries(copies, copy, &line);
    } else {
        text_add(&line, "metrics\n"); /* the only one that names them without asking them */
    }
    bool is_open = copies->connection.fd >= 0 ||
        connection_open(&copies->connection, &copies->endpoint) == 0;
    if (is_open) { /* if it cannot be sent, the end of the connection is there to be read */
        connection_send(&copies->connection, line.bytes, line.length);
    }
    text_deinit(&line);
}

/* An answer has ended, or `is_lost`. Without the newest entry that is known it is not whole: the
 * database has forgotten that, and perhaps more, but has nothing newer yet. */
static void end_answer(struct copies *copies, bool is_lost)
{
    struct copy *copy = copies->asked;
    copies->is_asking = false;
    if (copy) {
        copy->tried_at = copies->asked_at;
        if (!is_lost && !copies->has_failed && !copies->awaits_known) {
            copy->whole_tried_at = copies->asked_at;
            copy->whole_at = (int64_t)milliseconds(clock_wall_now());
        }
    } else if (!is_lost) {
        copies->names_at = copies->asked_at + NAMES_AGAIN;
    }
    if (is_lost || copies->has_failed) { /* perhaps in the middle of an answer */
        connection_close(&copies->connection);
    }
}

static void go_on(struct copies *copies, nanoseconds now)
{
    if (now >= copies->names_at) {
        copies->names_at = now + PAUSE;
        copies_ask(copies, NULL, now);
    } else if (copies->next < copies->n) {
        copies_ask(copies, copies->list[copies->next++], now);
    } else {
        copies->next = 0;
        copies->act_at = now + PAUSE;
    }
}

bool copies_look(struct copies *copies, nanoseconds now)
{
    enum connection_taken taken = TAKEN_MORE;
    if (!copies->is_on || (!copies->is_asking && now < copies->act_at)) {
        return false;
    }
    if (!copies->is_asking) {
        go_on(copies, now);
    }
    for (int i = 0; copies->is_asking && taken == TAKEN_MORE && i < READS_AT_ONCE; i++) {
        struct pollfd readable = {.fd = copies->connection.fd, .events = POLLIN};
        if (readable.fd < 0) {
            taken = TAKEN_CLOSED;
        } else if (poll_until(&readable, 1, now) <= 0) {
            taken = now - copies->heard_at > PATIENCE ? TAKEN_CLOSED : TAKEN_MORE;
            break;
        } else {
            taken = connection_take(&copies->connection, copies_take, copies);
            copies->heard_at = now;
        }
    }
    if (copies->asked && !days_commit(&copies->asked->days)) {
        copies->has_failed = true;
        taken = TAKEN_CLOSED;
    }
    if (copies->is_asking && taken != TAKEN_MORE) {
        end_answer(copies, taken != TAKEN_ALL);
    }
    return copies->is_asking || now >= copies->act_at;
}

bool copies_await(struct copies *copies, const struct copy *copy, nanoseconds since)
{
    nanoseconds now = clock_now();
    if (copy->tried_at >= since) {
        return false;
    }
    if (!copies->is_asking) {
        copies_ask(copies, copies_find(copies, copy->name), now);
    }
    struct pollfd answer = {.fd = copies->connection.fd, .events = POLLIN};
    poll_until(&answer, 1, now + GLANCE);
    copies_look(copies, clock_now());
    return copy->tried_at < since;
}

int64_t copy_cut(const struct copy *copy, nanoseconds since)
{
    int64_t last = copy->whole_at > 0 ? copy->whole_at : copy->days.committed.ended;
    return copy->whole_tried_at < since ? last : 0;
}

/* ---- life ---- */

void copies_begin(struct copies *copies, const struct endpoint *berthd, const char *directory,
    nanoseconds keep, uint64_t size)
{
    *copies = (struct copies){.is_on = true,
        .endpoint = *berthd,
        .directory = directory,
        .keep = keep,
        .size = size,
        .connection = CONNECTION_INIT};
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0) {
            add_copy(copies, entry->d_name + strlen(PREFIX));
        }
    }
    if (entries) {
        closedir(entries);
    }
}

void copies_tend(struct copies *copies, int64_t now)
{
    for (size_t i = 0; i < copies->n; i++) {
        days_tend(&copies->list[i]->days, now);
    }
}

void copies_end(struct copies *copies)
{
    for (size_t i = 0; i < copies->n; i++) {
        days_close(&copies->list[i]->days);
        free(copies->list[i]->name);
        free(copies->list[i]);
    }
    free(copies->list);
    if (copies->is_on) {
        connection_close(&copies->connection);
    }
}
