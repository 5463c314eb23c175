#include "view/datetime.h"

#include "base/time.h"
#include "base/words.h"

#include <string.h>
#include <time.h>

#define MS_PER_SECOND INT64_C(1000)

static bool local(int64_t when, struct tm *tm)
{
    time_t seconds = when / MS_PER_SECOND;
    return localtime_r(&seconds, tm) != NULL;
}

/* The whole text, exactly as strftime() would write it. */
static bool datetime_take(const char *text, const char *format, struct tm *tm)
{
    char again[32];
    const char *end = strptime(text, format, tm);
    return end && *end == '\0' && strftime(again, sizeof again, format, tm) > 0 &&
        strcmp(again, text) == 0;
}

/* "03:00" or "03:00:30" */
static bool take_clock(const char *text, struct tm *tm)
{
    tm->tm_sec = 0;
    return datetime_take(text, "%H:%M", tm) ||
        (datetime_take(text, "%H:%M:%S", tm) && tm->tm_sec < 60);
}

/* mktime() takes the 31st of February for one in March: `must_be` is the day of the month, or 0. */
static bool at(struct tm day, int must_be, int64_t *whenp)
{
    day.tm_isdst = -1;
    time_t seconds = mktime(&day);
    *whenp = (int64_t)seconds * MS_PER_SECOND;
    return seconds != (time_t)-1 && (must_be == 0 || day.tm_mday == must_be);
}

static bool last_such_time(struct tm day, int64_t now, int64_t *whenp)
{
    bool is_good = at(day, 0, whenp);
    if (is_good && *whenp > now) {
        day.tm_mday--;
        is_good = at(day, 0, whenp);
    }
    return is_good;
}

/* "today", "yesterday" or "2026-11-23", and a time, or nothing, behind a space or a T. */
static bool take_day(const char *text, struct tm day, int64_t *whenp)
{
    char word[sizeof "2026-11-23"];
    size_t n = strcspn(text, " T");
    int must_be = 0;
    if (n >= sizeof word) {
        return false;
    }
    memcpy(word, text, n);
    word[n] = '\0';
    if (strcmp(word, "yesterday") == 0) {
        day.tm_mday--;
    } else if (strcmp(word, "today") != 0) {
        if (!datetime_take(word, "%Y-%m-%d", &day) || day.tm_year < 70) {
            return false;
        }
        must_be = day.tm_mday;
    }
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    return (text[n] == '\0' || take_clock(text + n + 1, &day)) && at(day, must_be, whenp);
}

bool datetime_parse(const char *text, int64_t now, int64_t *whenp)
{
    nanoseconds span;
    struct tm today;
    if (duration_parse(text, &span)) {
        *whenp = now - span / NANOSECONDS_PER_MILLISECOND;
        return true;
    }
    if (!local(now, &today)) {
        return false;
    }
    struct tm time = today;
    return take_clock(text, &time) ? last_such_time(time, now, whenp)
                                   : take_day(text, today, whenp);
}

static bool is_same_day(const struct tm *a, const struct tm *b)
{
    return a->tm_year == b->tm_year && a->tm_yday == b->tm_yday;
}

void text_add_day_and_time(struct text *text, int64_t when, int64_t now)
{
    struct tm tm, today, yesterday;
    char shown[64];
    if (!local(when, &tm) || !local(now, &today)) {
        text_add(text, "?");
        return;
    }
    yesterday = today;
    yesterday.tm_mday--;
    yesterday.tm_isdst = -1;
    mktime(&yesterday);
    strftime(shown, sizeof shown,
        is_same_day(&tm, &today)           ? "today "
            : is_same_day(&tm, &yesterday) ? "yesterday "
                                           : "%Y-%m-%d ",
        &tm);
    text_add(text, shown);
    strftime(shown, sizeof shown, tm.tm_sec == 0 ? "%H:%M" : "%H:%M:%S", &tm);
    text_add(text, shown);
}

void text_add_datetime(struct text *text, int64_t when, int64_t now)
{
    struct tm tm, today;
    char shown[64];
    if (!local(when, &tm) || !local(now, &today)) {
        text_add(text, "?");
        return;
    }
    strftime(shown, sizeof shown,
        is_same_day(&tm, &today) ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
    text_add(text, shown);
}
