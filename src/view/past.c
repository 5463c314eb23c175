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

/* NAME:UNITS of what it held, NAME=COUNT of what it waited for. */
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

static bool is_of_host(const struct past_choice *choice, const char *host)
{
    const char *its = host ? host : choice->this_host;
    return !choice->host || (its && strcmp(its, choice->host) == 0);
}

/* What berthd cannot choose. */
static bool is_chosen(const struct past_choice *choice, const struct past_lease *lease)
{
    bool is_good = strcmp(lease->how, "released") == 0 && !lease->by.uid.is_given &&
        lease->exit.is_given && lease->exit.number == 0;
    return (!choice->until.is_given || past_asked(lease) < choice->until.number) &&
        (!choice->failed || !is_good) && is_of_host(choice, lease->host);
}

bool past_add(struct past *past, const char *line)
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

static void add_source(struct past *past, const struct past_source *source)
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
        add_source(past,
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
    {"ended", past_add}, {"did", add_action}, {"gap", add_gap}, {"figures", add_figures}};

enum answer_result past_take(void *object, char *line)
{
    struct past *past = object;
    size_t n = strcspn(line, " ");
    bool is_good = n > 0;
    if (!past->begun) {
        is_good = take_ok(past, line);
    } else if (n == strlen("end") && strncmp(line, "end", n) == 0) {
        return ANSWER_END;
    }
    for (size_t i = 0; is_good && i < sizeof line_kinds / sizeof line_kinds[0]; i++) {
        if (strlen(line_kinds[i].word) == n && strncmp(line, line_kinds[i].word, n) == 0) {
            is_good = line_kinds[i].add(past, line);
        }
    }
    return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
}

/* ---- leases ---- */

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

/* ---- of several ---- */

bool past_has(const struct past *past, const char *database)
{
    bool has = false;
    for (size_t i = 0; i < past->n_sources; i++) {
        const char *its = past->sources[i].database;
        has |= database ? its && strcmp(its, database) == 0 : !its;
    }
    return has;
}

/* The same lease, under its own id, or (of an earlier session of this host) as SESSION/LEASE. */
static const char *own_id(const struct past_lease *lease, const char *this_host)
{
    const char *slash = strchr(lease->id, '/');
    bool is_own = slash && lease->host && this_host && strcmp(lease->host, this_host) == 0;
    return is_own ? slash + 1 : lease->id;
}

static int by_id(const void *left, const void *right)
{
    const struct past_lease *a = *(const struct past_lease *const *)left,
                            *b = *(const struct past_lease *const *)right;
    return strcmp(a->id, b->id);
}

/* The leases of the past in that order; the caller frees the list. */
static const struct past_lease **sorted_leases(
    const struct past *past, int (*compare)(const void *left, const void *right))
{
    const struct past_lease **list = memory_resize(NULL, past->n + 1, sizeof *list);
    for (size_t i = 0; i < past->n; i++) {
        list[i] = &past->leases[i];
    }
    qsort(list, past->n, sizeof *list, compare);
    return list;
}

static bool is_listed(const struct past_lease *const list[], size_t n,
    const struct past_lease *lease, const char *this_host)
{
    const struct past_lease wanted = {.id = own_id(lease, this_host)}, *key = &wanted;
    return bsearch(&key, list, n, sizeof *list, by_id);
}

/* What ended at one time stays in its order. */
static int by_end(const void *left, const void *right)
{
    const struct past_lease *a = *(const struct past_lease *const *)left,
                            *b = *(const struct past_lease *const *)right;
    return a->ended != b->ended ? (a->ended > b->ended) - (a->ended < b->ended)
                                : (a > b) - (a < b);
}

/* Those of both that are left. Who answers may have learnt late how a dead host's have ended. */
static void merge_leases(struct past *into, struct past *from)
{
    size_t n = into->n + from->n;
    struct past_lease *leases = memory_resize(NULL, n + 1, sizeof *leases);
    into->leases = memory_resize(into->leases, n + 1, sizeof *leases);
    for (size_t i = 0; i < from->n; i++) {
        into->leases[into->n++] = from->leases[i];
    }
    from->n = 0;
    const struct past_lease **list = sorted_leases(into, by_end);
    for (size_t i = 0; i < n; i++) {
        leases[i] = *list[i];
    }
    free(list);
    free(into->leases);
    into->leases = leases;
}

static void drop_repeats(const struct past *into, struct past *from, const char *this_host)
{
    const struct past_lease **list = sorted_leases(into, by_id);
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        if (is_listed(list, into->n, &from->leases[i], this_host)) {
            past_lease_deinit(&from->leases[i]);
        } else {
            from->leases[n++] = from->leases[i];
        }
    }
    from->n = n;
    free(list);
}

static int by_from(const void *left, const void *right)
{
    const struct past_gap *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

static int by_at(const void *left, const void *right)
{
    const struct past_action *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

/* Both lists are short. */
static void merge_others(struct past *into, struct past *from)
{
    for (size_t i = 0; i < from->n_gaps; i++) {
        into->gaps = memory_grow(into->gaps, into->n_gaps, sizeof into->gaps[0]);
        into->gaps[into->n_gaps++] = from->gaps[i];
    }
    for (size_t i = 0; i < from->n_actions; i++) {
        into->actions = memory_grow(into->actions, into->n_actions, sizeof into->actions[0]);
        into->actions[into->n_actions++] = from->actions[i];
    }
    if (from->n_gaps > 0) {
        qsort(into->gaps, into->n_gaps, sizeof into->gaps[0], by_from);
    }
    if (from->n_actions > 0) {
        qsort(into->actions, into->n_actions, sizeof into->actions[0], by_at);
    }
    from->n_gaps = from->n_actions = 0;
}

/* Whether it tells of all the time that this host has told of. */
static bool knows_as_long(const struct past *into, const struct past_source *source)
{
    const struct optional *asked = into->only ? &into->only->since : NULL;
    uint64_t since = into->sources[0].since.number;
    uint64_t begin = asked && asked->is_given && asked->number > since ? asked->number : since;
    return source->since.is_given && source->since.number <= begin;
}

static void drop_own(struct past *from, const char *this_host)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        struct past_lease *lease = &from->leases[i];
        if (!lease->host || (this_host && strcmp(lease->host, this_host) == 0)) {
            past_lease_deinit(lease);
        } else {
            from->leases[n++] = *lease;
        }
    }
    from->n = n;
}

void past_merge(struct past *into, struct past *from, const char *this_host)
{
    bool has_figures = into->sums.rows.n > 0;
    for (size_t i = 0; i < from->n_sources; i++) {
        const struct past_source *source = &from->sources[i];
        if (source->database && has_figures && knows_as_long(into, source)) {
            sums_forget(&into->sums, source->database);
        } else if (source->database && has_figures) {
            drop_own(from, this_host); /* they are in the figures, which know more of them */
        }
        add_source(into, source);
    }
    from->n_sources = 0;
    drop_repeats(into, from, this_host);
    merge_leases(into, from);
    merge_others(into, from);
}

static void cut_leases(struct past *past, size_t n_cut)
{
    for (size_t i = 0; i < n_cut; i++) {
        past_lease_deinit(&past->leases[i]);
    }
    past->n -= n_cut;
    memmove(past->leases, past->leases + n_cut, past->n * sizeof past->leases[0]);
}

static void cut_actions(struct past *past, size_t n_cut)
{
    for (size_t i = 0; i < n_cut; i++) {
        free(past->actions[i].line);
    }
    past->n_actions -= n_cut;
    memmove(past->actions, past->actions + n_cut, past->n_actions * sizeof past->actions[0]);
}

/* Those that are over before that. */
static void cut_gaps(struct past *past, uint64_t before)
{
    size_t n = 0;
    for (size_t i = 0; i < past->n_gaps; i++) {
        if (past->gaps[i].until < before) {
            free(past->gaps[i].line);
        } else {
            past->gaps[n++] = past->gaps[i];
        }
    }
    past->n_gaps = n;
}

void past_cut(struct past *past, uint64_t limit)
{
    size_t n_leases = past->n, n_actions = past->n_actions; /* that are older */
    for (uint64_t n = 0; n < limit && n_leases + n_actions > 0; n++) {
        bool is_lease = n_leases > 0 &&
            (n_actions == 0 ||
                past->leases[n_leases - 1].ended >= past->actions[n_actions - 1].at);
        n_leases -= is_lease;
        n_actions -= !is_lease;
    }
    if (n_leases > 0) {
        cut_leases(past, n_leases);
    }
    if (n_actions > 0) {
        cut_actions(past, n_actions);
    }
    if (n_leases + n_actions > 0) {
        cut_gaps(past, past_begin(past));
        past->sources[0].has_more = true;
    }
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
