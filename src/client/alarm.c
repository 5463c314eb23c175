#include "client/alarm.h"

#include <sys/timerfd.h>

bool alarm_init(struct alarm *alarm)
{
    alarm->at = NEVER;
    alarm->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return alarm->fd >= 0;
}

int alarm_set(struct alarm *alarm, nanoseconds at)
{
    if (at == NEVER) {
        return -1;
    }
    if (at != alarm->at) {
        nanoseconds some = at > 0 ? at : 1; /* 0 would disarm it */
        struct itimerspec when = {
            .it_value = {some / NANOSECONDS_PER_SECOND, some % NANOSECONDS_PER_SECOND}};
        timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &when, NULL);
        alarm->at = at;
    }
    return alarm->fd;
}
