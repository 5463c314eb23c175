#include "log/log_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void log_fields_add(struct log_fields *fields, const char *name, const char *value)
{
    char *start = fields->bytes + fields->length;
    size_t room = sizeof fields->bytes - fields->length;
    size_t name_length = strlen(name);
    if (!value || value[0] == '\0' || fields->n == LOG_FIELDS_MAX ||
        room < name_length + sizeof "=\\xNN") {
        return;
    }
    memcpy(start, name, name_length);
    start[name_length] = '=';
    size_t length =
        name_length + 1 + log_escape(start + name_length + 1, room - name_length - 1, value);
    fields->list[fields->n++] = (struct iovec){.iov_base = start, .iov_len = length};
    fields->length += length;
}

static void log_fields_add_number(struct log_fields *fields, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    log_fields_add(fields, name, text);
}

static void add_process(
    struct log_fields *fields, const char *uid, const char *pid, const struct log_process *process)
{
    if (process->by.is_known) {
        log_fields_add_number(fields, uid, process->by.uid);
    }
    if (process->pid != 0) {
        log_fields_add_number(fields, pid, process->pid);
    }
}

static void add_resources(struct log_fields *fields, const char *names)
{
    while (*names) {
        char name[NAME_BYTES + 1];
        size_t length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        log_fields_add(fields, "BERTH_RESOURCE", name);
        names += length + strspn(names + length, " ");
    }
}

void log_fields_fill(struct log_fields *fields, enum log_level level, const char *text,
    const struct log_subject *subject)
{
    fields->n = 0;
    fields->length = 0;
    log_fields_add(fields, "MESSAGE", text);
    log_fields_add_number(fields, "PRIORITY", level);
    log_fields_add(fields, "SYSLOG_IDENTIFIER", log_program);
    log_fields_add(fields, "BERTH_EVENT", subject->event);
    add_resources(fields, subject->resources);
    log_fields_add(fields, "BERTH_LEASE", subject->lease);
    add_process(fields, "BERTH_HOLDER_UID", "BERTH_HOLDER_PID", &subject->holder);
    log_fields_add(fields, "BERTH_HOLDER", subject->identity);
    log_fields_add(fields, "BERTH_PROGRAM", subject->program);
    add_process(fields, "BERTH_ASKED_BY_UID", "BERTH_ASKED_BY_PID", &subject->asker);
    if (subject->asker.by.has_login) {
        log_fields_add_number(fields, "BERTH_ASKED_BY_LOGIN_UID", subject->asker.by.login);
    }
    log_fields_add(fields, "BERTH_DATABASE", subject->database);
    for (size_t i = 0; i < subject->n_more; i++) {
        log_fields_add(fields, subject->more[i].name, subject->more[i].value);
    }
}
