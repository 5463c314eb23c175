/* past_ask.h - asks for what is over: berth-history, or else berthd, of this host; and berthd of
 * what each database keeps of all hosts. All at once, each over a connection of its own, and each
 * at most so long. Who was silent that long is not asked again for a while. */
#pragma once

#include "base/time.h"
#include "client/endpoint.h"
#include "view/past.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    PAST_LIMIT_MS = 2000,
    PAST_DATABASE_LIMIT_MS = 30000, /* berthd asks for some pages, and Redis may be slow */
};

struct past_question {
    uint64_t from, until; /* milliseconds since 1970; INT64_MAX: up to now */
    char *resource; /* owned; NULL: all */
    uint32_t limit;
};

enum { PAST_WHY_SIZE = 256 };

/* What was told of one of them. */
struct past_teller {
    char *database; /* owned; NULL: this host */
    bool has_told, is_berth_history;
    char why[PAST_WHY_SIZE]; /* nothing was told */
    char history_why[PAST_WHY_SIZE]; /* berthd was asked: "", as there is no berth-history */
    struct past past;

    /* private */
    struct past_ask *ask;
    struct berthd_request *talk;
    char refusal[PAST_WHY_SIZE]; /* of the one who is asked now */
    size_t n_bytes; /* of its answer, so far */
};

struct past_ask {
    const struct past_question *question;
    struct past_teller *tellers; /* this host's is the first one */
    size_t n_tellers;

    /* private */
    struct past_asker *asker;
    size_t n_open;
    void (*end)(void *context);
    void *context;
};

/* What is remembered from one question to the next. */
struct past_asker {
    uv_loop_t *loop;
    const struct endpoint *berthd;
    struct endpoint history; /* of berth-history, as berthd has said last; "": there is none */
    nanoseconds hello_at; /* when it was asked for that; 0: never */
    struct silence {
        char *who; /* owned */
        nanoseconds until;
    } *silences;
    size_t n_silences;
};

void past_asker_deinit(struct past_asker *asker);

/* `databases`: the names of n, copied. The question outlives the ask. end() is called once all have
 * told or failed, perhaps from within; not after past_ask_stop(). */
void past_ask_begin(struct past_ask *ask, struct past_asker *asker,
    const struct past_question *question, const char *const *databases, size_t n,
    void (*end)(void *context), void *context);
/* Frees what was told. The loop must run once more. */
void past_ask_stop(struct past_ask *ask);
