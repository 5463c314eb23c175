#include "web/web.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "web/past_answer.h"

#include <stdlib.h>
#include <string.h>

enum {
    LIMIT = 1000,
    MOST = 5000,
    DAY_MS = 24 * 3600 * 1000,
    MOST_ASKED = 2, /* questions at once */
    MOST_LOOKS = 32, /* questions that wait, are asked, or whose answers are kept */
    MOST_DATABASES = 16,
    COST = 10, /* making answers takes at most one part of so many of the time */
};

static const nanoseconds longest_kept = NANOSECONDS_PER_SECOND;

/* A question, and all who wait for its answer, or its answer. */
struct past_look {
    struct past_looks *looks;
    struct past_question question;
    uint64_t live; /* the serial of the copy when it came: what ends later is not in its answer */
    struct past_ask ask;
    nanoseconds asked_at; /* 0: not yet */
    struct http_request **waiting;
    size_t n_waiting;
    struct http_bytes *made; /* NULL: not yet */
    nanoseconds made_at, again_at; /* so long it is good, whatever has changed */
    TAILQ_ENTRY(past_look) entry;
};

static void ask_next(struct past_looks *looks);

/* ---- life ---- */

static void look_free(struct past_look *look)
{
    struct past_looks *looks = look->looks;
    TAILQ_REMOVE(&looks->list, look, entry);
    looks->n--;
    past_ask_stop(&look->ask);
    http_bytes_drop(look->made);
    free(look->question.resource);
    free(look->waiting);
    free(look);
}

/* Answers that are old go. */
static void past_looks_on_timer(uv_timer_t *timer)
{
    struct past_looks *looks = container_of(timer, struct past_looks, timer);
    nanoseconds now = clock_now();
    struct past_look *look = TAILQ_FIRST(&looks->list);
    bool has_more = false;
    for (struct past_look *next; look; look = next) {
        next = TAILQ_NEXT(look, entry);
        if (look->made && now - look->made_at >= longest_kept && now >= look->again_at) {
            look_free(look);
        } else {
            has_more |= look->made != NULL;
        }
    }
    if (has_more) {
        uv_timer_start(timer, past_looks_on_timer, milliseconds(longest_kept), 0);
    }
}

/* ---- an answer ---- */

static void answer_all(struct past_look *look, enum http_status status, const char *why)
{
    size_t n = look->n_waiting;
    look->n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        if (status == HTTP_OK) {
            http_answer(look->waiting[i], HTTP_OK, HTTP_JSON, look->made, NULL);
        } else {
            http_say(look->waiting[i], status, why);
        }
    }
}

static void look_on_end(void *context)
{
    struct past_look *look = context;
    struct past_looks *looks = look->looks;
    const struct web *web = looks->web;
    nanoseconds began = clock_now();
    struct text text = TEXT_INIT;
    bool is_known = past_answer_print(&look->ask, web->host, &text);
    looks->n_asked--;
    if (is_known) {
        look->made = http_bytes_of(web->http, &text);
        look->made_at = clock_now();
        look->again_at = look->made_at + COST * (look->made_at - began);
        answer_all(look, HTTP_OK, NULL);
        past_ask_stop(&look->ask);
        uv_timer_start(&looks->timer, past_looks_on_timer, milliseconds(longest_kept), 0);
    } else {
        answer_all(look, HTTP_UNAVAILABLE, text.bytes);
        text_deinit(&text);
        look_free(look);
    }
    ask_next(looks);
}

/* ---- asking ---- */

/* Whose databases are asked: that of the resource, or all. Returns how many. */
static size_t choose_databases(
    const struct past_looks *looks, const char *resource, const char *names[MOST_DATABASES])
{
    struct live *live = &looks->web->follower.link.live;
    const struct status *status = live_status(live, clock_now());
    const struct live_resource *one = resource ? live_resource_find(live, resource) : NULL;
    size_t n = 0;
    for (size_t i = 0; i < status->n_databases && n < MOST_DATABASES; i++) {
        const char *name = status->databases[i].name;
        if (!one || (one->shown.database && strcmp(one->shown.database, name) == 0)) {
            names[n++] = name;
        }
    }
    return n;
}

static void look_begin(struct past_look *look)
{
    struct past_looks *looks = look->looks;
    const char *databases[MOST_DATABASES];
    size_t n = choose_databases(looks, look->question.resource, databases);
    look->asked_at = clock_now();
    looks->n_asked++;
    past_ask_begin(
        &look->ask, &looks->asker, &look->question, databases, n, look_on_end, look);
}

static void ask_next(struct past_looks *looks)
{
    struct past_look *look = TAILQ_FIRST(&looks->list);
    while (look && look->asked_at > 0) {
        look = TAILQ_NEXT(look, entry);
    }
    if (look && looks->n_asked < MOST_ASKED) {
        look_begin(look);
    }
}

/* ---- requests ---- */

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* One with the same answer; NULL: there is none. */
static struct past_look *look_find(const struct past_looks *looks,
    const struct past_question *question, uint64_t serial, nanoseconds now)
{
    struct past_look *look;
    TAILQ_FOREACH (look, &looks->list, entry) {
        bool is_fresh = !look->made || now < look->again_at || now - look->made_at < longest_kept;
        bool has_all = look->live == serial || (look->made && now < look->again_at);
        if (is_fresh && has_all && look->question.from == question->from &&
            look->question.until == question->until && look->question.limit == question->limit &&
            is_same(look->question.resource, question->resource)) {
            return look;
        }
    }
    return NULL;
}

/* False: all that are there are waited for. */
static bool make_room(struct past_looks *looks)
{
    struct past_look *look = TAILQ_FIRST(&looks->list);
    while (look && !look->made) {
        look = TAILQ_NEXT(look, entry);
    }
    if (looks->n >= MOST_LOOKS && look) {
        look_free(look);
    }
    return looks->n < MOST_LOOKS;
}

static struct past_look *look_new(
    struct past_looks *looks, const struct past_question *question, uint64_t serial)
{
    struct past_look *look = memory_new(sizeof *look);
    *look = (struct past_look){.looks = looks, .question = *question, .live = serial};
    look->question.resource = memory_string(question->resource);
    TAILQ_INSERT_TAIL(&looks->list, look, entry);
    looks->n++;
    return look;
}

/* False: malformed. Missing: stays as it is. */
static bool read_number(
    const struct http_request *request, const char *key, uint64_t max, uint64_t *numberp)
{
    const char *word = http_query(request, key);
    return !word || number_parse(word, max, numberp);
}

/* A day before `until`, in whole seconds: who asks again a moment later asks the same. */
static uint64_t day_before(uint64_t until)
{
    return until > DAY_MS ? (until - DAY_MS) / 1000 * 1000 : 0;
}

static bool read_question(const struct http_request *request, struct past_question *question)
{
    uint64_t now = milliseconds(clock_wall_now()), until = INT64_MAX, limit = LIMIT;
    const char *resource = http_query(request, "resource");
    bool is_good = read_number(request, "until", INT64_MAX, &until);
    uint64_t from = day_before(until < now ? until : now);
    is_good = is_good && read_number(request, "from", INT64_MAX, &from) &&
        read_number(request, "limit", MOST, &limit) && limit > 0 && from <= until &&
        (!resource || name_is_valid(resource));
    *question =
        (struct past_question){from, until, (char *)(uintptr_t)resource, (uint32_t)limit};
    return is_good;
}

void past_looks_take(struct past_looks *looks, struct http_request *request)
{
    struct past_question question;
    uint64_t serial = looks->web->follower.link.live.serial;
    if (!read_question(request, &question)) {
        http_say(request, HTTP_BAD_REQUEST,
            "from and until are milliseconds since 1970, limit is 1 to 5000, resource a name");
        return;
    }
    struct past_look *look = look_find(looks, &question, serial, clock_now());
    if (look && look->made) {
        http_answer(request, HTTP_OK, HTTP_JSON, look->made, NULL);
        return;
    }
    if (!look && !make_room(looks)) {
        http_say(request, HTTP_UNAVAILABLE, "too many ask for the history: try again later");
        return;
    }
    look = look ? look : look_new(looks, &question, serial);
    look->waiting = memory_grow(look->waiting, look->n_waiting, sizeof *look->waiting);
    look->waiting[look->n_waiting++] = request;
    ask_next(looks);
}

void past_looks_init(struct past_looks *looks, struct web *web)
{
    *looks = (struct past_looks){.web = web};
    looks->asker = (struct past_asker){
        .loop = web->loop, .berthd = &web->follower.link.endpoint};
    TAILQ_INIT(&looks->list);
    uv_timer_init(web->loop, &looks->timer);
}

void past_looks_deinit(struct past_looks *looks)
{
    while (!TAILQ_EMPTY(&looks->list)) {
        struct past_look *look = TAILQ_FIRST(&looks->list);
        answer_all(look, HTTP_UNAVAILABLE, "berth-web ends");
        look_free(look);
    }
    past_asker_deinit(&looks->asker);
    uv_close((uv_handle_t *)&looks->timer, NULL);
}
