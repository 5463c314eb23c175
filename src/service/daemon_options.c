#include "service/daemon_options.h"

#include "base/words.h"
#include "config.h"
#include "log/log.h"
#include "service/manager.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

enum { HELP_COLUMN = 22 };

const char *option_set_fd(void *member, char *argument)
{
    uint64_t fd;
    if (!number_parse(argument, INT32_MAX, &fd)) {
        return "not the number of a descriptor";
    }
    *(int *)member = (int)fd;
    return NULL;
}

void daemon_options_log(const struct daemon_options *options)
{
    bool with_time = !options->check_only;
    if (log_init(options->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, with_time)) {
        log_divert(manager_log);
    }
}

static void print_usage(const struct daemon_usage *usage, FILE *out)
{
    struct text rows = TEXT_INIT;
    option_table_help(usage->rows, UINT_MAX, HELP_COLUMN, &rows);
    fprintf(out, "%s\n%s\n%s", usage->head, rows.bytes, usage->more);
    text_deinit(&rows);
}

void daemon_options_refuse(const struct daemon_usage *usage, const char *why)
{
    fprintf(stderr, "%s: %s\n", log_program, why);
    print_usage(usage, stderr);
    exit(EX_USAGE);
}

void daemon_options_read(
    struct daemon_options *options, const struct daemon_usage *usage, char **argv)
{
    struct option_reader reader = {
        .rows = usage->rows, .in = UINT_MAX, .object = options, .argv = argv + 1};
    struct text why = TEXT_INIT;
    for (char *word; (word = option_reader_next(&reader)) != NULL;) {
        text_add_format(&why, "%sunexpected argument: %s", why.length > 0 ? "; " : "", word);
    }
    if (options->help) {
        print_usage(usage, stdout);
        exit(EXIT_SUCCESS);
    }
    if (options->version) {
        printf("%s " PACKAGE_VERSION "\n", log_program);
        exit(EXIT_SUCCESS);
    }
    if (reader.fault) {
        option_reader_explain(&reader, log_program, &why);
    }
    if (why.length > 0) {
        daemon_options_refuse(usage, why.bytes);
    }
}
