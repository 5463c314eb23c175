/* story.h - what the explanation of a request and that of a waiting lease have in common: its
 * resources, what keeps everybody waiting, and when it will start. Pure. */
#pragma once

#include "fleet/session.h"
#include "status/resource_reasons.h"

/* An explanation in the making. */
struct story {
    struct reasons reasons;
    const struct scene *scene;
    const struct session_view *session; /* in its database; NULL: in host scope */
    bool is_elsewhere; /* the lease is another host's */
    uint64_t position; /* the largest; 0: not known */
    bool is_free; /* a new request would be granted at once */
    struct request_row requests[MAX_RESOURCES_PER_LEASE];
    size_t n_requests;
    const struct request_row *impossible; /* its resource has fewer units; or NULL */
    bool is_over_quota; /* its user has as much as one may */
    bool waits_for_identity; /* another lease has that */
    uint64_t start; /* when it will start, microseconds from now; UINT64_MAX: not known */
    char forecast[NAME_BYTES + 192]; /* that, in words */
    bool is_limited; /* it wants more than the limit in force, of a resource */
    const char *lacks; /* the resource that a waiting lease lacks, if it wants several; or NULL */
};

/* Adds all about a resource. `is_only`: nothing else is wanted. */
void story_add_resource(struct story *story, const char *name,
    const struct definition *definition, uint32_t wants, const struct waiting_lease *waiter,
    bool is_only);
/* `who` is "you hold", or the like. */
void story_say_quotas(struct story *story, const char *who);
/* What holds for all of this host, or of the database. */
void story_add_surroundings(struct story *story);
/* That is in the way at present. */
bool story_is_held_up(const struct story *story);
/* The last sentence, and the key for it in the line of the answer that has begun. */
void story_add_forecast(struct story *story, struct text *out);
/* Adds what follows that line; `first` is the first sentence. Frees both. */
void story_end(struct story *story, struct text *first, struct text *out);
