/* polls.h - /status.json: at once, or as soon as something has changed after the serial that the
 * reader has. */
#ifndef BERTH_WEB_POLLS_H
#define BERTH_WEB_POLLS_H

#include "web/web.h"

struct polls *polls_new(struct web *web);
/* Answers all. The loop must run once more. */
void polls_free(struct polls *polls);

void polls_take(struct polls *polls, struct http_request *request);
/* The copy, or what is said beside it, has changed. */
void polls_note(struct polls *polls);
/* Whether somebody has asked in the last minute. */
bool polls_are_read(const struct polls *polls);
size_t polls_waiting(const struct polls *polls);

#endif
