#include "view/past.h"

#include "base/memory.h"
#include "base/words.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

#define KEY(record, key_, type_, member, ...)                                                      \
    {                                                                                              \
        .key = key_, .type = type_, .offset = offsetof(struct record, member), __VA_ARGS__         \
    }
#define HEAD(key, type, member) KEY(past_head, key, type, member, )
#define LEASE(key, type, ...) KEY(past_lease, key, type, __VA_ARGS__, )
#define ACTION(key, type, ...) KEY(past_action, key, type, __VA_ARGS__, )
#define GAP(key, type, ...) KEY(past_gap, key, type, __VA_ARGS__, )
#define NOT_IN_JSON .whom = FOR_FOLLOWERS

/* What the first line says. */
struct past_head {
    uint64_t now;
    struct optional since;
    bool more;
    const char *database;
};

static const struct field past_fields[] = {
    HEAD("now", FIELD_NUMBER, now),
    HEAD("since", FIELD_OPTIONAL, since),
    HEAD("more", FIELD_FLAG, more),
    HEAD("database", FIELD_TEXT, database),
    {0},
};

const struct field past_lease_fields[] = {
    LEASE("ended", FIELD_NUMBER, ended, NOT_IN_JSON),
    LEASE("waited", FIELD_SPAN, waited),
    LEASE("held", FIELD_OPTIONAL_SPAN, held),
    LEASE("how", FIELD_TEXT, how),
    LEASE("code", FIELD_TEXT, code),
    LEASE("exit", FIELD_OPTIONAL, exit),
    LEASE("signal", FIELD_OPTIONAL, signal),
    LEASE("unseen", FIELD_OPTIONAL, unseen, NOT_IN_JSON),
    LEASE("pid", FIELD_OPTIONAL, pid),
    LEASE("uid", FIELD_USER, user, NOT_IN_JSON),
    LEASE("login", FIELD_USER, login),
    LEASE("by", FIELD_USER, by),
    LEASE("by_login", FIELD_USER, by_login),
    LEASE("why", FIELD_TEXT, why),
    LEASE("database", FIELD_TEXT, database),
    LEASE("host", FIELD_TEXT, host),
    LEASE("holder", FIELD_TEXT, holder),
    LEASE("args", FIELD_TEXT, args),
    LEASE("cgroup", FIELD_TEXT, cgroup),
    LEASE("bound", FIELD_TEXT, bound),
    {0},
};

const struct field past_action_fields[] = {
    ACTION("at", FIELD_NUMBER, at, NOT_IN_JSON),
    ACTION("uid", FIELD_USER, user, NOT_IN_JSON),
    ACTION("login", FIELD_USER, login),
    ACTION("resource", FIELD_TEXT, resource),
    ACTION("target", FIELD_TEXT, target),
    ACTION("old", FIELD_TEXT, before),
    ACTION("new", FIELD_TEXT, after),
    ACTION("host", FIELD_TEXT, host),
    ACTION("reason", FIELD_TEXT, reason),
    {0},
};

const struct field past_gap_fields[] = {
    GAP("from", FIELD_NUMBER, from, NOT_IN_JSON),
    GAP("until", FIELD_NUMBER, until, NOT_IN_JSON),
    GAP("why", FIELD_TEXT, why),
    GAP("n", FIELD_OPTIONAL, n),
    {0},
};

/* NAME:UNITS of what it held, NAME:@LEASE of what it shared, NAME=COUNT of what it waited for. */
static bool claim_take(struct past_lease *lease, char *word)
{
    lease->claims = memory_resize(lease->claims, lease->n_claims + 1, sizeof lease->claims[0]);
    struct past_claim *claim = &lease->claims[lease->n_claims++];
    *claim = (struct past_claim){.name = word};
    char *end = word + strcspn(word, ":=");
    bool is_wanted = *end == '=';
    if (*end == '\0' || end == word) {
        return false;
    }
    *end = '\0';
    if (is_wanted) {
        claim->wanted.is_given = true;
        return number_parse(end + 1, INT64_MAX, &claim->wanted.number);
    }
    words_parse(&claim->units, end + 1);
    return true;
}

static bool claims_take(struct past_lease *lease, char *value)
{
    bool is_good = value != NULL;
    for (char *word; is_good && (word = strsep(&value, ";")) != NULL;) {
        if (strcmp(word, "...") == 0 && !value) {
            lease->has_more_claims = true;
        } else {
            is_good = claim_take(lease, word);
        }
    }
    return is_good;
}

/* The lease is empty, and to be freed also if the line is malformed: false. */
static bool past_lease_take(struct past_lease *lease, const char *line)
{
    char *words[MAX_WORDS];
    lease->line = memory_string(line);
    size_t n = words_split(lease->line, words, MAX_WORDS);
    return line_take(past_lease_fields, words, n, &lease->id, lease) &&
        shown_take(lease->shown, words + 2, n - 2) &&
        claims_take(lease, words_find(words + 2, n - 2, "units")) && lease->how &&
        lease->user.uid.is_given;
}

bool past_is_of_another_host(const struct past_choice *choice)
{
    return choice->host && (!choice->this_host || strcmp(choice->host, choice->this_host) != 0);
}

static bool is_of_host(const struct past_choice *choice, const char *host)
{
    const char *its = host ? host : choice->this_host;
    return !choice->host || (its && strcmp(its, choice->host) == 0);
}

/* What berthd cannot choose. */
static bool is_chosen(const struct past_choice *choice, const struct past_lease *lease)
{
    return (!choice->until.is_given || past_asked(lease) < choice->until.number) &&
        (!choice->failed || past_has_failed(lease)) && is_of_host(choice, lease->host);
}

static bool add_lease(struct past *past, const char *line)
{
    past->leases = memory_grow(past->leases, past->n, sizeof *past->leases);
    struct past_lease *lease = &past->leases[past->n];
    bool is_good = past_lease_take(lease, line);
    if (is_good && (!past->only || is_chosen(past->only, lease))) {
        past->n++;
    } else {
        past_lease_deinit(lease);
    }
    return is_good;
}

/* ---- other lines ---- */

/* did VERB KEY=VALUE... */
static bool add_action(struct past *past, const char *line)
{
    char *words[MAX_WORDS];
    struct past_action action = {.line = memory_string(line)};
    const struct past_choice *only = past->only;
    size_t n = words_split(action.line, words, MAX_WORDS);
    bool is_good = line_take(past_action_fields, words, n, &action.verb, &action);
    bool is_left_out = only &&
        (only->failed || !is_of_host(only, action.host) ||
            (only->until.is_given && action.at >= only->until.number));
    if (!is_good || is_left_out) {
        free(action.line);
        return is_good;
    }
    past->actions = memory_grow(past->actions, past->n_actions, sizeof action);
    past->actions[past->n_actions++] = action;
    return true;
}

/* gap KEY=VALUE... */
static bool add_gap(struct past *past, const char *line)
{
    char *words[MAX_WORDS];
    struct past_gap gap = {.line = memory_string(line)};
    size_t n = words_split(gap.line, words, MAX_WORDS);
    bool is_good = n > 0 && fields_take(past_gap_fields, words + 1, n - 1, &gap);
    gap.until = gap.until > gap.from ? gap.until : gap.from; /* two clocks may have said them */
    if (!is_good) {
        free(gap.line);
        return false;
    }
    past->gaps = memory_grow(past->gaps, past->n_gaps, sizeof gap);
    past->gaps[past->n_gaps++] = gap;
    return true;
}

/* figures NAME KEY=VALUE... */
static bool add_figures(struct past *past, const char *line)
{
    char *copy = memory_string(line);
    bool is_good = sums_take(&past->sums, copy);
    free(copy);
    return is_good;
}

void past_add_source(struct past *past, const struct past_source *source)
{
    past->sources = memory_grow(past->sources, past->n_sources, sizeof *source);
    past->sources[past->n_sources++] = *source;
}

static bool take_ok(struct past *past, const char *line)
{
    char *words[MAX_WORDS], *copy = memory_string(line);
    struct past_head head = {0};
    size_t n = words_split(copy, words, MAX_WORDS);
    past->begun = n > 0 && strcmp(words[0], "ok") == 0;
    bool is_good = past->begun && fields_take(past_fields, words + 1, n - 1, &head);
    past->now = head.now;
    if (is_good) {
        past_add_source(past,
            &(struct past_source){
                .database = memory_string(head.database),
                .since = head.since,
                .has_more = head.more,
            });
    }
    free(copy);
    return is_good;
}

static const struct {
    const char *word;
    bool (*add)(struct past *past, const char *line);
} line_kinds[] = {
    {"ended", add_lease}, {"did", add_action}, {"gap", add_gap}, {"figures", add_figures}};

static bool is_of_kind(const char *line, const char *word)
{
    size_t n = strcspn(line, " ");
    return strlen(word) == n && strncmp(line, word, n) == 0;
}

bool past_add(struct past *past, const char *line)
{
    bool is_good = line[0] != '\0' && line[0] != ' ';
    for (size_t i = 0; i < sizeof line_kinds / sizeof line_kinds[0]; i++) {
        if (is_of_kind(line, line_kinds[i].word)) {
            is_good = line_kinds[i].add(past, line);
        }
    }
    return is_good;
}

enum answer_result past_take(void *object, char *line)
{
    struct past *past = object;
    if (past->begun && is_of_kind(line, "end")) {
        return ANSWER_END;
    }
    bool is_good = past->begun ? past_add(past, line) : take_ok(past, line);
    return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
}

/* ---- leases ---- */

bool past_has_failed(const struct past_lease *lease)
{
    return strcmp(lease->how, "released") != 0 || lease->by.uid.is_given ||
        !lease->exit.is_given || lease->exit.number != 0;
}

uint64_t past_granted(const struct past_lease *lease)
{
    uint64_t held = lease->held.is_given ? lease->held.number : 0;
    return lease->ended > held ? lease->ended - held : 0;
}

uint64_t past_asked(const struct past_lease *lease)
{
    uint64_t granted = past_granted(lease);
    return granted > lease->waited ? granted - lease->waited : 0;
}

void past_lease_deinit(struct past_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        free(lease->claims[i].units.list);
    }
    free(lease->claims);
    free(lease->line);
}

bool past_has(const struct past *past, const char *database)
{
    bool has = false;
    for (size_t i = 0; i < past->n_sources; i++) {
        const char *its = past->sources[i].database;
        has |= database ? its && strcmp(its, database) == 0 : !its;
    }
    return has;
}

uint64_t past_begin(const struct past *past)
{
    uint64_t begin = past->n > 0 ? past->leases[0].ended : UINT64_MAX;
    return past->n_actions > 0 && past->actions[0].at < begin ? past->actions[0].at : begin;
}

void past_deinit(struct past *past)
{
    for (size_t i = 0; i < past->n; i++) {
        past_lease_deinit(&past->leases[i]);
    }
    for (size_t i = 0; i < past->n_actions; i++) {
        free(past->actions[i].line);
    }
    for (size_t i = 0; i < past->n_gaps; i++) {
        free(past->gaps[i].line);
    }
    for (size_t i = 0; i < past->n_sources; i++) {
        free(past->sources[i].database);
    }
    free(past->leases);
    free(past->actions);
    free(past->gaps);
    free(past->sources);
    sums_deinit(&past->sums);
    *past = (struct past){0};
}
