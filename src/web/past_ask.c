#include "web/past_ask.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "web/berthd_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const nanoseconds silence_kept = 10 * NANOSECONDS_PER_SECOND;
static const nanoseconds hello_kept = 5 * NANOSECONDS_PER_SECOND;

static const char silent[] = "no answer in time, a moment ago", away[] = "nobody answers there";

static void ask_berthd(struct past_source *source);

/* ---- who is silent ---- */

static struct silence *find_silence(struct past_asker *asker, const char *database)
{
    for (size_t i = 0; i < asker->n_silences; i++) {
        const char *other = asker->silences[i].database;
        if (database ? other && strcmp(other, database) == 0 : !other) {
            return &asker->silences[i];
        }
    }
    return NULL;
}

static bool is_silent(struct past_asker *asker, const char *database)
{
    const struct silence *silence = find_silence(asker, database);
    return silence && clock_now() < silence->until;
}

static void note_silence(struct past_asker *asker, const char *database)
{
    struct silence *silence = find_silence(asker, database);
    if (!silence) {
        asker->silences =
            memory_grow(asker->silences, asker->n_silences, sizeof *asker->silences);
        silence = &asker->silences[asker->n_silences++];
        silence->database = memory_string(database);
    }
    silence->until = clock_now() + silence_kept;
}

void past_asker_deinit(struct past_asker *asker)
{
    for (size_t i = 0; i < asker->n_silences; i++) {
        free(asker->silences[i].database);
    }
    free(asker->silences);
}

/* ---- answers ---- */

static enum answer_result past_source_take(void *object, char *line)
{
    struct past_source *source = object;
    struct answer answer;
    if (source->past.begun || strncmp(line, "error ", strlen("error ")) != 0) {
        return past_take(&source->past, line);
    }
    answer_parse(&answer, line);
    const char *why = answer_why(&answer);
    snprintf(source->refusal, sizeof source->refusal, "%s", why ? why : "");
    return why ? ANSWER_END : ANSWER_MALFORMED;
}

static void source_ends(struct past_source *source)
{
    struct past_ask *ask = source->ask;
    if (--ask->n_open == 0) {
        ask->end(ask->context);
    }
}

/* Whether all has been told; else `out` says why not. */
static bool source_hears(struct past_source *source, const char *why, char out[PAST_WHY_SIZE])
{
    source->talk = NULL;
    source->has_told = !why && source->past.begun;
    if (!source->has_told) {
        snprintf(out, PAST_WHY_SIZE, "%s", why ? why : source->refusal);
        past_deinit(&source->past);
    }
    return source->has_told;
}

static void on_berthd_told(void *context, const char *why)
{
    struct past_source *source = context;
    source_hears(source, why, source->why);
    if (why && source->database) {
        note_silence(source->ask->asker, source->database);
    }
    source_ends(source);
}

static void on_history_told(void *context, const char *why)
{
    struct past_source *source = context;
    source->is_berth_history = source_hears(source, why, source->history_why);
    if (source->is_berth_history) {
        source_ends(source);
        return;
    }
    if (why) {
        note_silence(source->ask->asker, NULL);
    }
    ask_berthd(source);
}

/* ---- requests ---- */

static void add_ago(struct text *line, const char *key, uint64_t instant)
{
    uint64_t now = milliseconds(clock_wall_now());
    if (instant < now) {
        text_add_number_key(line, key, now - instant);
    }
}

static void print_request(const struct past_source *source, struct text *line)
{
    const struct past_question *question = source->ask->question;
    text_add(line, "history");
    text_add_key(line, "database", source->database);
    add_ago(line, "since", question->from);
    add_ago(line, "until", question->until);
    text_add_number_key(line, "limit", question->limit);
    if (question->resource) {
        text_add(line, " ");
        text_add(line, question->resource);
    }
    text_add(line, "\n");
}

/* False: nobody is there. */
static bool begin_talk(struct past_source *source, const struct endpoint *endpoint,
    void (*end)(void *context, const char *why))
{
    const struct request_callbacks talker = {past_source_take, source, end, source};
    struct text line = TEXT_INIT;
    print_request(source, &line);
    source->talk = berthd_request_begin(
        source->ask->asker->loop, endpoint, line.bytes, PAST_LIMIT_MS, &talker);
    text_deinit(&line);
    return source->talk != NULL;
}

static void ask_berthd(struct past_source *source)
{
    struct past_asker *asker = source->ask->asker;
    if (source->database && is_silent(asker, source->database)) {
        strcpy(source->why, silent);
        source_ends(source);
    } else if (!begin_talk(source, asker->berthd, on_berthd_told)) {
        strcpy(source->why, away);
        source_ends(source);
    }
}

static void ask_history(struct past_source *source)
{
    struct past_asker *asker = source->ask->asker;
    if (asker->history.path[0] == '\0') {
        ask_berthd(source);
    } else if (is_silent(asker, NULL)) {
        strcpy(source->history_why, silent);
        ask_berthd(source);
    } else if (!begin_talk(source, &asker->history, on_history_told)) {
        strcpy(source->history_why, away);
        ask_berthd(source);
    }
}

/* ---- where berth-history is ---- */

static enum answer_result take_hello(void *object, char *line)
{
    struct past_asker *asker = object;
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    if (n == 0 || strcmp(words[0], "ok") != 0) {
        return ANSWER_MALFORMED;
    }
    char *path = words_find(words, n, "history");
    bool is_given = path && percent_decode(path) && path[0] == '/' &&
        strlen(path) < sizeof asker->history.path;
    strcpy(asker->history.path, is_given ? path : "");
    return ANSWER_END;
}

/* A berthd that is away, or hangs, has not moved it. */
static void on_hello(void *context, const char *why)
{
    struct past_source *source = context;
    source->talk = NULL;
    source->ask->asker->hello_at = why ? 0 : clock_now();
    ask_history(source);
}

static void ask_host(struct past_source *source)
{
    struct past_asker *asker = source->ask->asker;
    const struct request_callbacks talker = {take_hello, asker, on_hello, source};
    if (asker->hello_at == 0 || clock_now() - asker->hello_at > hello_kept) {
        source->talk = berthd_request_begin(
            asker->loop, asker->berthd, "hello program=berth-web\n", PAST_LIMIT_MS, &talker);
    }
    if (!source->talk) {
        ask_history(source);
    }
}

/* ---- life ---- */

void past_ask_begin(struct past_ask *ask, struct past_asker *asker,
    const struct past_question *question, const char *const *databases, size_t n,
    void (*end)(void *context), void *context)
{
    *ask = (struct past_ask){
        .question = question, .asker = asker, .end = end, .context = context, .n_open = n + 2};
    ask->n_sources = n + 1;
    ask->sources = memory_new(ask->n_sources * sizeof *ask->sources);
    for (size_t i = 0; i < ask->n_sources; i++) {
        ask->sources[i] = (struct past_source){
            .ask = ask, .database = i > 0 ? memory_string(databases[i - 1]) : NULL};
    }
    ask_host(&ask->sources[0]);
    for (size_t i = 1; i < ask->n_sources; i++) {
        ask_berthd(&ask->sources[i]);
    }
    source_ends(&ask->sources[0]); /* all have begun */
}

void past_ask_stop(struct past_ask *ask)
{
    for (size_t i = 0; i < ask->n_sources; i++) {
        berthd_request_stop(ask->sources[i].talk);
        past_deinit(&ask->sources[i].past);
        free(ask->sources[i].database);
    }
    free(ask->sources);
    *ask = (struct past_ask){0};
}
