/* A message of the log as fields of the journal. */
#include "log/log_fields.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct log_fields fields;
static char all[2 * LOG_FIELDS_BYTES];

/* Each field in brackets. */
static const char *filled(enum log_level level, const char *text, const struct log_subject *subject)
{
    size_t length = 0;
    log_fields_fill(&fields, level, text, subject);
    all[0] = '\0';
    for (int i = 0; i < fields.n; i++) {
        length += (size_t)snprintf(all + length, sizeof all - length, "[%.*s]",
            (int)fields.list[i].iov_len, (const char *)fields.list[i].iov_base);
    }
    return all;
}

Test(log_fields, without_a_subject)
{
    const struct log_subject nothing = {0};
    cr_assert_str_eq(filled(LOG_LEVEL_WARNING, "hello", &nothing),
        "[MESSAGE=hello][PRIORITY=4][SYSLOG_IDENTIFIER=berthd]");
}

Test(log_fields, all)
{
    const struct log_subject subject = {
        .event = "revoked",
        .database = "main",
        .identity = "night",
        .program = "etl",
        .holder = {.by = {.is_known = true}, .pid = 12},
        .asker = {.by = {true, true, 4294967295u, 1000}, .pid = 34},
        .lease = "0abc",
        .resources = "deploy market/alice gpus",
    };
    cr_assert_str_eq(filled(LOG_LEVEL_INFO, "x", &subject),
        "[MESSAGE=x][PRIORITY=6][SYSLOG_IDENTIFIER=berthd][BERTH_EVENT=revoked]"
        "[BERTH_RESOURCE=deploy][BERTH_RESOURCE=market/alice][BERTH_RESOURCE=gpus]"
        "[BERTH_LEASE=0abc][BERTH_HOLDER_UID=0][BERTH_HOLDER_PID=12][BERTH_HOLDER=night]"
        "[BERTH_PROGRAM=etl][BERTH_ASKED_BY_UID=4294967295][BERTH_ASKED_BY_PID=34]"
        "[BERTH_ASKED_BY_LOGIN_UID=1000][BERTH_DATABASE=main]");
}

Test(log_fields, more)
{
    const struct log_field more[] = {{"BERTH_HOW", "released"}, {"BERTH_CODE", NULL},
        {"BERTH_CGROUP", ""}, {"BERTH_REASON", "a\nPRIORITY=0"}};
    const struct log_subject subject = {
        .asker = {.by = {.is_known = true, .uid = 7}}, .more = more, .n_more = 4};
    cr_assert_str_eq(filled(LOG_LEVEL_INFO, "x", &subject),
        "[MESSAGE=x][PRIORITY=6][SYSLOG_IDENTIFIER=berthd][BERTH_ASKED_BY_UID=7]"
        "[BERTH_HOW=released][BERTH_REASON=a\\x0aPRIORITY=0]");
}

Test(log_fields, a_clients_text_stays_one_value)
{
    const struct log_subject subject = {
        .identity = "a\nPRIORITY=0\nMESSAGE=b", .program = "\x1b[2J\xff\t"};
    cr_assert_str_eq(filled(LOG_LEVEL_INFO, "x", &subject),
        "[MESSAGE=x][PRIORITY=6][SYSLOG_IDENTIFIER=berthd]"
        "[BERTH_HOLDER=a\\x0aPRIORITY=0\\x0aMESSAGE=b][BERTH_PROGRAM=\\x1b[2J\\xff\\x09]");
}

Test(log_fields, everything_has_its_place)
{
    struct log_field more[LOG_MORE];
    struct log_subject subject = {
        .event = "revoked",
        .database = "main",
        .identity = "night",
        .program = "etl",
        .holder = {.by = {.is_known = true}, .pid = 12},
        .asker = {.by = {true, true, 0, 0}, .pid = 34},
        .lease = "0abc",
        .more = more,
        .n_more = LOG_MORE,
    };
    for (size_t i = 0; i < LOG_MORE; i++) {
        more[i] = (struct log_field){i + 1 < LOG_MORE ? "BERTH_CODE" : "BERTH_LAST", "1"};
    }
    for (size_t i = 0; i < LOG_RESOURCES; i++) {
        memcpy(subject.resources + 2 * i, "r ", 2);
    }
    cr_assert(strstr(filled(LOG_LEVEL_INFO, "x", &subject), "[BERTH_LAST=1]"));
}

/* The longest of everything, and more. */
Test(log_fields, bounded)
{
    static struct log_subject subject;
    static char text[2 * LOG_FIELDS_BYTES];
    memset(text, '\n', sizeof text - 1);
    subject =
        (struct log_subject){.event = "e", .identity = text, .program = text, .database = text};
    for (size_t i = 0; i + 1 < sizeof subject.resources; i++) {
        subject.resources[i] = i % (NAME_BYTES + 1) == NAME_BYTES ? ' ' : 'r';
    }
    filled(LOG_LEVEL_INFO, "x", &subject);
    cr_assert_leq(fields.length, sizeof fields.bytes);
    cr_assert_leq(fields.n, LOG_FIELDS_MAX);
    int n_resources = 0;
    for (const char *c = all; (c = strstr(c, "[BERTH_RESOURCE=")); c++) {
        n_resources++;
    }
    cr_assert_eq(n_resources, LOG_RESOURCES);
    filled(LOG_LEVEL_INFO, text, &subject);
    cr_assert_leq(fields.length, sizeof fields.bytes);
}
