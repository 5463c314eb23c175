/* asked_names.h - which resources a `status` request asks for. Pure. */
#ifndef BERTH_STATUS_ASKED_NAMES_H
#define BERTH_STATUS_ASKED_NAMES_H

#include "wire/protocol.h"

#include <stdbool.h>
#include <stddef.h>

/* {0}: all there are. */
struct asked_names {
    char *names[MAX_ARGUMENTS]; /* to be shown first; owned */
    size_t n_names;
    char *patterns[MAX_ARGUMENTS]; /* owned */
    size_t n_patterns;
};

/* Copies the words: at most MAX_ARGUMENTS valid names, and patterns, which have stars. */
void asked_names_init(struct asked_names *asked, const char *const words[], size_t n);
void asked_names_deinit(struct asked_names *asked);
/* Whether that one is asked for. */
bool asked_names_has(const struct asked_names *asked, const char *name);
/* Whether all there are have to be looked at, behind the names. */
bool asked_names_search(const struct asked_names *asked);
/* Of all there are, is it one that is asked for, and is not among the names? */
bool asked_names_match(const struct asked_names *asked, const char *name);

#endif
