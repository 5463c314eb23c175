#include "redis/facts.h"

#include "redis/one_line.h"

#include <string.h>

static const struct {
    const char *names[N_FACT_SOURCES];
    bool is_kept;
} rows[N_FACTS] = {
#define FACT(id, info, config, hello, kept) [FACT_##id] = {{info, config, hello}, kept},
#include "redis/facts.def"
#undef FACT
};

const char *fact_of(const struct facts *facts, enum fact fact)
{
    return facts->is_known[fact] ? facts->values[fact] : NULL;
}

/* What is known already stays. */
static void set(struct facts *facts, enum fact fact, const char *value, size_t length)
{
    if (!facts->is_known[fact]) {
        facts->is_known[fact] = true;
        format_one_line(facts->values[fact], FACT_BYTES, "%.*s", (int)length, value);
    }
}

const char *fact_setting(enum fact fact)
{
    return rows[fact].names[FACT_FROM_CONFIG];
}

/* `name` is n bytes long, the value behind it `length`. A replica is a "slave" in INFO. */
static void take(struct facts *facts, enum fact_source source, const char *name, size_t n,
    const char *value, size_t length)
{
    bool is_replica = source == FACT_FROM_HELLO && strcmp(value, "replica") == 0;
    for (enum fact i = 0; i < N_FACTS; i++) {
        const char *ours = rows[i].names[source];
        if (ours && strlen(ours) == n && memcmp(ours, name, n) == 0) {
            set(facts, i, is_replica ? "slave" : value, length);
        }
    }
}

/* ---- INFO: lines "key:value" ---- */

static void read_line(struct facts *facts, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    if (colon) {
        size_t n = (size_t)(colon - line);
        take(facts, FACT_FROM_INFO, line, n, colon + 1, length - n - 1);
    }
}

void facts_read_info(struct facts *facts, const char *info)
{
    for (const char *line = info; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        read_line(facts, line, strcspn(line, "\r\n"));
    }
}

/* ---- arrays ---- */

bool facts_read_pairs(struct facts *facts, enum fact_source source, const struct resp *reply)
{
    bool is_good = reply->type == RESP_ARRAY && reply->n % 2 == 0;
    for (size_t i = 0; is_good && i < reply->n; i += 2) {
        const struct resp *name = &reply->elements[i], *value = name + 1;
        if (resp_is_text(name) && resp_is_text(value)) {
            take(facts, source, name->text, name->length, value->text, value->length);
        }
    }
    return is_good;
}

void facts_keep(struct facts *facts, const struct facts *earlier)
{
    for (enum fact i = 0; i < N_FACTS; i++) {
        if (rows[i].is_kept && earlier->is_known[i]) {
            set(facts, i, earlier->values[i], FACT_BYTES);
        }
    }
}
