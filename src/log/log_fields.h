/* log_fields.h - a message and what it is about, as fields of the journal ("NAME=value"). Pure. */
#pragma once

#include "log/log.h"

#include <sys/uio.h>

enum {
    LOG_FIELDS_MAX = 13 + LOG_RESOURCES + LOG_MORE,
    LOG_FIELDS_BYTES = 8192,
};

struct log_fields {
    struct iovec list[LOG_FIELDS_MAX]; /* points into .bytes */
    int n;
    size_t length;
    char bytes[LOG_FIELDS_BYTES];
};

/* Values are printable ASCII, so that none can become a field of its own. Each resource gets its
 * own BERTH_RESOURCE. Fields that do not fit are left out. */
void log_fields_fill(struct log_fields *fields, enum log_level level, const char *text,
    const struct log_subject *subject);
