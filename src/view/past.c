#include "view/past.h"

#include "base/memory.h"
#include "base/words.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

#define PAST(key_, type_, member)                                                                  \
    {                                                                                              \
        .key = key_, .type = type_, .offset = offsetof(struct past, member)                        \
    }
#define LEASE(key_, type_, member, ...)                                                            \
    {                                                                                              \
        .key = key_, .type = type_, .offset = offsetof(struct past_lease, member), __VA_ARGS__     \
    }
#define NOT_IN_JSON .whom = FOR_FOLLOWERS

static const struct field past_fields[] = {
    PAST("now", FIELD_NUMBER, now),
    PAST("since", FIELD_OPTIONAL, since),
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
    LEASE("holder", FIELD_TEXT, holder),
    LEASE("args", FIELD_TEXT, args),
    LEASE("cgroup", FIELD_TEXT, cgroup),
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

bool past_add(struct past *past, const char *line)
{
    past->leases = memory_grow(past->leases, past->n, sizeof *past->leases);
    struct past_lease *lease = &past->leases[past->n];
    bool is_good = past_lease_take(lease, line);
    if (is_good) {
        past->n++;
    } else {
        past_lease_deinit(lease);
    }
    return is_good;
}

static bool take_ok(struct past *past, const char *line)
{
    char *words[MAX_WORDS], *copy = memory_string(line);
    size_t n = words_split(copy, words, MAX_WORDS);
    past->begun = n > 0 && strcmp(words[0], "ok") == 0;
    bool is_good = past->begun && fields_take(past_fields, words + 1, n - 1, past);
    free(copy);
    return is_good;
}

enum answer_result past_take(void *object, char *line)
{
    struct past *past = object;
    size_t n = strcspn(line, " ");
    bool is_good = n > 0;
    if (!past->begun) {
        is_good = take_ok(past, line);
    } else if (n == strlen("ended") && strncmp(line, "ended", n) == 0) {
        is_good = past_add(past, line);
    } else if (n == strlen("end") && strncmp(line, "end", n) == 0) {
        return ANSWER_END;
    }
    return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
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

void past_drop_after(struct past *past, uint64_t until)
{
    size_t n = 0;
    for (size_t i = 0; i < past->n; i++) {
        if (past_asked(&past->leases[i]) < until) {
            past->leases[n++] = past->leases[i];
        } else {
            past_lease_deinit(&past->leases[i]);
        }
    }
    past->n = n;
}

void past_deinit(struct past *past)
{
    for (size_t i = 0; i < past->n; i++) {
        past_lease_deinit(&past->leases[i]);
    }
    free(past->leases);
    *past = (struct past){0};
}
