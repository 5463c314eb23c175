/* explain.h - berthd's answers, in words for people. */
#pragma once

#include "berth/grant.h"
#include "berth/options.h"
#include "client/answer.h"

/* "the answer's text (code)", fit to be shown; good until the next call. Decodes answer->text. */
const char *why(struct answer *answer);

/* With -v: says what was granted. */
void say_granted(const struct grant *grant);

/* "db, gpus" */
void append_wanted(char *out, size_t size, const struct options *options);

/* For an event, which may not say what it is about: "gpus: why". `out` is "" before. */
void append_why_of_wanted(
    char *out, size_t size, struct answer *answer, const struct options *options);
/* To "2: no such resource (unknown)" after `berth run db 2`: "; did you mean db:2?". */
void append_count_meant(char *out, size_t size, const struct options *options);
