#include "redis/facts.h"

#include "redis/one_line.h"

#include <string.h>

static const struct {
    const char *info, *config, *hello;
    bool is_kept;
} rows[N_FACTS] = {
#define FACT(id, its_info, its_config, its_hello, kept)                                            \
    [FACT_##id] = {                                                                                \
        .info = (its_info), .config = (its_config), .hello = (its_hello), .is_kept = (kept)},
#include "redis/facts.def"
#undef FACT
};

const char *fact_of(const struct facts *facts, enum fact fact)
{
    return facts->is_known[fact] ? facts->values[fact] : NULL;
}

static void set(struct facts *facts, enum fact fact, const char *value, size_t length)
{
    if (!facts->is_known[fact]) {
        facts->is_known[fact] = true;
        format_one_line(facts->values[fact], FACT_BYTES, "%.*s", (int)length, value);
    }
}

void facts_set(struct facts *facts, enum fact fact, const char *value)
{
    set(facts, fact, value, strnlen(value, FACT_BYTES));
}

/* ---- INFO: lines "key:value" ---- */

static void read_line(struct facts *facts, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    size_t n = colon ? (size_t)(colon - line) : 0;
    for (enum fact i = 0; colon && i < N_FACTS; i++) {
        if (rows[i].info && strlen(rows[i].info) == n && memcmp(rows[i].info, line, n) == 0) {
            set(facts, i, colon + 1, length - n - 1);
        }
    }
}

void facts_read_info(struct facts *facts, const char *info)
{
    for (const char *line = info; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        read_line(facts, line, strcspn(line, "\r\n"));
    }
}

/* ---- arrays ---- */

/* Calls `take` for each pair of texts. False: the reply is something else. */
static bool read_pairs(struct facts *facts, const struct resp *reply,
    void (*take)(struct facts *facts, const char *name, const char *value))
{
    bool is_good = reply->type == RESP_ARRAY && reply->n % 2 == 0;
    for (size_t i = 0; is_good && i < reply->n; i += 2) {
        const struct resp *name = &reply->elements[i], *value = name + 1;
        if (resp_is_text(name) && resp_is_text(value)) {
            take(facts, name->text, value->text);
        }
    }
    return is_good;
}

static void take_config(struct facts *facts, const char *name, const char *value)
{
    for (enum fact i = 0; i < N_FACTS; i++) {
        if (rows[i].config && strcmp(rows[i].config, name) == 0) {
            facts_set(facts, i, value);
        }
    }
}

/* A replica is a "slave" in INFO. */
static void take_hello(struct facts *facts, const char *name, const char *value)
{
    for (enum fact i = 0; i < N_FACTS; i++) {
        if (rows[i].hello && strcmp(rows[i].hello, name) == 0) {
            facts_set(facts, i, strcmp(value, "replica") == 0 ? "slave" : value);
        }
    }
}

bool facts_read_config(struct facts *facts, const struct resp *reply)
{
    return read_pairs(facts, reply, take_config);
}

bool facts_read_hello(struct facts *facts, const struct resp *reply)
{
    return read_pairs(facts, reply, take_hello);
}

void facts_keep(struct facts *facts, const struct facts *earlier)
{
    for (enum fact i = 0; i < N_FACTS; i++) {
        if (rows[i].is_kept && earlier->is_known[i]) {
            facts_set(facts, i, earlier->values[i]);
        }
    }
}
