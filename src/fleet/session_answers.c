/* session_answers.c - reads the answers to the calls of session_text.c. */
#include "base/memory.h"
#include "base/words.h"
#include "core/resource.h"
#include "core/units.h"
#include "fleet/session_text.h"

#include <stdlib.h>
#include <string.h>

enum { N_HEAD = 4 }; /* status, due, grace, sequence */

#define MAX_SPAN_MS (UINT64_C(1) << 40) /* 34 years */

/* ---- words ---- */

bool word_take(const char **textp, char *word, size_t size)
{
    size_t n = strcspn(*textp, " ");
    if (n == 0 || n >= size) {
        return false;
    }
    memcpy(word, *textp, n);
    word[n] = '\0';
    *textp += n + ((*textp)[n] == ' ');
    return true;
}

/* ---- replies ---- */

static bool field_text(const struct resp *field, const char **textp)
{
    if (field->type != RESP_STRING || memchr(field->text, '\0', field->length)) {
        return false;
    }
    *textp = field->text;
    return true;
}

static bool field_number(const struct resp *field, uint64_t max, uint64_t *numberp)
{
    const char *text;
    if (field->type == RESP_INTEGER) {
        *numberp = (uint64_t)field->integer;
        return field->integer >= 0 && (uint64_t)field->integer <= max;
    }
    return field_text(field, &text) && number_parse(text, max, numberp);
}

bool answer_text(const struct answer *answer, size_t i, const char **textp)
{
    return i < answer->n && field_text(&answer->fields[i], textp);
}

bool answer_number(const struct answer *answer, size_t i, uint64_t max, uint64_t *numberp)
{
    return i < answer->n && field_number(&answer->fields[i], max, numberp);
}

static const struct {
    const char *word;
    enum reply_status kind;
    bool has_head; /* due, grace and sequence follow; otherwise one text */
} answer_words[] = {
    {"ok", REPLY_OK, true},
    {"refused", REPLY_REFUSED, true},
    {"hello", REPLY_HELLO, false},
    {"stale", REPLY_STALE, false},
    {"layout", REPLY_LAYOUT, false},
};

enum { N_ANSWER_WORDS = sizeof answer_words / sizeof answer_words[0] };

static const char *read_head(const struct resp *reply, struct answer *answer)
{
    uint64_t due = 0, grace;
    const struct resp *head = reply->elements;
    if (reply->n < N_HEAD) {
        return "a reply that is too short";
    }
    bool nothing_due = head[1].type == RESP_INTEGER && head[1].integer == -1;
    if ((!nothing_due && !field_number(&head[1], MAX_SPAN_MS, &due)) ||
        !field_number(&head[2], MAX_SPAN_MS, &grace)) {
        return "a reply without its times";
    }
    if (!field_number(&head[3], MAX_DATABASE_NUMBER, &answer->sequence)) {
        return "a reply without its number";
    }
    answer->due = nothing_due ? NEVER : (nanoseconds)due * NANOSECONDS_PER_MILLISECOND;
    answer->grace = (nanoseconds)grace * NANOSECONDS_PER_MILLISECOND;
    answer->fields = head + N_HEAD;
    answer->n = reply->n - N_HEAD;
    return NULL;
}

const char *answer_read(const struct resp *reply, struct answer *answer)
{
    const char *word;
    *answer = (struct answer){.due = NEVER, .text = ""};
    if (reply->type == RESP_ERROR) {
        answer->kind = REPLY_ERROR;
        answer->text = reply->text;
        return NULL;
    }
    if (reply->type != RESP_ARRAY || reply->n == 0 || !field_text(&reply->elements[0], &word)) {
        return "a reply that is no script's";
    }
    for (size_t i = 0; i < N_ANSWER_WORDS; i++) {
        if (strcmp(answer_words[i].word, word) != 0) {
            continue;
        }
        answer->kind = answer_words[i].kind;
        if (answer_words[i].has_head) {
            return read_head(reply, answer);
        }
        if (reply->n > 1 && !field_text(&reply->elements[1], &answer->text)) {
            return "a reason that is no text";
        }
        return NULL;
    }
    return "a reply with an unknown status";
}

/* ---- errors ---- */

/* None of these means that a lease is lost. */
static const char *const reset_errors[] = {
    "ASK",
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MOVED",
    "NOAUTH",
    "NOPERM",
    "NOSCRIPT", /* the link has tried already */
    "READONLY",
    "TRYAGAIN",
    "UNKILLABLE",
    "WRONGPASS",
};

bool error_needs_reset(const char *text)
{
    enum { N_ERRORS = sizeof reset_errors / sizeof reset_errors[0] };
    char word[24];
    return word_take(&text, word, sizeof word) &&
        words_index(word, reset_errors, N_ERRORS) < N_ERRORS;
}

enum outcome refusal_outcome(const char *word)
{
    static const char *const refusals[N_OUTCOMES] = {
#define OUTCOME(id, code, refusal) [OUTCOME_##id] = refusal,
#include "core/outcomes.def"
#undef OUTCOME
    };
    enum outcome outcome = (enum outcome)words_index(word, refusals, N_OUTCOMES);
    return outcome != N_OUTCOMES ? outcome : OUTCOME_DOWN;
}

/* ---- claims ---- */

void claims_deinit(struct claims *claims)
{
    text_deinit(&claims->bytes);
    free(claims->units);
    *claims = (struct claims){0};
}

/* "0-499,7" has to fit on a client's line: a range takes as much of `*roomp` as two single slots
 * do. */
static bool slots_have_room(const char *list, uint32_t *roomp)
{
    uint32_t needs = 1;
    for (; *list; list++) {
        needs += *list == ',' || *list == '-';
    }
    bool fits = needs <= *roomp;
    *roomp -= fits ? needs : 0;
    return fits;
}

/* "NAME COUNT TOKEN UNITS"; the lease shows which claim that is. */
static const char *read_claim(struct claims *claims, const struct lease *lease, char *text,
    struct saved_unit *units, uint32_t *countp)
{
    char *name = strsep(&text, " "), *count = strsep(&text, " "), *token = strsep(&text, " ");
    uint64_t n, number;
    size_t i = 0;
    while (i < lease->n_claims && strcmp(lease->claims[i].resource->name, name) != 0) {
        i++;
    }
    if (i == lease->n_claims || claims->list[i].units) {
        return "a grant of something that was not asked for";
    }
    if (!count || !number_parse(count, UINT32_MAX, &n) || n != lease->claims[i].count) {
        return "a grant of another number of units";
    }
    if (!token || !number_parse(token, MAX_DATABASE_NUMBER, &number) || number == 0) {
        return "a grant without a token";
    }
    bool is_pool = resource_is_pool(lease->claims[i].resource);
    if (!text || (!is_pool && !slots_have_room(text, &claims->room)) ||
        !units_parse(text, is_pool, (uint32_t)n, units)) {
        return "a grant with other units than its count";
    }
    claims->list[i] = (struct saved_claim){.name = lease->claims[i].resource->name,
        .count = (uint32_t)n,
        .token = number,
        .is_pool = is_pool,
        .units = units};
    *countp = (uint32_t)n;
    return NULL;
}

const char *claims_read(struct claims *claims, const char *text, const struct lease *lease)
{
    size_t n_units = 0, n_read = 0;
    claims->room = 2 * MAX_RANGES;
    for (size_t i = 0; i < lease->n_claims; i++) {
        n_units += lease->claims[i].count;
        claims->list[i] = (struct saved_claim){0};
    }
    if (n_units > claims->size_units) {
        claims->units = memory_resize(claims->units, n_units, sizeof *claims->units);
        claims->size_units = n_units;
    }
    claims->bytes.length = 0;
    text_add(&claims->bytes, text);
    struct saved_unit *units = claims->units;
    char *rest = claims->bytes.bytes;
    for (char *word; (word = strsep(&rest, "|")); n_read++) {
        uint32_t count = 0;
        const char *wrong = read_claim(claims, lease, word, units, &count);
        if (wrong) {
            return wrong;
        }
        units += count;
    }
    return n_read == lease->n_claims ? NULL : "a grant of only a part";
}

/* Reads the third word of each claim. */
uint64_t claims_highest_token(const char *text)
{
    uint64_t highest = 0, token;
    char word[NAME_BYTES + 1];
    for (; text; text = strchr(text, '|')) {
        text += *text == '|';
        if (word_take(&text, word, sizeof word) && word_take(&text, word, sizeof word) &&
            word_take(&text, word, sizeof word) &&
            number_parse(word, MAX_DATABASE_NUMBER, &token)) {
            highest = token > highest ? token : highest;
        }
    }
    return highest;
}

/* ---- events ---- */

static const char *const fleet_event_words[N_FLEET_EVENTS] = {
    [FLEET_GRANTED] = "granted",
    [FLEET_LOST] = "lost",
    [FLEET_REVOKE] = "revoke",
    [FLEET_WITHDRAW] = "withdraw",
    [FLEET_DROP] = "drop",
    [FLEET_RELEASE] = "release",
    [FLEET_MOVED] = "moved",
    [FLEET_CIRCLE] = "circle",
    [FLEET_REPLACED] = "replaced",
};

/* "ID TICKET CLAIMS" of a grant, "ID TICKET POSITION" of a move, "ID" of a loss, "ID NAME" of a
 * circle, "ID LEASE" of a place that is taken, else "ID UID[ LOGIN]|REASON" */
static bool read_event_arguments(const char *text, struct fleet_event *event)
{
    char word[24];
    if (!word_take(&text, word, sizeof word) || !lease_id_parse(word, &event->id)) {
        return false;
    }
    event->text = text;
    if (event->kind != FLEET_GRANTED && event->kind != FLEET_MOVED) {
        return event->kind != FLEET_LOST || *text == '\0';
    }
    if (!word_take(&event->text, word, sizeof word)) {
        return false;
    }
    return number_parse(word, MAX_DATABASE_NUMBER, &event->ticket) && *event->text != '\0';
}

const char *fleet_event_read(const char *text, struct fleet_event *event)
{
    char word[24];
    *event = (struct fleet_event){.kind = FLEET_UNKNOWN, .text = ""};
    if (!word_take(&text, word, sizeof word)) {
        return "an event without a word";
    }
    event->kind = (enum event_kind)words_index(word, fleet_event_words, N_FLEET_EVENTS);
    bool is_good = event->kind == FLEET_UNKNOWN || read_event_arguments(text, event);
    return is_good ? NULL : "an event with wrong arguments";
}

const char *message_read(const char *text, uint64_t *numberp, const char **textp)
{
    uint64_t number = 0;
    size_t n = 0;
    while (n < 15 && text[n] >= '0' && text[n] <= '9') {
        number = number * 10 + (uint64_t)(text[n++] - '0');
    }
    if (n == 0 || text[n] != ' ') {
        return "a message without a number";
    }
    *numberp = number;
    *textp = text + n + 1;
    return NULL;
}
