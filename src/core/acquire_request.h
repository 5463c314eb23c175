/* acquire_request.h - what somebody asks for. */
#pragma once

#include "core/lease.h"
#include "core/lease_attributes.h"
#include "core/types.h"

struct requested_resource {
    const char *name;
    uint32_t count;
    const struct definition *definition; /* what governs the name; core_acquire() finds it itself */
    struct resource *resource; /* as core_find_want() has just found it; or NULL */
};

struct acquire_request {
    struct requested_resource wants[MAX_RESOURCES_PER_LEASE];
    size_t n_wants;
    nanoseconds wait; /* a span; 0 = not at all, NEVER = for ever */
    struct lease_attributes attributes; /* copied; the caller has asked core_find_once() */
    int32_t pid; /* for status */
    enum binding binding;
    struct process process; /* BOUND_PROCESS: alive, and one that the client may signal */
    struct process wrapper; /* BOUND_PROCESS: likewise; pid 0: none */
    nanoseconds ttl; /* BOUND_TIME; a span > 0 */
    bool has_kill_after, has_on_lost; /* in .attributes; else the resources' */
};
