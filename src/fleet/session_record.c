/* session_record.c - the session's tenure as a line, which outlives the daemon. What is read back
 * may be damaged. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which database ----
 *
 * How far a database has got is compared only with the same database: its address and its keys. Its
 * user and password may change, and some of its hosts: a Sentinel or a node is replaced. So each
 * host gives one hash, and places with one in common are the same. */

enum { HASH_DIGITS = 8 };

static void session_record_place_of(const struct database *settings, char place[PLACE_BYTES])
{
    const struct redis_url *url = &settings->url;
    uint64_t keys = hash_string(settings->prefix, ((uint64_t)url->db << 8) + url->scheme);
    keys = hash_string(url->path ? url->path : "", keys);
    keys = hash_string(url->master ? url->master : "", keys);
    size_t i = 0;
    do { /* a Unix socket has no host */
        uint64_t hash =
            i < url->n_hosts ? hash_string(url->hosts[i].host, keys ^ url->hosts[i].port) : keys;
        snprintf(place + i * HASH_DIGITS, HASH_DIGITS + 1, "%08jx", (uintmax_t)(hash >> 32));
    } while (++i < url->n_hosts);
}

bool place_is_ours(const struct session *session, const char *text, bool *is_older)
{
    char ours[PLACE_BYTES];
    session_record_place_of(session->settings, ours);
    for (const char *our_hash = ours; *our_hash; our_hash += HASH_DIGITS) {
        for (const char *theirs = text; strlen(theirs) >= HASH_DIGITS; theirs += HASH_DIGITS) {
            if (memcmp(our_hash, theirs, HASH_DIGITS) == 0) {
                *is_older |= strcmp(ours, text) != 0;
                return true;
            }
        }
    }
    return false;
}

void place_write(const struct session *session, struct text *out)
{
    char ours[PLACE_BYTES];
    session_record_place_of(session->settings, ours);
    text_add(out, ours);
}

static void take_sequence(struct session *session, const char *text)
{
    uint64_t sequence;
    if (text && number_parse(text, MAX_DATABASE_NUMBER, &sequence) &&
        sequence > session->reached.sequence) {
        session->reached.sequence = session->reached.written_sequence = sequence;
    }
}

bool session_is_changed(const struct session *session)
{
    return session->tenure.is_changed;
}

bool session_changes_changed(const struct session *session)
{
    return session->changes.is_unwritten;
}

/* The numbers of the line, in their order; the first N_TENURE make it whole. */
enum { UNTIL, TTL, INCARNATION, TOKEN, TICKET, N_TENURE, SEQUENCE = N_TENURE, EVENT, N_NUMBERS };

static const struct {
    const char *key;
    size_t offset; /* in struct session */
    uint64_t max;
} number_rows[N_NUMBERS] = {
    [UNTIL] = {"until", offsetof(struct session, tenure.good_until), INT64_MAX},
    [TTL] = {"ttl", offsetof(struct session, tenure.ttl), (uint64_t)LONGEST_TTL},
    [INCARNATION] =
        {"incarnation", offsetof(struct session, tenure.incarnation), MAX_DATABASE_NUMBER},
    [TOKEN] = {"token", offsetof(struct session, tenure.highest_token), MAX_DATABASE_NUMBER},
    [TICKET] = {"ticket", offsetof(struct session, tenure.highest_ticket), MAX_DATABASE_NUMBER},
    [SEQUENCE] = {"sequence", offsetof(struct session, reached.sequence), MAX_DATABASE_NUMBER},
    [EVENT] = {"event", offsetof(struct session, reached.event), MAX_DATABASE_NUMBER},
};

void session_write(struct session *session, struct text *out)
{
    session->tenure.is_changed = false;
    session->reached.written_sequence = session->reached.sequence;
    session->reached.written_event = session->reached.event;
    for (size_t i = 0; i < N_NUMBERS; i++) {
        const uint64_t *number = (const void *)((const char *)session + number_rows[i].offset);
        text_add(out, i > 0 ? " " : "");
        text_add(out, number_rows[i].key);
        text_add(out, "=");
        text_add_number(out, *number);
    }
    text_add(out, " place=");
    place_write(session, out);
    text_add_key(out, "session", session->id);
    text_add(out, session->tenure.kept ? session->tenure.kept : "");
}

static bool has_key(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=';
}

static bool is_ours(const char *word)
{
    bool is_known = has_key(word, "place") || has_key(word, "session");
    for (size_t i = 0; i < N_NUMBERS; i++) {
        is_known |= has_key(word, number_rows[i].key);
    }
    return is_known;
}

static void keep_others(struct session *session, char *const words[], size_t n_words)
{
    struct text kept = TEXT_INIT;
    for (size_t i = 0; i < n_words; i++) {
        if (*words[i] && !is_ours(words[i])) {
            text_add(&kept, " ");
            text_add(&kept, words[i]);
        }
    }
    free(session->tenure.kept);
    session->tenure.kept = kept.bytes;
}

/* The leases are known by this id, even if the host's name or directories change. */
static void take_id(struct session *session, const char *id)
{
    if (id && strlen(id) == SESSION_ID_SIZE - 1 &&
        strspn(id, "0123456789abcdef") == SESSION_ID_SIZE - 1) {
        memcpy(session->id, id, SESSION_ID_SIZE);
    }
}

/* Older versions did not write it down. */
static void take_reached(struct session *session, char *const words[], size_t n_words)
{
    uint64_t number;
    const char *event = words_find(words, n_words, number_rows[EVENT].key);
    const char *place = words_find(words, n_words, "place");
    if (place && place_is_ours(session, place, &session->tenure.is_changed)) {
        take_sequence(session, words_find(words, n_words, number_rows[SEQUENCE].key));
        if (event && number_parse(event, number_rows[EVENT].max, &number)) {
            session->reached.event = session->reached.written_event = number;
        }
    }
}

bool session_restore_tenure(struct session *session, const char *text, size_t length,
    nanoseconds now, struct effects *effects)
{
    session_at(session, now, effects);
    enum { MAX_KEYS = 128 }; /* with those of later versions */
    uint64_t values[N_TENURE];
    char *words[MAX_KEYS];
    char *line = memory_new(length + 1);
    memcpy(line, length > 0 ? text : "", length);
    size_t n_words = words_split(line, words, MAX_KEYS);
    bool is_whole = true;
    for (size_t i = 0; i < N_TENURE; i++) {
        const char *value = words_find(words, n_words, number_rows[i].key);
        is_whole = is_whole && value && number_parse(value, number_rows[i].max, &values[i]);
    }
    take_id(session, words_find(words, n_words, "session"));
    take_reached(session, words, n_words);
    keep_others(session, words, n_words);
    free(line);
    if (!is_whole || values[TTL] < (uint64_t)SHORTEST_TTL) {
        return false;
    }
    session->tenure.ttl = (nanoseconds)values[TTL];
    session->tenure.incarnation = values[INCARNATION];
    session_note_numbers(session, values[TOKEN], values[TICKET]);
    session->tenure.good_until = (nanoseconds)values[UNTIL];
    if (session->tenure.good_until > session->now + timing_good_for(session->tenure.ttl)) {
        session->tenure.good_until = 0; /* of another boot's clock */
    }
    core_fleet_good_until(session->core, session->database, session->tenure.good_until,
        session->now, session->effects);
    return true;
}

/* ---- the changes' database, and how far it was, in case the journal is lost ----
 *
 *     @ PLACE SEQUENCE          no resource's name begins so */

static const char reached_word[] = "@ ";

void reached_write(const struct session *session, struct text *out)
{
    if (*session->changes.foreign_place) { /* no call has been answered here yet */
        text_add_format(out, "%s%s 0\n", reached_word, session->changes.foreign_place);
    } else if (session->reached.sequence > 0) {
        text_add(out, reached_word);
        place_write(session, out);
        text_add_format(out, " %ju\n", (uintmax_t)session->reached.sequence);
    }
}

bool reached_restore(struct session *session, char *line, bool *is_older)
{
    if (strncmp(line, reached_word, sizeof reached_word - 1) != 0) {
        return false;
    }
    char *place = line + sizeof reached_word - 1, *sequence = strchr(place, ' ');
    if (!sequence) {
        return true;
    }
    *sequence++ = '\0';
    if (place_is_ours(session, place, is_older)) {
        take_sequence(session, sequence);
    } else if (strlen(place) < PLACE_BYTES) {
        memcpy(session->changes.foreign_place, place, strlen(place) + 1);
    }
    return true;
}
