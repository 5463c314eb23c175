/* down_reasons.h - which reasons of an outage of a database are worth a line in the log: each new
 * one, up to a few. The first reason may be only a symptom, whose cause the next attempt finds: a
 * server that is back with a certificate that cannot be trusted. Pure. */
#pragma once

#include <stdbool.h>

/* Zeroed: there is none. */
struct down_reasons {
    char reason[256]; /* the last one that was logged */
    unsigned n_reasons; /* that were logged */
};

/* One more try has failed, so. True: to be logged. */
bool down_reasons_add(struct down_reasons *reasons, const char *reason);
