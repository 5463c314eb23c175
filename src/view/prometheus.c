#include "view/prometheus.h"

#include "base/memory.h"
#include "base/words.h"
#include "view/printable.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* ---- a sample ---- */

/* Prometheus knows no escapes but those of a quote and of a backslash. */
static void add_escaped(struct text *out, const char *value)
{
    struct text printable = TEXT_INIT;
    text_add_escaped(&printable, value);
    for (const char *at = printable.bytes; at && *at; at++) {
        text_add(out, *at == '"' || *at == '\\' ? "\\" : "");
        text_add_bytes(out, at, 1);
    }
    text_deinit(&printable);
}

static void add_label(struct text *out, const char *name, const char *value)
{
    text_add_format(out, "%s%s=\"", out->length > 0 ? "," : "", name);
    add_escaped(out, value);
    text_add(out, "\"");
}

/* False: malformed. */
static bool take_label(char *const words[], size_t n, const char *label, struct text *out)
{
    char *value = words_find(words, n, label);
    if (value && !percent_decode(value)) {
        return false;
    }
    if (value) {
        add_label(out, label, value);
    }
    return true;
}

static bool take_labels(char *const words[], size_t n, struct text *out)
{
    text_add(out, "");
    bool is_good =
        take_label(words, n, "resource", out) && take_label(words, n, "database", out);
    for (size_t i = METRIC_NONE + 1; is_good && i < N_METRIC_LABELS; i++) {
        is_good = take_label(words, n, metric_label_words[i], out);
    }
    return is_good;
}

/* A number as Prometheus takes it, and the daemon writes it. */
static bool is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    size_t end = text[n] == '.' ? n + 1 + strspn(text + n + 1, "0123456789") : n;
    return n > 0 && text[end] == '\0';
}

static void add_sample(struct text *out, const char *name, const char *suffix,
    const struct text *with, const char *value)
{
    text_add_format(out, "%s%s", name, suffix);
    if (with->length > 0) {
        text_add_format(out, "{%s}", with->bytes);
    }
    text_add_format(out, " %s\n", value);
}

/* ---- a histogram ---- */

static bool is_bound(const char *text)
{
    return is_number(text) || strcmp(text, "+Inf") == 0;
}

/* "BOUND:COUNT,..." The last bucket has everything. */
static bool take_buckets(
    struct text *out, const char *name, const struct text *with, char *buckets, const char **countp)
{
    char *bucket;
    bool is_last = false;
    while ((bucket = strsep(&buckets, ",")) != NULL) {
        char *count = strchr(bucket, ':');
        if (!count || is_last) {
            return false;
        }
        *count++ = '\0';
        if (!is_bound(bucket) || !is_number(count)) {
            return false;
        }
        struct text split = TEXT_INIT;
        text_add(&split, with->bytes);
        add_label(&split, "le", bucket);
        add_sample(out, name, "_bucket", &split, count);
        text_deinit(&split);
        is_last = strcmp(bucket, "+Inf") == 0;
        *countp = count;
    }
    return is_last;
}

static bool take_histogram(struct text *out, const char *name, const struct text *with,
    char *const words[], size_t n)
{
    const char *sum = words_find(words, n, "sum"), *count = NULL;
    char *buckets = words_find(words, n, "le");
    if (!sum || !is_number(sum) || !buckets || !take_buckets(out, name, with, buckets, &count)) {
        return false;
    }
    add_sample(out, name, "_sum", with, sum);
    add_sample(out, name, "_count", with, count);
    return true;
}

static bool take_figure(struct text *out, const char *name, const struct text *with,
    char *const words[], size_t n)
{
    const char *value = words_find(words, n, "value");
    if (!value || !is_number(value)) {
        return false;
    }
    add_sample(out, name, "", with, value);
    return true;
}

/* ---- databases ---- */

static bool take_database(struct prometheus *prometheus, char *name)
{
    if (!percent_decode(name)) {
        return false;
    }
    prometheus->databases = memory_resize(
        prometheus->databases, prometheus->n_databases + 1, sizeof *prometheus->databases);
    prometheus->databases[prometheus->n_databases++] = memory_string(name);
    return true;
}

/* NULL: it has given none. */
static void prometheus_add_database(
    struct prometheus *prometheus, const char *name, const struct prometheus *figures)
{
    const enum metric up = METRIC_SHARED_up;
    struct text with = TEXT_INIT;
    for (size_t i = 0; figures && i < N_METRICS; i++) {
        const struct text *samples = &figures->samples[i];
        text_add_bytes(&prometheus->samples[i], samples->bytes, samples->length);
    }
    add_label(&with, "database", name);
    add_sample(&prometheus->samples[up], metric_table[up].name, "", &with, figures ? "1" : "0");
    text_deinit(&with);
}

/* ---- all ---- */

static enum metric metric_find(const char *name)
{
    enum metric i = 0;
    while (i < N_METRICS && strcmp(metric_table[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* False: malformed. */
static bool take_row(struct prometheus *prometheus, char *const words[], size_t n)
{
    enum metric metric = n > 1 ? metric_find(words[1]) : N_METRICS;
    if (n == 2 && strcmp(words[0], "database") == 0) {
        return take_database(prometheus, words[1]);
    }
    if (metric == N_METRICS) {
        return n > 1;
    }
    const char *name = metric_table[metric].name;
    struct text *out = &prometheus->samples[metric];
    struct text with = TEXT_INIT;
    bool is_histogram = metric_is_histogram(metric_table[metric].kind);
    bool is_good = strcmp(words[0], is_histogram ? "histogram" : "figure") == 0 &&
        take_labels(words, n, &with) &&
        (is_histogram ? take_histogram : take_figure)(out, name, &with, words, n);
    text_deinit(&with);
    return is_good;
}

static bool take_ok(struct prometheus *prometheus, char *const words[], size_t n)
{
    prometheus->begun = true;
    prometheus->next = 0;
    words_find_number(words, n, "next", &prometheus->next);
    return n > 0 && strcmp(words[0], "ok") == 0;
}

enum answer_result prometheus_take(void *object, char *line)
{
    struct prometheus *prometheus = object;
    if (prometheus->begun && strcmp(line, "end") == 0) {
        prometheus->begun = false;
        return ANSWER_END;
    }
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    bool is_good = (prometheus->begun ? take_row : take_ok)(prometheus, words, n);
    return is_good ? ANSWER_MORE : ANSWER_MALFORMED;
}

void prometheus_print(const struct prometheus *prometheus, struct text *out)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_TIME] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_SPAN] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
        [METRIC_LATENCY] = "histogram",
    };
    text_add(out, "");
    for (size_t i = 0; i < N_METRICS; i++) {
        const struct metric_row *row = &metric_table[i];
        const struct text *samples = &prometheus->samples[i];
        if (samples->length > 0) {
            text_add_format(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name,
                types[row->kind]);
            text_add_bytes(out, samples->bytes, samples->length);
        }
    }
}

static void prometheus_deinit(struct prometheus *prometheus)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        text_deinit(&prometheus->samples[i]);
    }
    for (size_t i = 0; i < prometheus->n_databases; i++) {
        free(prometheus->databases[i]);
    }
    free(prometheus->databases);
    *prometheus = (struct prometheus){0};
}

/* ---- asking ---- */

struct ctl_request metrics_request(const struct metrics_asking *asking)
{
    size_t database = asking->database;
    return (struct ctl_request){
        .word = command_table[COMMAND_metrics].word,
        .from = {asking->from > 0, asking->from},
        .database = database > 0 ? asking->host.databases[database - 1] : NULL,
    };
}

struct prometheus *metrics_figures(struct metrics_asking *asking)
{
    return asking->database == 0 ? &asking->host : &asking->part;
}

bool metrics_go_on(struct metrics_asking *asking, bool is_whole)
{
    struct prometheus *host = &asking->host, *figures = metrics_figures(asking);
    bool has_more = is_whole && figures->next > asking->from;
    asking->from = has_more ? figures->next : 0;
    if (has_more) {
        return true;
    }
    if (asking->database > 0) {
        prometheus_add_database(
            host, host->databases[asking->database - 1], is_whole ? figures : NULL);
        prometheus_deinit(figures);
    } else {
        asking->has_failed = !is_whole;
    }
    return !asking->has_failed && asking->database++ < host->n_databases;
}

void metrics_deinit(struct metrics_asking *asking)
{
    prometheus_deinit(&asking->host);
    prometheus_deinit(&asking->part);
    *asking = (struct metrics_asking){0};
}
