#include "status/suggest.h"

#include "base/closest_match.h"

#include <string.h>

enum { MAX_LOOKED_AT = 1000 };

/* The name to compare, and the suggestion that it leads to. */
struct candidate {
    char name[SUGGESTION_SIZE], suggestion[SUGGESTION_SIZE];
};

/* "" if the result is too long for a name. */
static void join(char out[static SUGGESTION_SIZE], const char *start, size_t n, const char *rest)
{
    size_t n_rest = strlen(rest);
    bool fits = n + n_rest < SUGGESTION_SIZE;
    memcpy(out, start, fits ? n : 0);
    memcpy(out + (fits ? n : 0), rest, fits ? n_rest : 0);
    out[fits ? n + n_rest : 0] = '\0';
}

/* The part that the user has typed below a template is no likeness: with a long one, any template
 * would be near, and the suggestion another user's lock. */
static bool is_near_template(const char *defined, size_t n, const char *name, size_t n_name)
{
    char above[SUGGESTION_SIZE], typed[SUGGESTION_SIZE];
    join(above, defined, n, "");
    join(typed, name, n_name, "");
    struct closest_match nearest = CLOSEST_MATCH_INIT(typed);
    return closest_match_is_better(&nearest, above);
}

/* False: not one for that name. */
static bool candidate_of(struct candidate *candidate, const char *defined, const char *name)
{
    size_t n = strlen(defined);
    const char *slash = strrchr(name, '/');
    bool is_template = template_name_is_valid(defined);
    if (is_template && slash && !is_near_template(defined, n - 2, name, (size_t)(slash - name))) {
        return false;
    }
    /* "maket/alice": suggests market/alice, of the template market/ and a star */
    size_t n_kept = !is_template ? n : slash ? n - 1 : n - 2;
    join(candidate->name, defined, n_kept, is_template && slash ? slash + 1 : "");
    memcpy(candidate->suggestion, candidate->name, sizeof candidate->name);
    if (is_template && !slash) {
        join(candidate->suggestion, defined, n - 1, "NAME");
    }
    return true;
}

bool suggest_name(char out[static SUGGESTION_SIZE], const char *name,
    const struct definition definitions[], size_t n, suggest_filter *may, void *context)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(name);
    struct candidate candidate;
    for (size_t i = 0; i < n && i < MAX_LOOKED_AT; i++) {
        if (candidate_of(&candidate, definitions[i].name, name) &&
            closest_match_is_better(&nearest, candidate.name) && may(context, &definitions[i])) {
            closest_match_try(&nearest, candidate.name);
            memcpy(out, candidate.suggestion, sizeof candidate.suggestion);
        }
    }
    return nearest.best != NULL;
}
