/* alarm.h - a descriptor that becomes readable at an instant, also if that has come while the
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

/* Once for each wait. The descriptor to poll, or -1 for NEVER. */
int alarm_set(struct alarm *alarm, nanoseconds at);

#endif
