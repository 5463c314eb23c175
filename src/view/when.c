#include "view/when.h"

#include "base/time.h"
#include "base/words.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define MS_PER_SECOND INT64_C(1000)

/* A time without a day. */
struct clock_time {
    int hour, minute, second;
};

static bool local(int64_t when, struct tm *tm)
{
    time_t seconds = when / MS_PER_SECOND;
    return localtime_r(&seconds, tm) != NULL;
}

/* Takes exactly `n` digits from *textp. */
static bool take_digits(const char **textp, int n, int *numberp)
{
    *numberp = 0;
    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)**textp)) {
            return false;
        }
        *numberp = *numberp * 10 + (*(*textp)++ - '0');
    }
    return true;
}

static bool take_byte(const char **textp, char byte)
{
    bool is_there = **textp == byte;
    *textp += is_there;
    return is_there;
}

static bool take_word(const char **textp, const char *word)
{
    size_t n = strlen(word);
    bool is_there = strncmp(*textp, word, n) == 0;
    *textp += is_there ? n : 0;
    return is_there;
}

/* "03:00" or "03:00:30", to the end of the text. */
static bool clock_parse(const char *text, struct clock_time *time)
{
    *time = (struct clock_time){0};
    bool is_good = take_digits(&text, 2, &time->hour) && take_byte(&text, ':') &&
        take_digits(&text, 2, &time->minute) &&
        (*text == '\0' || (take_byte(&text, ':') && take_digits(&text, 2, &time->second)));
    return is_good && *text == '\0' && time->hour < 24 && time->minute < 60 && time->second < 60;
}

/* "today", "yesterday" or "2026-11-23", and what may follow. */
static bool day_take(const char **textp, struct tm *day)
{
    if (take_word(textp, "today")) {
        return true;
    }
    if (take_word(textp, "yesterday")) {
        day->tm_mday--;
        return true;
    }
    int year, month, of_month;
    if (!take_digits(textp, 4, &year) || !take_byte(textp, '-') || !take_digits(textp, 2, &month) ||
        !take_byte(textp, '-') || !take_digits(textp, 2, &of_month)) {
        return false;
    }
    day->tm_year = year - 1900;
    day->tm_mon = month - 1;
    day->tm_mday = of_month;
    return year >= 1970 && month >= 1 && month <= 12 && of_month >= 1 && of_month <= 31;
}

/* mktime() takes the 31st of February for one in March: `must_be` is the day of the month, or 0. */
static bool at(struct tm day, const struct clock_time *time, int must_be, int64_t *whenp)
{
    day.tm_hour = time->hour;
    day.tm_min = time->minute;
    day.tm_sec = time->second;
    day.tm_isdst = -1;
    time_t seconds = mktime(&day);
    *whenp = (int64_t)seconds * MS_PER_SECOND;
    return seconds != (time_t)-1 && (must_be == 0 || day.tm_mday == must_be);
}

static bool last_such_time(
    const struct tm *today, const struct clock_time *time, int64_t now, int64_t *whenp)
{
    struct tm day = *today;
    if (!at(day, time, 0, whenp)) {
        return false;
    }
    if (*whenp <= now) {
        return true;
    }
    day.tm_mday--;
    return at(day, time, 0, whenp);
}

bool when_parse(const char *text, int64_t now, int64_t *whenp)
{
    nanoseconds span;
    struct clock_time time;
    struct tm today;
    if (duration_parse(text, &span)) {
        *whenp = now - span / NANOSECONDS_PER_MILLISECOND;
        return true;
    }
    if (!local(now, &today)) {
        return false;
    }
    if (clock_parse(text, &time)) {
        return last_such_time(&today, &time, now, whenp);
    }
    struct tm day = today;
    time = (struct clock_time){0};
    bool is_date = isdigit((unsigned char)text[0]);
    if (!day_take(&text, &day)) {
        return false;
    }
    bool has_time = take_byte(&text, ' ') || take_byte(&text, 'T');
    return (has_time ? clock_parse(text, &time) : *text == '\0') &&
        at(day, &time, is_date ? day.tm_mday : 0, whenp);
}

void text_add_when(struct text *text, int64_t when, int64_t now)
{
    struct tm tm, today;
    char shown[64];
    if (!local(when, &tm) || !local(now, &today)) {
        text_add(text, "?");
        return;
    }
    bool is_today = tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday;
    strftime(shown, sizeof shown, is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
    text_add(text, shown);
}
