/* long_polls.h - /status.json: at once, or as soon as something has changed after the serial that
 * the reader has. */
#pragma once

#include "web/web.h"

struct long_polls *long_polls_new(struct web *web);
/* Answers all. The loop must run once more. */
void long_polls_free(struct long_polls *polls);

void long_polls_take(struct long_polls *polls, struct http_request *request);
/* The copy, or what is said beside it, has changed. */
void long_polls_note(struct long_polls *polls);
/* Whether somebody has asked in the last minute. */
bool long_polls_are_read(const struct long_polls *polls);
size_t long_polls_waiting(const struct long_polls *polls);
