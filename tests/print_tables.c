/* print_tables.c - the tables of requests, codes, events, shown and configuration keys as text, for
 * tests/check_docs.py and tests/check_man.py. */
#include "base/metrics.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/value_types.h"
#include "wire/protocol.h"
#include "wire/status_keys.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const right_words[] = {
    [RIGHT_ANYONE] = "anyone",
    [RIGHT_HISTORY] = "history user",
    [RIGHT_USE] = "use",
    [RIGHT_OWNER] = "owner",
    [RIGHT_LEASE_ADMIN] = "lease admin",
    [RIGHT_RESOURCE_ADMIN] = "admin",
    [RIGHT_DAEMON_ADMIN] = "daemon admin",
};

static void print_metric(const struct metric_row *row)
{
    static const char *const types[] = {[METRIC_COUNTER] = "counter", [METRIC_TIME] = "counter",
        [METRIC_GAUGE] = "gauge", [METRIC_SPAN] = "gauge", [METRIC_HISTOGRAM] = "histogram",
        [METRIC_LATENCY] = "histogram"};
    static const char *const scopes[] = {[METRIC_RESOURCE] = ", resource", [METRIC_DAEMON] = "",
        [METRIC_DATABASE] = ", database",
        [METRIC_FLEET] = ", resource, database", [METRIC_SHARED] = ", database"};
    static const char *const labels[] = {[METRIC_NONE] = "", [METRIC_HOW] = ", how",
        [METRIC_REASON] = ", reason", [METRIC_VERB] = ", verb", [METRIC_CODE] = ", code",
        [METRIC_CAUSE] = ", cause", [METRIC_STATE] = ", state"};
    printf("metric\t%s\t%s%s%s\t%s\n", row->name, types[row->kind], scopes[row->scope],
        labels[row->label], row->help);
}

static void print_conf_key(const struct key_row *key)
{
    printf("conf\t%s\t", key->word);
    for (enum section_kind kind = 0; kind < N_SECTION_KINDS; kind++) {
        if (key_is_in(key, kind)) {
            printf("%s ", section_words[kind]);
        }
    }
    printf("\t%s\t%s\t", key->initial ? key->initial : "(required)",
        key->reloadable ? "reload" : "start");
    printf("%s\t%" PRIu64 "\t", key->type->is_list ? "list" : "word", key->max);
    struct text takes = TEXT_INIT;
    key_describe(key, &takes);
    printf("%s\t%s\n", takes.bytes, key->help);
    text_deinit(&takes);
}

/* Its names in JSON follow; units have a form of their own there. */
static void print_shown_key(enum status_line line, const struct field *field)
{
    bool is_span = field->type == FIELD_SPAN || field->type == FIELD_OPTIONAL_SPAN;
    printf("shown\t%s\t%s\t", status_line_words[line].word, field->key);
    if (field->type == FIELD_USER) {
        printf("%s_uid %s_user", field->key, field->key);
    } else if (field->type != FIELD_UNITS && field->whom != FOR_FOLLOWERS) {
        printf("%s%s", field->key, is_span ? "_ms" : "");
    }
    putchar('\n');
}

int main(void)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command_row *row = &command_table[i];
        printf("command\t%s\t%s\t", row->word, right_words[row->right]);
        for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
            if (row->keys & UINT32_C(1) << key) {
                printf("%s ", request_key_table[key].word);
            }
        }
        putchar('\n');
    }
    for (size_t i = CODE_NONE + 1; i < N_CODES; i++) {
        printf("code\t%s\t%d\t%s\n", code_table[i].word, code_table[i].exit_status,
            code_table[i].meaning);
    }
    for (size_t i = EVENT_NONE + 1; i < N_EVENTS; i++) {
        printf("event\t%s\n", event_words[i]);
    }
    for (enum status_line line = 0; line < N_STATUS_LINES; line++) {
        for (const struct field *field = status_fields(line); field->key; field++) {
            print_shown_key(line, field);
        }
    }
    for (size_t i = 0; i < N_METRICS; i++) {
        print_metric(&metric_table[i]);
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        print_conf_key(&key_table[i]);
    }
    return 0;
}
