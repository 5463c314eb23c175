/* show_metrics.c - `berthctl metrics`: the host's figures, then those of the fleet from each
 * database that gives them. */
#include "base/words.h"
#include "berthctl/run.h"
#include "view/prometheus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads one answer, which begins with `answer`. *nextp: where the next one begins; 0: there is
 * none. False after a message. */
static bool read_answer(
    struct call *call, char *answer, struct prometheus *prometheus, uint64_t *nextp)
{
    char *words[MAX_WORDS], *line;
    size_t n = words_split(answer, words, MAX_WORDS);
    if (!words_find_number(words, n, "next", nextp)) {
        *nextp = 0;
    }
    while ((line = call_line(call)) && strcmp(line, "end") != 0) {
        if (!prometheus_take(prometheus, line)) {
            call->exit_status = call_protocol_error(call);
            return false;
        }
    }
    return line;
}

/* All answers. False after a message. */
static bool read_answers(struct call *call, struct prometheus *prometheus)
{
    char from[24];
    uint64_t next = 0, before;
    bool is_read;
    do {
        char *answer = call_answer(call);
        before = next;
        is_read = answer && read_answer(call, answer, prometheus, &next);
        snprintf(from, sizeof from, "%" PRIu64, next);
        call->request.from = from;
    } while (is_read && next > before);
    call->request.from = NULL;
    return is_read;
}

/* All that the database says, or that it has not said all. */
static void read_database(struct call *call, struct prometheus *prometheus, const char *name)
{
    struct prometheus part = {0};
    call->request.database = name;
    bool is_read = read_answers(call, &part);
    if (!is_read && call->code == CODE_NONE) {
        /* There may be more of this answer: the next comes over another connection. */
        call_end(call);
    }
    prometheus_add_database(prometheus, name, is_read ? &part : NULL);
    prometheus_deinit(&part);
}

int run_metrics(struct call *call, const struct line *line)
{
    (void)line;
    struct prometheus prometheus = {0};
    struct text out = TEXT_INIT;
    bool is_read = read_answers(call, &prometheus);
    call->is_silent = true;
    for (size_t i = 0; is_read && i < prometheus.n_databases; i++) {
        call->code = CODE_NONE;
        read_database(call, &prometheus, prometheus.databases[i]);
    }
    if (is_read) {
        prometheus_print(&prometheus, &out);
    }
    prometheus_deinit(&prometheus);
    return is_read ? show_print(&out) : call->exit_status;
}
