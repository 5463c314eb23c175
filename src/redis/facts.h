/* facts.h - what a server says of itself in its answers to INFO, CONFIG GET and HELLO (facts.def).
 * Pure. */
#pragma once

#include "fleet/resp_value.h"

#include <stdbool.h>

enum fact {
#define FACT(id, ...) FACT_##id,
#include "redis/facts.def"
#undef FACT
    N_FACTS
};

enum { FACT_BYTES = 64 }; /* longer values are cut */

/* The commands whose answers are read. */
enum fact_source { FACT_FROM_INFO, FACT_FROM_CONFIG, FACT_FROM_HELLO, N_FACT_SOURCES };

/* Zero: nothing is known. Values are printable. */
struct facts {
    bool is_known[N_FACTS];
    char values[N_FACTS][FACT_BYTES];
};

/* NULL: unknown. */
const char *fact_of(const struct facts *facts, enum fact fact);
/* As CONFIG GET has it; NULL: it does not. */
const char *fact_setting(enum fact fact);

/* These add what is not known already. The answer to INFO. */
void facts_read_info(struct facts *facts, const char *info);
/* The answers to CONFIG GET and HELLO in RESP 2: arrays of names and values. False: something
 * else. */
bool facts_read_pairs(struct facts *facts, enum fact_source source, const struct resp *reply);
/* Adds what is known from an earlier connection to the same server and need not be asked again. */
void facts_keep(struct facts *facts, const struct facts *earlier);
