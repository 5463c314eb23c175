/* session_changes.c - operators' changes to the whole database, as this daemon keeps them: on its
 * disk, and for a database that has lost them. What is read back may be damaged.
 *
 * Of two changes to one name the newer holds; "{}" undoes a change. Everybody forgets undone
 * changes in time, and remembers the floor instead: a daemon that has followed the database up to
 * the floor knows that all changes below it, except those that it still has, were undone. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT_BYTES = 4096 }; /* of lines of a later version */

static const char undone[] = "{}";
static const char floor_word[] = "floor";

static bool is_undone(const struct session_known *change)
{
    return strcmp(change->json, undone) == 0;
}

void changes_deinit(struct session *session)
{
    session_known_deinit(&session->changes.known);
    text_deinit(&session->changes.kept);
}

/* ---- keeping one ---- */

/* Of the changes that undo something, the oldest can go. */
static bool session_changes_make_room(struct session *session)
{
    struct session_known *change;
    if (session->changes.known.by_name.n < session->bounds->changes) {
        return true;
    }
    TAILQ_FOREACH (change, &session->changes.known.all, link) {
        if (is_undone(change)) {
            session_known_free(&session->changes.known, change);
            return true;
        }
    }
    return false;
}

static struct session_known *change_new(struct session *session, const char *name)
{
    if (!session_changes_make_room(session)) {
        session_say(session, "%s: more than %zu changes are not remembered", name,
            session->bounds->changes);
        return NULL;
    }
    return session_known_add(&session->changes.known, name);
}

static bool is_json_line(const struct session *session, const char *json)
{
    size_t n = strlen(json);
    return n >= 2 && n <= session->bounds->change_bytes && json[0] == '{' && json[n - 1] == '}' &&
        !strchr(json, '\n');
}

/* Keeps the change unless a newer one is known or it is malformed; `is_unsent`: the database lacks
 * it. */
static void keep(
    struct session *session, const char *name, uint64_t version, const char *json, bool is_unsent)
{
    struct session_known *change = session_known_find(&session->changes.known, name);
    bool is_name = name_is_valid(name) || template_name_is_valid(name);
    if ((change && change->version > version) || !is_name ||
        !is_json_line(session, json)) {
        return;
    }
    if (!change && !(change = change_new(session, name))) {
        return;
    }
    if (!change->json || change->version != version || strcmp(change->json, json) != 0) {
        free(change->json);
        change->json = memory_string(json);
        change->version = version;
        session->changes.is_unwritten = true;
    }
    session_known_set_unsent(&session->changes.known, change, is_unsent);
}

/* ---- what the database has ---- */

void changes_arrive(struct session *session, bool is_grace)
{
    if (!*session->changes.foreign_place) {
        return;
    }
    while (!is_grace && !TAILQ_EMPTY(&session->changes.known.all)) {
        session_known_free(&session->changes.known, TAILQ_FIRST(&session->changes.known.all));
    }
    *session->changes.foreign_place = '\0';
    session->changes.is_unwritten = true;
}

/* A change that this daemon does not have: the database has lost that it was undone. */
static bool was_undone(const struct session *session, uint64_t version)
{
    return version <= session->changes.floor && session->changes.floor > session->news.floor_there;
}

void change_hear(struct session *session, const char *name, uint64_t version, const char *json)
{
    struct session_known *change = session_known_find(&session->changes.known, name);
    if (change && change->version > version) {
        /* The database has lost the newer one. */
        session_known_set_unsent(&session->changes.known, change, true);
    } else if (change || !was_undone(session, version)) {
        keep(session, name, version, json, false);
    } else if (strcmp(json, undone) != 0) {
        keep(session, name, session->changes.floor, undone, true);
    }
}

/* Forgets changes that the database has undone so long ago that it does not remember. */
static void forget_lost(struct session *session)
{
    struct session_known *change, *next;
    for (change = TAILQ_FIRST(&session->changes.known.unsent); change; change = next) {
        next = TAILQ_NEXT(change, unsent_link);
        if (change->version <= session->news.floor_there) {
            session_known_free(&session->changes.known, change);
            session->changes.is_unwritten = true;
        }
    }
}

static void forget_undone(struct session *session)
{
    struct session_known *change, *next;
    for (change = TAILQ_FIRST(&session->changes.known.all); change; change = next) {
        next = TAILQ_NEXT(change, link);
        if (change->version <= session->changes.floor && is_undone(change) && !change->is_unsent) {
            session_known_free(&session->changes.known, change);
        }
    }
}

void changes_are_heard(struct session *session)
{
    if (session->changes.floor < session->news.floor_there) {
        forget_lost(session);
        session->changes.floor = session->news.floor_there;
        forget_undone(session);
        session->changes.is_unwritten = true;
    }
}

/* ---- on disk ---- */

void session_write_changes(struct session *session, struct text *out)
{
    const struct session_known *change;
    session->changes.is_unwritten = false;
    reached_write(session, out);
    if (session->changes.floor > 0) {
        text_add_format(out, "%s %ju ", floor_word, (uintmax_t)session->changes.floor);
        place_write(session, out);
        text_add(out, "\n");
    }
    if (session->changes.kept.length > 0) {
        text_add(out, session->changes.kept.bytes);
    }
    TAILQ_FOREACH (change, &session->changes.known.all, link) {
        text_add_format(out, "%s %ju %s\n", change->name, (uintmax_t)change->version, change->json);
    }
}

/* No name of a resource begins so. */
static bool is_of_later_version(const char *line)
{
    return *line != '\0' && strchr("!=@~", *line);
}

static void keep_line(struct session *session, const char *line)
{
    struct text *kept = &session->changes.kept;
    if (kept->length + strlen(line) < MAX_KEPT_BYTES) {
        text_add(kept, line);
        text_add(kept, "\n");
    }
}

/* "NAME VERSION JSON", or "floor VERSION PLACE": a resource may also be called floor. */
static void restore_line(struct session *session, char *line, bool *is_older)
{
    if (reached_restore(session, line, is_older)) {
        return;
    }
    if (is_of_later_version(line)) {
        keep_line(session, line);
        return;
    }
    char *version = strchr(line, ' ');
    char *rest = version ? strchr(version + 1, ' ') : NULL;
    uint64_t number;
    if (!rest) {
        return;
    }
    *version = *rest = '\0';
    if (!number_parse(version + 1, MAX_CREDIBLE_NUMBER, &number)) {
        return;
    }
    if (strcmp(line, floor_word) == 0 && place_is_ours(session, rest + 1, is_older)) {
        session->changes.floor = number;
    } else {
        keep(session, line, number, rest + 1, true);
    }
}

void session_restore_changes(struct session *session, const char *text, size_t length)
{
    bool is_older = false;
    char *copy = memory_new(length + 1), *next;
    memcpy(copy, length > 0 ? text : "", length);
    for (char *line = copy; line; line = next) {
        next = strchr(line, '\n');
        if (next) {
            *next++ = '\0';
        }
        restore_line(session, line, &is_older);
    }
    free(copy);
    session->changes.is_unwritten = is_older;
}
