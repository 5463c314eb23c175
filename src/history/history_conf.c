#include "history/history_conf.h"

#include "base/words.h"
#include "service/program_conf.h"

#include <stddef.h>

#define DEFAULT_PATH SYSCONFDIR "/berth/berth-history.conf"
#define DAY (24 * 3600 * NANOSECONDS_PER_SECOND)

static const uint64_t smallest = UINT64_C(1) << 20, largest = UINT64_C(1) << 40;

static const char *set_keep(void *member, char *argument)
{
    nanoseconds *keep = member;
    return duration_parse(argument, keep) && *keep >= DAY
        ? NULL
        : "expected a duration of at least a day, such as 14d";
}

static const char *set_size(void *member, char *argument)
{
    uint64_t *size = member;
    return size_parse(argument, largest, size) && *size >= smallest
        ? NULL
        : "expected a number of bytes from 1M to 1024G, such as 512M";
}

static const struct conf_row rows[] = {
    {"keep", set_keep, offsetof(struct history_conf, keep)},
    {"size", set_size, offsetof(struct history_conf, size)},
    {0},
};

bool history_conf_read(struct history_conf *conf, const char *path)
{
    *conf = (struct history_conf){.keep = 14 * DAY, .size = UINT64_C(512) << 20};
    return program_conf_read(path, DEFAULT_PATH, "history", rows, conf);
}
