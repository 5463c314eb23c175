/* store_row.h - a lease that has ended, as a store keeps it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct store_row {
    struct store_row *next;
    uint64_t asked, ended; /* milliseconds since 1970 */
    size_t bytes; /* of memory */
    size_t n_names;
    const char *id, *json; /* as of `berthctl history --json` */
    const char *names[]; /* of its resources; all strings are behind them */
};
