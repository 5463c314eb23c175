/* visitors.h - who has connected to ask for the history: their lines, and their answers piece by
 * piece, each in turn. Bounded, whatever they do: how many there are, of one user too, what they
 * send, and for how long they are silent, or do not read. */
#pragma once

#include "history/berthd_link.h"
#include "history/copies.h"
#include "history/question.h"

#include <uv.h>

enum { MAX_VISITORS = 64, MAX_VISITORS_OF_USER = 8 };

struct visitor;

struct visitors {
    uv_loop_t *loop;
    struct days *days;
    struct drain *drain;
    struct berthd_link *link;
    struct copies *copies;
    gid_t view_group; /* whose members may see all when berthd is down; -1: there is none */
    bool viewers_see_all; /* they do: berthd has said so last */
    uv_poll_t listening;
    uv_idle_t idle; /* while there is an answer to go on with, and nothing to send */
    struct visitor *list[MAX_VISITORS]; /* owned; NULL: nobody */
};

void visitors_begin(struct visitors *visitors, int fd);
/* Each second: who has been silent for too long goes. */
void visitors_look(struct visitors *visitors, nanoseconds now);
void visitors_end(struct visitors *visitors);
