#include "wire/status_keys.h"

#include "base/words.h"

#include <string.h>

const struct shown_row shown_rows[N_SHOWN] = {
#define ATTRIBUTE(name, type, bound, initial, heading) [SHOWN_##name] = {#name, heading},
#include "base/attributes.def"
#undef ATTRIBUTE
};

bool shown_take(const char *shown[N_SHOWN], char *const words[], size_t n)
{
    bool is_good = true;
    for (size_t i = 0; i < N_SHOWN; i++) {
        char *value = shown_rows[i].title ? words_find(words, n, shown_rows[i].word) : NULL;
        is_good = is_good && (!value || percent_decode(value));
        shown[i] = value;
    }
    return is_good;
}

#define WORD(word) {word, sizeof word - 1}
const struct status_line_word status_line_words[N_STATUS_LINES] = {
    [LINE_FIGURES] = WORD("ok"),
    [LINE_RESOURCE] = WORD("resource"),
    [LINE_TEMPLATE] = WORD("template"),
    [LINE_HOLDER] = WORD("holder"),
    [LINE_WAITER] = WORD("waiter"),
    [LINE_DATABASE] = WORD("database"),
    [LINE_HOST] = WORD("host"),
    [LINE_GONE] = WORD("gone"),
};

/* A line goes through the fields of its own kind alone. Column `lines` picks them: IN_... is empty
 * for those of the other kind. */
#define ROW(record, word, type, lines, whom)                                                       \
    IN_##lines({#word, " " #word "=", sizeof " " #word "=" - 1, FIELD_##type,                      \
        offsetof(struct record, word), FOR_##whom}, )
#define IN_BOTH(...) __VA_ARGS__
#define IN_FIGURES(...) __VA_ARGS__
#define IN_DATABASE(...) __VA_ARGS__
#define IN_HOST(...) __VA_ARGS__
#define IN_GONE(...) __VA_ARGS__

static const struct field figures_fields[] = {
#define FIGURES_KEY(...) ROW(status, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

#define IN_RESOURCE(...) __VA_ARGS__
#define IN_TEMPLATE(...)
static const struct field resource_fields[] = {
#define RESOURCE_KEY(...) ROW(status_resource, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};
#undef IN_RESOURCE
#undef IN_TEMPLATE

#define IN_RESOURCE(...)
#define IN_TEMPLATE(...) __VA_ARGS__
static const struct field template_fields[] = {
#define RESOURCE_KEY(...) ROW(status_resource, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

#define IN_HOLDER(...) __VA_ARGS__
#define IN_WAITER(...)
static const struct field holder_fields[] = {
#define LEASE_KEY(...) ROW(status_lease, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};
#undef IN_HOLDER
#undef IN_WAITER

#define IN_HOLDER(...)
#define IN_WAITER(...) __VA_ARGS__
static const struct field waiter_fields[] = {
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

static const struct field gone_fields[] = {
#define GONE_KEY(...) ROW(status_gone, __VA_ARGS__)
#include "wire/status_keys.def"
    {0},
};

const struct field *status_fields(enum status_line line)
{
    static const struct field none[] = {{0}};
    static const struct field *const fields[N_STATUS_LINES + 1] = {
        [LINE_FIGURES] = figures_fields,
        [LINE_RESOURCE] = resource_fields,
        [LINE_TEMPLATE] = template_fields,
        [LINE_HOLDER] = holder_fields,
        [LINE_WAITER] = waiter_fields,
        [LINE_DATABASE] = database_fields,
        [LINE_HOST] = host_fields,
        [LINE_GONE] = gone_fields,
        [N_STATUS_LINES] = none,
    };
    return fields[line];
}

enum status_line status_line_of(const char *line)
{
    size_t length = strcspn(line, " ");
    enum status_line kind = 0;
    while (kind < N_STATUS_LINES &&
        (status_line_words[kind].length != length ||
            memcmp(line, status_line_words[kind].word, length) != 0)) {
        kind++;
    }
    return kind;
}

void status_line_begin(
    struct text *out, enum status_line line, const char *name, unsigned whom, const void *record)
{
    text_add_bytes(out, status_line_words[line].word, status_line_words[line].length);
    text_add(out, " ");
    text_add_encoded(out, name);
    fields_add(out, status_fields(line), whom, record);
}

void status_line_write(
    struct text *out, enum status_line line, const char *name, const void *record)
{
    status_line_begin(out, line, name, 1 << FOR_ANYBODY, record);
    text_add(out, "\n");
}

bool host_figures_equal(const struct status *a, const struct status *b)
{
    return a->draining == b->draining && a->drained_at.number == b->drained_at.number &&
        a->held == b->held && a->waiting == b->waiting &&
        a->granting.is_given == b->granting.is_given &&
        a->granting.number == b->granting.number &&
        a->grace_until.is_given == b->grace_until.is_given &&
        a->grace_until.at == b->grace_until.at;
}
