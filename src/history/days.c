#include "history/days.h"

#include "base/clock.h"
#include "base/memory.h"
#include "history/rows.h"
#include "log/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the list ---- */

void date_of(int64_t ended, char out[static DATE_SIZE])
{
    time_t seconds = (time_t)(ended / 1000);
    struct tm when;
    bool is_date = gmtime_r(&seconds, &when) && when.tm_year >= -900 && when.tm_year < 8100 &&
        strftime(out, DATE_SIZE, "%Y-%m-%d", &when) == DATE_SIZE - 1;
    if (!is_date) {
        memcpy(out, "1970-01-01", DATE_SIZE);
    }
}

static size_t place_of(const struct days *days, const char *date)
{
    size_t i = 0;
    while (i < days->n && strcmp(days->list[i]->date, date) < 0) {
        i++;
    }
    return i;
}

struct day *days_from(const struct days *days, const char *date)
{
    size_t i = place_of(days, date);
    return i < days->n ? days->list[i] : NULL;
}

struct day *days_before(const struct days *days, const char *date)
{
    size_t i = place_of(days, date);
    return i > 0 ? days->list[i - 1] : NULL;
}

/* Makes a place for it if it has none. */
static struct day *day_of(struct days *days, const char *date)
{
    size_t i = place_of(days, date);
    if (i == days->n || strcmp(days->list[i]->date, date) != 0) {
        days->list = memory_grow(days->list, days->n, sizeof *days->list);
        memmove(&days->list[i + 1], &days->list[i], (days->n - i) * sizeof *days->list);
        days->list[i] = memory_new(sizeof *days->list[i]);
        memcpy(days->list[i]->date, date, DATE_SIZE);
        days->n++;
    }
    return days->list[i];
}

int64_t begin_of(const char *date)
{
    struct tm when = {0};
    strptime(date, "%Y-%m-%d", &when);
    return (int64_t)timegm(&when) * 1000;
}

/* Of a file that belongs to the day. */
static void day_path(
    const struct days *days, const char *date, const char *suffix, char path[static PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%.10s.db%s", days->directory, date, suffix);
}

/* ---- what goes wrong ---- */

#define ASIDE ".damaged" /* behind the name of a file that was set aside */

/* Says each reason once. Returns false. */
static bool fail(struct days *days, const char *date, const char *why)
{
    char said[sizeof days->why];
    snprintf(said, sizeof said, "%s/%s.db: %s", days->directory, date, why);
    if (strcmp(said, days->why) != 0) {
        memcpy(days->why, said, sizeof said);
        log_warning("%s; what ends meanwhile waits in the ring of berthd", said);
    }
    struct day *open = days_from(days, days->open);
    if (days->open[0] && open) {
        day_roll_back(&open->file);
    }
    days->open[0] = '\0';
    days->added = days->committed;
    return false;
}

/* With SQLite's log beside it. The whole day is a gap, until now. */
static void set_aside(struct days *days, struct day *day)
{
    char path[PATH_MAX], log[PATH_MAX], to[PATH_MAX], log_to[PATH_MAX];
    struct text line = TEXT_INIT;
    int64_t begin = begin_of(day->date), end = begin + DAY_MILLISECONDS - 1;
    int64_t now = (int64_t)milliseconds(clock_wall_now());
    int64_t until = now > begin && now < end ? now : end;
    struct day_row gap = gap_row(&line, &(struct drained){0}, begin, until, "damaged", 0);
    day_path(days, day->date, "", path);
    day_path(days, day->date, "-wal", log);
    day_path(days, day->date, ASIDE, to);
    day_path(days, day->date, ASIDE "-wal", log_to);
    log_error("%s: %s: it is now %s", path, day->file.why, to);
    day_close(&day->file);
    unlink(log_to);
    rename(log, log_to);
    if (rename(path, to) < 0) {
        log_error("%s: cannot rename it: %s", path, strerror(errno));
    } else if (day_open(&day->file, path) != DAY_DONE || day_add(&day->file, &gap) != DAY_DONE) {
        day_close(&day->file);
    }
    text_deinit(&line);
}

/* NULL: day->file.why says why. Somebody may have removed the directory. */
static struct day_file *use(struct days *days, struct day *day)
{
    char path[PATH_MAX];
    day_path(days, day->date, "", path);
    day->was_used = true;
    enum day_result result = day->file.database ? DAY_DONE : day_open(&day->file, path);
    if (result == DAY_FAILS && mkdir(days->directory, 0700) == 0) {
        result = day_open(&day->file, path);
    }
    if (result == DAY_IS_DAMAGED) {
        set_aside(days, day);
    }
    return day->file.database ? &day->file : NULL;
}

struct day_file *days_use(struct days *days, struct day *day)
{
    struct day_file *file = use(days, day);
    if (!file && !day->is_unreadable) {
        log_warning("%s/%s.db: it cannot be read: %s", days->directory, day->date, day->file.why);
    }
    day->is_unreadable = !file;
    return file;
}

/* ---- what is too much ---- */

/* Behind the names of a day's files; from FIRST_ASIDE on those that were set aside. */
static const char *const suffixes[] = {"", "-wal", ASIDE, ASIDE "-wal"};

enum { FIRST_ASIDE = 2, N_SUFFIXES = sizeof suffixes / sizeof suffixes[0] };

static uint64_t bytes_of_day(const struct days *days, const char *date, size_t first_suffix)
{
    uint64_t bytes = 0;
    for (size_t i = first_suffix; i < N_SUFFIXES; i++) {
        char path[PATH_MAX];
        struct stat status;
        day_path(days, date, suffixes[i], path);
        bytes += stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    }
    return bytes;
}

static void remove_files(const struct days *days, const char *date, size_t first_suffix)
{
    for (size_t i = first_suffix; i < N_SUFFIXES; i++) {
        char path[PATH_MAX];
        day_path(days, date, suffixes[i], path);
        unlink(path);
    }
}

static void remove_day(struct days *days, size_t i)
{
    struct day *day = days->list[i];
    day_close(&day->file);
    remove_files(days, day->date, 0);
    free(day);
    memmove(&days->list[i], &days->list[i + 1], (--days->n - i) * sizeof *days->list);
}

/* Files that were set aside go first where there is no room; else with their days. Not the day that
 * is being written. A clock that is ahead makes all days look old: as many as are to be kept stay.
 * One of a clock that was ahead is behind today. */
static void trim(struct days *days, int64_t now)
{
    char oldest[DATE_SIZE], today[DATE_SIZE];
    int64_t n_kept = (int64_t)milliseconds(days->keep) / DAY_MILLISECONDS;
    date_of(now, today);
    date_of(now - (int64_t)milliseconds(days->keep), oldest);
    uint64_t total = 0;
    for (size_t i = 0; i < days->n; i++) {
        total += bytes_of_day(days, days->list[i]->date, 0);
    }
    for (size_t i = 0; i < days->n && total > days->size; i++) {
        total -= bytes_of_day(days, days->list[i]->date, FIRST_ASIDE);
        remove_files(days, days->list[i]->date, FIRST_ASIDE);
    }
    size_t first = days->n > 0 && strcmp(days->list[0]->date, today) == 0;
    while (days->n > first &&
        (total > days->size ||
            ((int64_t)days->n > n_kept && strcmp(days->list[first]->date, oldest) < 0))) {
        total -= bytes_of_day(days, days->list[first]->date, 0);
        remove_day(days, first);
        first = days->n > 0 && strcmp(days->list[0]->date, today) == 0;
    }
    days->is_full = total > days->size;
}

void days_tend(struct days *days, int64_t now)
{
    for (size_t i = 0; i < days->n; i++) {
        struct day *day = days->list[i];
        if (day->was_written && day->file.database && day_checkpoint(&day->file) != DAY_DONE) {
            fail(days, day->date, day->file.why);
        }
        if (!day->was_used) {
            day_close(&day->file);
        }
        day->was_used = day->was_written = false;
    }
    trim(days, now);
}

/* ---- writing ---- */

bool days_commit(struct days *days)
{
    struct day *day = days_from(days, days->open);
    if (!days->open[0]) {
        return true;
    }
    if (day_commit(&day->file) != DAY_DONE) {
        return fail(days, day->date, day->file.why);
    }
    days->open[0] = '\0';
    days->committed = days->added;
    if (days->why[0]) {
        days->why[0] = '\0';
        log_info("the history in %s is written again", days->directory);
    }
    trim(days, (int64_t)milliseconds(clock_wall_now()));
    return true;
}

/* With a transaction. A new file that follows others is complete from its day's begin on, also when
 * those have gone; unless somebody has removed the one that was written. */
static enum day_result begin_day(const struct days *days, struct day *day)
{
    char written[DATE_SIZE];
    struct day_row newest = {0};
    struct text line = TEXT_INIT;
    int64_t begin = begin_of(day->date);
    struct day_row first = row_at(&days->added, ROW_SEEN, begin);
    enum day_result result = day_begin(&day->file);
    if (result != DAY_DONE || !days_before(days, day->date)) {
        return result;
    }
    date_of(days->added.ended, written);
    if (strcmp(written, day->date) == 0) {
        first = gap_row(&line, &days->added, begin, days->added.ended, "removed", 0);
    }
    result = day_newest(&day->file, &newest);
    result = result == DAY_DONE && newest.number == 0 ? day_add(&day->file, &first) : result;
    text_deinit(&line);
    return result;
}

/* The day of that time, with a transaction; NULL: it fails. */
static struct day *enter(struct days *days, int64_t ended)
{
    char date[DATE_SIZE];
    date_of(ended, date);
    if (strcmp(days->open, date) == 0) {
        return days_from(days, date);
    }
    if (!days_commit(days)) {
        return NULL;
    }
    if (days->is_full) {
        fail(days, date, "there is no room for more: `size`");
        return NULL;
    }
    struct day *day = day_of(days, date);
    if (!use(days, day) || begin_day(days, day) != DAY_DONE) {
        fail(days, date, day->file.why);
        day_close(&day->file);
        return NULL;
    }
    memcpy(days->open, date, DATE_SIZE);
    day->was_written = true;
    return day;
}

bool days_add(struct days *days, const struct day_row *row)
{
    struct day *day = enter(days, row->ended);
    enum day_result result = day ? day_add(&day->file, row) : DAY_DONE;
    if (result == DAY_IS_DAMAGED) {
        set_aside(days, day);
        days->open[0] = '\0';
        return fail(days, day->date, "it was damaged");
    }
    if (!day || result != DAY_DONE) {
        return day && fail(days, day->date, day->file.why);
    }
    days->added = (struct drained){row->ring, row->serial, row->ended};
    return true;
}

int64_t days_since(struct days *days)
{
    int64_t oldest = 0;
    for (size_t i = 0; i < days->n && oldest == 0; i++) {
        struct day_row newest;
        struct day_file *file = days_use(days, days->list[i]);
        if (file && day_newest(file, &newest) == DAY_DONE &&
            day_oldest(file, &oldest) != DAY_DONE) {
            oldest = begin_of(days->list[i]->date); /* when it could have ended */
        }
    }
    return oldest;
}

/* ---- life ---- */

/* False: it cannot be looked at now. */
static bool find_drained(struct days *days, struct day *day, bool *has_rowsp)
{
    struct day_row last;
    struct day_file *file = use(days, day);
    enum day_result result = file ? day_newest(file, &last) : DAY_FAILS;
    *has_rowsp = result == DAY_DONE && last.ring != 0;
    if (*has_rowsp &&
        (last.ring == days->added.ring ? last.serial >= days->added.serial
                                       : !days->rings_ascend || last.ring > days->added.ring)) {
        days->added = (struct drained){last.ring, last.serial, last.ended};
    }
    return result != DAY_FAILS;
}

bool days_find_drained(struct days *days)
{
    bool is_known = true, has_rows;
    const struct day *unknown = NULL;
    for (size_t i = 0; !days->is_known && i < days->n; i++) {
        bool is_good = find_drained(days, days->list[i], &has_rows);
        unknown = is_good ? unknown : days->list[i];
        is_known = is_good && (is_known || has_rows);
    }
    if (!is_known) {
        return fail(days, unknown->date, unknown->file.why);
    }
    days->is_known = true;
    days->committed = days->added;
    return true;
}

void days_go_on_with(struct days *days, uint64_t ring)
{
    bool goes_on = days->added.ring == ring;
    for (size_t i = 0; !goes_on && i < days->n; i++) {
        struct day_row last;
        struct day_file *file = days_use(days, days->list[i]);
        uint64_t known = days->added.ring == ring ? days->added.serial : 0;
        bool is_it = file && day_newest(file, &last) == DAY_DONE && last.ring == ring;
        if (is_it && last.serial > known) {
            days->added = days->committed = (struct drained){ring, last.serial, last.ended};
        }
    }
}

bool days_open(struct days *days, const char *directory, nanoseconds keep, uint64_t size)
{
    struct dirent **entries = NULL;
    struct tm when;
    *days = (struct days){.keep = keep, .size = size};
    int error = strlen(directory) >= sizeof days->directory      ? ENAMETOOLONG
        : mkdir(directory, 0700) < 0 && errno != EEXIST ? errno
                                                        : 0;
    if (error != 0) {
        log_error("%s: %s", directory, strerror(error));
        return false;
    }
    strcpy(days->directory, directory);
    int n = scandir(directory, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name;
        const char *end = strptime(name, "%Y-%m-%d", &when);
        if (end == name + DATE_SIZE - 1 &&
            (strcmp(end, ".db") == 0 || strcmp(end, ".db" ASIDE) == 0)) {
            name[DATE_SIZE - 1] = '\0';
            day_of(days, name);
        }
        free(entries[i]);
    }
    free(entries);
    days_tend(days, (int64_t)milliseconds(clock_wall_now()));
    return true;
}

void days_close(struct days *days)
{
    for (size_t i = 0; i < days->n; i++) {
        day_close(&days->list[i]->file);
        free(days->list[i]);
    }
    free(days->list);
}
