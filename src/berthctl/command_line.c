/* command_line.c - the options of `berthctl`: one table, for their help and for reading them. */
#include "berthctl/run.h"

#include "base/option_table.h"
#include "base/utf8.h"
#include "base/words.h"
#include "client/exit_status.h"
#include "view/datetime.h"
#include "view/users.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 27 };

int line_refuse(const char *what, const char *word)
{
    bool has_word = word && word[0] != '\0';
    message("%s%s%s (see berthctl --help)", what, has_word ? ": " : "", has_word ? word : "");
    return STATUS_USAGE;
}

/* ---- kinds of values; `member` is that of struct line ---- */

static const char *set_reason(void *member, char *argument)
{
    size_t n = utf8_cut(argument, REASON_BYTES);
    bool is_cut = argument[n] != '\0';
    argument[n] = '\0';
    if (is_cut) {
        message("a reason has at most %d bytes; this is kept: %s", REASON_BYTES, argument);
    }
    return argument[0] != '\0' ? option_set_text(member, argument) : "the reason is empty";
}

static const char *set_database(void *member, char *argument)
{
    return argument[0] != '\0' ? option_set_text(member, argument)
                               : "the name of the database is empty";
}

static const char *set_pid(void *member, char *argument)
{
    uint64_t *pid = member;
    return number_parse(argument, INT32_MAX, pid) && *pid > 0 ? NULL : "not a process";
}

/* Of the whole line. */
static const char *set_user(void *member, char *argument)
{
    struct line *line = member;
    struct optional *uid = &line->past.uid;
    uid->is_given = user_find(argument, &uid->number);
    line->shown.uid = *uid;
    return uid->is_given ? NULL : "no such user";
}

static const char *set_sort(void *member, char *argument)
{
    const struct sort_row **sort = member;
    *sort = sort_find(argument);
    return *sort ? NULL : "not a column to sort by (name, kind, limit, used, free, wait, age)";
}

/* Of the whole line, so that 1h is the same for each option. Milliseconds since 1970. */
static int64_t time_of_line(void)
{
    static int64_t now;
    now = now ? now : clock_wall_now() / NANOSECONDS_PER_MILLISECOND;
    return now;
}

static const char *set_time(void *member, char *argument)
{
    struct optional *when = member;
    int64_t then;
    if (!datetime_parse(argument, time_of_line(), &then)) {
        return "not a time like 1h, 03:00, yesterday or 2026-11-23";
    }
    *when = (struct optional){true, (uint64_t)(then > 0 ? then : 0)};
    return NULL;
}

static const char *set_count(void *member, char *argument)
{
    struct optional *count = member;
    count->is_given = number_parse(argument, UINT32_MAX, &count->number);
    return count->is_given ? NULL : "not a number";
}

/* ---- the table ---- */

#define TO(set, member) set, offsetof(struct line, member)
#define BIT_ONLY NULL, 0

static const struct option_row rows[] = {
    {0, OPTION_ALL, "all", NULL, TO(option_set_true, choice.all),
        "all leases that hold units of NAME"},
    {0, OPTION_HOLDER, "holder", "ID", TO(option_set_text, choice.holder),
        "those with this identity, held or waiting"},
    {0, OPTION_PID, "pid", "PID", TO(set_pid, choice.pid),
        "those of this process of this host, held or waiting"},
    {0, OPTION_REASON, "reason", "TEXT", TO(set_reason, reason),
        "why: shown to those concerned, and in the log"},
    {0, OPTION_WAIT, "wait", NULL, BIT_ONLY, "return once nothing is held"},
    {0, OPTION_TIMEOUT, "timeout", "DURATION", TO(option_set_duration, timeout),
        "wait at most this long, then exit with 75"},
    {0, OPTION_DATABASE, "database", "DB", TO(set_database, database),
        "the database, if the file has several"},
    {0, OPTION_BUSY, "busy", NULL, TO(option_set_true, shown.busy),
        "only what is held or waited for"},
    {0, OPTION_USER, "user", "USER", set_user, 0, "only leases of this user, by name or uid"},
    {0, OPTION_SORT, "sort", "name|kind|limit|used|free|wait|age", TO(set_sort, shown.sort),
        "sort by that column, largest first; age is that of the oldest lease"},
    {0, OPTION_SINCE, "since", "WHEN", TO(set_time, past.since),
        "only what ended since then: 1h, 03:00, yesterday, 2026-11-23"},
    {0, OPTION_UNTIL, "until", "WHEN", TO(set_time, past.until),
        "of that, only what was requested before then"},
    {0, OPTION_LEASE, "lease", "LEASE", TO(option_set_text, past.lease), "only this one"},
    {0, OPTION_FAILED, "failed", NULL, TO(option_set_true, past.failed),
        "only those that did not end with exit 0"},
    {0, OPTION_HOST, "host", "HOST", TO(option_set_text, past.host),
        "only those of this host of the fleet"},
    {0, OPTION_LIMIT, "limit", "N", TO(set_count, past.limit),
        "the newest N (else 1000); 0: all"},
    {0, OPTION_ENDED, "ended", NULL, BIT_ONLY, "also report how each lease ended"},
    {0, OPTION_YES, "yes", NULL, BIT_ONLY,
        "do not ask whether the database ever held anything: it did not"},
    {0, OPTION_JSON, "json", NULL, BIT_ONLY,
        "one JSON object in place of the table, or of each line"},
    {'S', OPTION_SOCKET, "socket", "PATH|user", TO(option_set_text, socket),
        "else $BERTH_SOCKET, else " ENDPOINT_DEFAULT ";\nuser: your own daemon's"},
    {'h', OPTION_HELP, "help", NULL, BIT_ONLY, "this text"},
    {'V', OPTION_VERSION, "version", NULL, BIT_ONLY, "berthctl's own version"},
    {0},
};

void line_print_options(unsigned options)
{
    struct text help = TEXT_INIT;
    option_table_help(rows, options, HELP_COLUMN, &help);
    fputs(help.bytes, stdout);
    text_deinit(&help);
}

const char *line_option_word(unsigned options)
{
    const struct option_row *row = rows;
    while (!(row->in & options)) {
        row++;
    }
    return row->word;
}

/* ---- reading ---- */

static void refuse(const struct line *line, const struct option_reader *reader)
{
    struct text option = TEXT_INIT, why = TEXT_INIT;
    bool is_number = reader->wrong[0] >= '0' && reader->wrong[0] <= '9';
    bool is_limit =
        line->n_words > 0 && strcmp(line->words[0], command_table[COMMAND_limit].word) == 0;
    text_add_format(&option, "-%s", reader->wrong);
    if (reader->fault == OPTION_WITHOUT_ARGUMENT) {
        line_refuse("an argument is missing", option.bytes);
    } else if (reader->fault == OPTION_WITH_WRONG_ARGUMENT) {
        line_refuse(reader->why, reader->argument);
    } else if (is_number && is_limit) {
        line_refuse("a limit is a number from 0 to 1000000", option.bytes);
    } else {
        option_reader_explain(reader, "berthctl", &why);
        message("%s", why.bytes);
    }
    text_deinit(&option);
    text_deinit(&why);
}

/* False after a message: a time of day that has not come yet today is yesterday's. */
static bool is_period(const struct past_choice *choice)
{
    const struct optional *since = &choice->since, *until = &choice->until;
    bool is_good = !since->is_given || !until->is_given || since->number <= until->number;
    if (!is_good) {
        struct text why = TEXT_INIT;
        text_add(&why, "--until (");
        text_add_day_and_time(&why, (int64_t)until->number, time_of_line());
        text_add(&why, ") is before --since (");
        text_add_day_and_time(&why, (int64_t)since->number, time_of_line());
        text_add(&why, ")");
        message("%s", why.bytes);
        text_deinit(&why);
    }
    return is_good;
}

bool line_read(struct line *line, char **argv)
{
    struct option_reader reader = {
        .rows = rows, .in = UINT_MAX, .object = line, .argv = argv + 1};
    line->words = argv + 1;
    for (char *word; (word = option_reader_next(&reader)) != NULL;) {
        bool follows_reason = reader.last && reader.last->in == OPTION_REASON;
        if (follows_reason && line->n_words > 1) { /* there is a name already */
            line_refuse("quote a reason of several words, or put all names before it", word);
            return false;
        }
        line->words[line->n_words++] = word;
    }
    line->options = reader.given;
    if (reader.fault) {
        refuse(line, &reader);
        return false;
    }
    line->words[line->n_words] = NULL;
    return is_period(&line->past);
}
