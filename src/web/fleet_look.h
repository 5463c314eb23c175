/* fleet_look.h - the hosts of the fleet, asked for while somebody reads. */
#pragma once

#include "web/web.h"

/* `changed` is called when other hosts are there, or hold or wait for something else. */
struct fleet_look *fleet_look_new(struct web *web, void (*changed)(struct web *web));
/* The loop must run once more. */
void fleet_look_free(struct fleet_look *look);
/* Somebody has asked: looks again, if the last time is a while ago. */
void fleet_look_note(struct fleet_look *look);

const char *fleet_look_json(const struct fleet_look *look); /* an array */
uint64_t fleet_look_events(const struct fleet_look *look); /* how often it has changed */
