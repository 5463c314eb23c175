/* alarm.h - a descriptor that becomes readable at an instant, even one that passed while the
 * machine was suspended. */
#ifndef BERTH_CLIENT_ALARM_H
#define BERTH_CLIENT_ALARM_H

#include "base/clock.h"

#include <stdbool.h>

struct alarm {
    int fd; /* close-on-exec */
    nanoseconds at; /* NEVER: not set */
};

/* False with errno. */
bool alarm_init(struct alarm *alarm);

/* Call it for each wait. Returns the descriptor to poll, or -1 for NEVER. */
int alarm_set(struct alarm *alarm, nanoseconds at);

#endif
