#include "web/past_ask.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "web/berthd_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 }; /* of an answer */

static const nanoseconds silence_kept = 5 * NANOSECONDS_PER_SECOND;
static const nanoseconds hello_kept = 5 * NANOSECONDS_PER_SECOND;

static const char silent[] = "it has not answered a moment ago", away[] = "nobody answers there";

static void ask_berthd(struct past_teller *teller);

/* ---- who is silent ---- */

/* No database is called so. */
static const char berth_history[] = "/", berthd_itself[] = "";

static struct silence *find_silence(struct past_asker *asker, const char *who)
{
    for (size_t i = 0; i < asker->n_silences; i++) {
        if (strcmp(asker->silences[i].who, who) == 0) {
            return &asker->silences[i];
        }
    }
    return NULL;
}

static bool is_silent(struct past_asker *asker, const char *who)
{
    const struct silence *silence = find_silence(asker, who);
    return silence && clock_now() < silence->until;
}

/* If that is why it has not told. */
static void note_silence(struct past_asker *asker, const char *who, const char *why)
{
    struct silence *silence = find_silence(asker, who);
    if (why != request_is_late) {
        return;
    }
    if (!silence) {
        asker->silences = memory_grow(asker->silences, asker->n_silences, sizeof *asker->silences);
        silence = &asker->silences[asker->n_silences++];
        silence->who = memory_string(who);
    }
    silence->until = clock_now() + silence_kept;
}

/* Who is asked if it is not berth-history. */
static const char *whose(const struct past_teller *teller)
{
    return teller->database ? teller->database : berthd_itself;
}

void past_asker_deinit(struct past_asker *asker)
{
    for (size_t i = 0; i < asker->n_silences; i++) {
        free(asker->silences[i].who);
    }
    free(asker->silences);
}

/* ---- answers ---- */

static enum answer_result past_teller_take(void *object, char *line)
{
    struct past_teller *teller = object;
    struct answer answer;
    teller->n_bytes += strlen(line);
    if (teller->n_bytes > MOST_BYTES) {
        strcpy(teller->refusal, "it says too much");
        return ANSWER_END;
    }
    if (teller->past.begun || strncmp(line, "error ", strlen("error ")) != 0) {
        return past_take(&teller->past, line);
    }
    answer_parse(&answer, line);
    const char *why = answer_why(&answer);
    snprintf(teller->refusal, sizeof teller->refusal, "%s", why ? why : "");
    return why ? ANSWER_END : ANSWER_MALFORMED;
}

static void teller_ends(struct past_teller *teller)
{
    struct past_ask *ask = teller->ask;
    if (--ask->n_open == 0) {
        ask->end(ask->context);
    }
}

/* Whether all has been told; else `out` says why not. */
static bool teller_hears(struct past_teller *teller, const char *why, char out[PAST_WHY_SIZE])
{
    teller->talk = NULL;
    teller->n_bytes = 0;
    teller->has_told = !why && teller->refusal[0] == '\0' && teller->past.begun;
    if (!teller->has_told) {
        snprintf(out, PAST_WHY_SIZE, "%s", why ? why : teller->refusal);
        past_deinit(&teller->past);
        teller->refusal[0] = '\0';
    }
    return teller->has_told;
}

static void on_berthd_told(void *context, const char *why)
{
    struct past_teller *teller = context;
    teller_hears(teller, why, teller->why);
    note_silence(teller->ask->asker, whose(teller), why);
    teller_ends(teller);
}

static void on_history_told(void *context, const char *why)
{
    struct past_teller *teller = context;
    bool is_other = !why && teller->past.begun && !past_has(&teller->past, teller->database);
    const char *wrong = is_other ? "it tells of something else" : why;
    teller->is_berth_history = teller_hears(teller, wrong, teller->history_why);
    if (teller->is_berth_history) {
        teller_ends(teller);
        return;
    }
    note_silence(teller->ask->asker, berth_history, why);
    ask_berthd(teller);
}

/* ---- requests ---- */

static void add_ago(struct text *line, const char *key, uint64_t instant)
{
    uint64_t now = milliseconds(clock_wall_now());
    if (instant < now) {
        text_add_number_key(line, key, now - instant);
    }
}

static void print_request(const struct past_teller *teller, struct text *line)
{
    const struct past_question *question = teller->ask->question;
    text_add(line, "history");
    text_add_key(line, "database", teller->database);
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
static bool begin_talk(struct past_teller *teller, const struct endpoint *endpoint,
    void (*end)(void *context, const char *why))
{
    const struct request_callbacks talker = {past_teller_take, teller, end, teller};
    bool is_redis_asked = teller->database && end == on_berthd_told;
    uint64_t limit = is_redis_asked ? PAST_DATABASE_LIMIT_MS : PAST_LIMIT_MS;
    struct text line = TEXT_INIT;
    print_request(teller, &line);
    teller->talk = berthd_request_begin(
        teller->ask->asker->loop, endpoint, line.bytes, limit, &talker);
    text_deinit(&line);
    return teller->talk != NULL;
}

static void ask_berthd(struct past_teller *teller)
{
    struct past_asker *asker = teller->ask->asker;
    if (is_silent(asker, whose(teller))) {
        strcpy(teller->why, silent);
        teller_ends(teller);
    } else if (!begin_talk(teller, asker->berthd, on_berthd_told)) {
        strcpy(teller->why, away);
        teller_ends(teller);
    }
}

static void ask_history(struct past_teller *teller)
{
    struct past_asker *asker = teller->ask->asker;
    if (asker->history.path[0] == '\0') {
        ask_berthd(teller);
    } else if (is_silent(asker, berth_history)) {
        strcpy(teller->history_why, silent);
        ask_berthd(teller);
    } else if (!begin_talk(teller, &asker->history, on_history_told)) {
        strcpy(teller->history_why, away);
        ask_berthd(teller);
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

/* If berthd has not said it, it is where it was. */
static void on_hello(void *context, const char *why)
{
    struct past_teller *teller = context;
    struct past_asker *asker = teller->ask->asker;
    teller->talk = NULL;
    note_silence(asker, berthd_itself, why);
    asker->hello_at = why ? asker->hello_at : clock_now();
    ask_history(teller);
}

static void ask_host(struct past_teller *teller)
{
    struct past_asker *asker = teller->ask->asker;
    const struct request_callbacks talker = {take_hello, asker, on_hello, teller};
    bool is_old = asker->hello_at == 0 || clock_now() - asker->hello_at > hello_kept;
    if (is_old && !is_silent(asker, berthd_itself)) {
        teller->talk = berthd_request_begin(
            asker->loop, asker->berthd, "hello program=berth-web\n", PAST_LIMIT_MS, &talker);
    }
    if (!teller->talk) {
        ask_history(teller);
    }
}

/* ---- life ---- */

void past_ask_begin(struct past_ask *ask, struct past_asker *asker,
    const struct past_question *question, const char *const *databases, size_t n,
    void (*end)(void *context), void *context)
{
    *ask = (struct past_ask){
        .question = question, .asker = asker, .end = end, .context = context, .n_open = n + 2};
    ask->n_tellers = n + 1;
    ask->tellers = memory_new(ask->n_tellers * sizeof *ask->tellers);
    for (size_t i = 0; i < ask->n_tellers; i++) {
        ask->tellers[i] = (struct past_teller){
            .ask = ask, .database = i > 0 ? memory_string(databases[i - 1]) : NULL};
    }
    ask_host(&ask->tellers[0]);
    for (size_t i = 1; i < ask->n_tellers; i++) {
        ask_history(&ask->tellers[i]); /* if it copies that one */
    }
    teller_ends(&ask->tellers[0]); /* all have begun */
}

void past_ask_stop(struct past_ask *ask)
{
    for (size_t i = 0; i < ask->n_tellers; i++) {
        berthd_request_stop(ask->tellers[i].talk);
        past_deinit(&ask->tellers[i].past);
        free(ask->tellers[i].database);
    }
    free(ask->tellers);
    *ask = (struct past_ask){0};
}
