#include "wire/status_keys.h"

const char *const status_line_words[N_STATUS_LINES] = {
    [LINE_FIGURES] = "ok",
    [LINE_RESOURCE] = "resource",
    [LINE_TEMPLATE] = "template",
    [LINE_HOLDER] = "holder",
    [LINE_WAITER] = "waiter",
    [LINE_DATABASE] = "database",
    [LINE_HOST] = "host",
};

/* The bits of column `lines`. */
enum {
    FIGURES = 1 << LINE_FIGURES,
    RESOURCE = 1 << LINE_RESOURCE,
    TEMPLATE = 1 << LINE_TEMPLATE,
    HOLDER = 1 << LINE_HOLDER,
    WAITER = 1 << LINE_WAITER,
    DATABASE = 1 << LINE_DATABASE,
    HOST = 1 << LINE_HOST,
};

#define ROW(record, word, type, lines, whom)                                                       \
    {#word, FIELD_##type, offsetof(struct record, word), lines, FOR_##whom},

static const struct field figures_fields[] = {
#define FIGURES_KEY(...) ROW(status, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

static const struct field resource_fields[] = {
#define RESOURCE_KEY(...) ROW(status_resource, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

static const struct field lease_fields[] = {
#define LEASE_KEY(...) ROW(status_lease, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

static const struct field database_fields[] = {
#define DATABASE_KEY(...) ROW(status_database, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

static const struct field host_fields[] = {
#define HOST_KEY(...) ROW(status_host, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

const struct field *status_fields(enum status_line line)
{
    static const struct field *const fields[N_STATUS_LINES] = {
        [LINE_FIGURES] = figures_fields,
        [LINE_RESOURCE] = resource_fields,
        [LINE_TEMPLATE] = resource_fields,
        [LINE_HOLDER] = lease_fields,
        [LINE_WAITER] = lease_fields,
        [LINE_DATABASE] = database_fields,
        [LINE_HOST] = host_fields,
    };
    return fields[line];
}
