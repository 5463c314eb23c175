#include "database/database_log.h"

#include "base/clock.h"
#include "base/words.h"
#include "core/timing.h"
#include "log/log.h"

static struct log_subject subject_of(const struct database_log *log, const char *event)
{
    return (struct log_subject){.event = event, .database = log->name};
}

void database_log_connected(struct database_log *log, const struct link_info *info)
{
    const struct log_subject subject = subject_of(log, "connected");
    log->down_reasons = (struct down_reasons){.n_reasons = 0};
    log_message_on(LOG_LEVEL_INFO, &subject, "database %s: connected to %s%s at %s", log->name,
        link_info_kind(info), link_info_version(info), info->address);
    if (info->warning[0]) {
        log_message_on(LOG_LEVEL_WARNING, &subject, "database %s: %s", log->name, info->warning);
    }
}

void database_log_down(struct database_log *log, const char *why, bool refused)
{
    if (down_reasons_add(&log->down_reasons, why)) {
        const struct log_subject subject = subject_of(log, "down");
        log_message_on(LOG_LEVEL_ERROR, &subject, "database %s: %s: %s", log->name,
            refused ? "refused" : "cannot be reached", why);
    }
}

void database_log_certificates(const struct database_log *log)
{
    const struct log_subject subject = subject_of(log, "certificates");
    log_message_on(LOG_LEVEL_INFO, &subject,
        "database %s: its certificates were read again, for new connections", log->name);
}

void database_log_notice(const struct database_log *log, const char *notice)
{
    const struct log_subject subject = subject_of(log, "notice");
    log_message_on(LOG_LEVEL_WARNING, &subject, "database %s: %s", log->name, notice);
}

void database_log_grace(struct database_log *log, const struct session_view *view)
{
    bool is_in_grace = view->grace_until != NEVER;
    if (is_in_grace == log->was_in_grace || view->state != SESSION_UP) {
        return;
    }
    log->was_in_grace = is_in_grace;
    const struct log_subject subject = subject_of(log, "grace");
    if (is_in_grace) {
        char left[16];
        age_format(left, sizeof left, milliseconds(view->grace_until - clock_now()) + 999);
        log_message_on(LOG_LEVEL_WARNING, &subject,
            "database %s: it is new or has lost its data: nothing new is granted for %s%s%s",
            log->name, left, view->is_new ? "; if it never held anything: berthctl found " : "",
            view->is_new ? log->name : "");
    } else {
        log_message_on(LOG_LEVEL_INFO, &subject, "database %s: its grace has ended", log->name);
    }
}

void database_log_slow(struct database_log *log, const struct session_view *view)
{
    const struct log_subject subject = subject_of(log, "slow");
    bool is_slow = view->slow_renewal != 0;
    if (is_slow && !log->was_slow) {
        char took[24], most[24];
        duration_format(took, sizeof took, view->slow_renewal);
        duration_format(most, sizeof most, timing_slow_renewal(view->ttl));
        log_message_on(LOG_LEVEL_WARNING, &subject,
            "database %s: Redis, or the way to it, is slow: a renewal took %s, more than %s "
            "(berthctl hosts shows how fast it answers)",
            log->name, took, most);
    } else if (!is_slow && log->was_slow) {
        log_message_on(LOG_LEVEL_INFO, &subject,
            "database %s: it is not slow any more: no renewal was for a whole ttl", log->name);
    }
    log->was_slow = is_slow;
}
