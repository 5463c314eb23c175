/* nested.h - what becomes of a request for a resource that a lease above it holds: the values of
 * nested. */
#pragma once

enum nested {
    NESTED_COUNT, /* it takes further units */
    NESTED_REFUSE,
    NESTED_SHARE, /* it uses those of the lease above */
    N_NESTED,
    NESTED_NOT_SAID = N_NESTED /* the resource's rule applies */
};

extern const char *const nested_words[N_NESTED + 1]; /* ends with NULL */
