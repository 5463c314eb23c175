/* replace.h - whose place a request takes: that of older requests of its identity, user and
 * resources. The values of replace. */
#pragma once

enum replace {
    REPLACE_NOTHING,
    REPLACE_WAITING, /* those that wait end */
    REPLACE_RUNNING, /* besides, the job of the one that holds them is stopped */
    N_REPLACE
};

/* So many leases have an identity at a resource, or wait for it. In a database it is the same:
 * src/redis/scripts. */
enum { MAX_OF_IDENTITY = 50 };

extern const char *const replace_words[N_REPLACE + 1]; /* ends with NULL */
