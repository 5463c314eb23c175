#include "history/days.h"

#include "base/clock.h"
#include "base/memory.h"
#include "log/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_ASIDE = 3, /* damaged files that are kept */
    ROW_BYTES = 160, /* about, in the file, besides its line */
    WEIGH_AFTER = 16, /* parts of `size` */
};

#define DAY_MILLISECONDS INT64_C(86400000)

/* ---- batches ---- */

void batch_add(struct batch *batch, const struct day_row *row)
{
    batch->rows = memory_grow(batch->rows, batch->n, sizeof *batch->rows);
    batch->rows[batch->n++] = *row;
    batch->bytes += strlen(row->line) + ROW_BYTES;
}

void gap_write(struct text *out, int64_t from, int64_t until, const char *why, uint64_t n)
{
    text_add(out, "gap");
    text_add_number_key(out, "from", (uint64_t)from);
    text_add_number_key(out, "until", (uint64_t)until);
    text_add_key(out, "why", why);
    if (n > 0) {
        text_add_number_key(out, "n", n);
    }
}

static struct day_row gap_row(int64_t from, int64_t until, const char *why, uint64_t n)
{
    struct text line = TEXT_INIT;
    from = from < until ? from : until; /* the clock may have been set back */
    gap_write(&line, from, until, why, n);
    char *owned = text_take(&line);
    return (struct day_row){.kind = ROW_GAP,
        .ended = until,
        .asked = from,
        .how = why,
        .claims = "",
        .line = owned,
        .owned = owned};
}

void batch_add_gap(struct batch *batch, int64_t from, int64_t until, const char *why, uint64_t n)
{
    const struct day_row row = gap_row(from, until, why, n);
    batch_add(batch, &row);
}

void batch_empty(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        free(batch->rows[i].owned);
    }
    free(batch->rows);
    *batch = (struct batch){.ring = batch->ring};
}

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

/* When that day began. */
static int64_t begin_of(const char *date)
{
    struct tm when = {0};
    strptime(date, "%Y-%m-%d", &when);
    return (int64_t)timegm(&when) * 1000;
}

static int64_t wall_now(void)
{
    return (int64_t)milliseconds(clock_wall_now());
}

/* Of its file, or of one that belongs to it. */
static void day_path(
    const struct days *days, const char *date, const char *suffix, char path[static PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%.10s.db%s", days->directory, date, suffix);
}

static size_t place_of(const struct days *days, const char *date)
{
    size_t i = 0;
    while (i < days->n && strcmp(days->list[i].date, date) < 0) {
        i++;
    }
    return i;
}

struct day *days_from(struct days *days, const char *date)
{
    size_t i = place_of(days, date);
    return i < days->n ? &days->list[i] : NULL;
}

struct day *days_before(struct days *days, const char *date)
{
    size_t i = place_of(days, date);
    return i > 0 ? &days->list[i - 1] : NULL;
}

/* Makes a place for it if it has none. */
static struct day *day_of(struct days *days, const char *date)
{
    size_t i = place_of(days, date);
    if (i == days->n || strcmp(days->list[i].date, date) != 0) {
        days->list = memory_grow(days->list, days->n, sizeof *days->list);
        memmove(&days->list[i + 1], &days->list[i], (days->n - i) * sizeof *days->list);
        days->list[i] = (struct day){0};
        memcpy(days->list[i].date, date, DATE_SIZE);
        days->n++;
    }
    return &days->list[i];
}

static void forget_day(struct days *days, struct day *day)
{
    size_t i = (size_t)(day - days->list);
    day_close(&day->file);
    days->n--;
    memmove(day, day + 1, (days->n - i) * sizeof *day);
}

/* ---- what goes wrong ---- */

static void say_failure(struct days *days, const char *date, const char *why)
{
    char before[sizeof days->why];
    memcpy(before, days->why, sizeof before);
    snprintf(days->why, sizeof days->why, "%s/%s.db: %s", days->directory, date, why);
    if (strcmp(before, days->why) != 0) {
        log_warning("%s; what ends meanwhile waits in berthd's ring", days->why);
    }
}

static void works(struct days *days)
{
    if (days->why[0]) {
        days->why[0] = '\0';
        log_info("the history in %s is written again", days->directory);
    }
}

/* Adds one gap to an opened file. */
static enum day_result add_alone(struct day_file *file, const struct day_row *row)
{
    enum day_result result;
    if ((result = day_begin(file)) || (result = day_add(file, row))) {
        return result;
    }
    return day_commit(file);
}

/* Renames it and what SQLite has beside it; the one that was set aside of the same day goes. */
static bool rename_day(const struct days *days, const char *date)
{
    char from[PATH_MAX], to[PATH_MAX];
    day_path(days, date, "-wal", from);
    day_path(days, date, ".damaged-wal", to);
    if (rename(from, to) < 0 && errno != ENOENT) {
        return false;
    }
    day_path(days, date, "", from);
    day_path(days, date, ".damaged", to);
    return rename(from, to) == 0 || errno == ENOENT;
}

/* The whole day is a gap, until now. */
static void set_aside(struct days *days, struct day *day)
{
    char path[PATH_MAX];
    int64_t begin = begin_of(day->date), now = wall_now();
    int64_t end = begin + DAY_MILLISECONDS - 1;
    struct day_row gap = gap_row(begin, now > begin && now < end ? now : end, "damaged", 0);
    day_path(days, day->date, "", path);
    log_error("%s: %s: it is now %s.damaged", path, day->file.why, path);
    day_close(&day->file);
    if (!rename_day(days, day->date)) {
        log_error("%s: cannot rename it: %s", path, strerror(errno));
    } else if (day_open(&day->file, path) == DAY_DONE && add_alone(&day->file, &gap) != DAY_DONE) {
        day_close(&day->file);
    }
    free(gap.owned);
}

struct day_file *days_use(struct days *days, struct day *day)
{
    char path[PATH_MAX];
    day_path(days, day->date, "", path);
    day->was_used = true;
    if (!day->file.database) {
        enum day_result result = day_open(&day->file, path);
        if (result == DAY_IS_DAMAGED) {
            set_aside(days, day);
        } else if (result != DAY_DONE) {
            say_failure(days, day->date, day->file.why);
        }
    }
    return day->file.database ? &day->file : NULL;
}

/* ---- what is too much ---- */

/* Of a file and its log. */
struct day_names {
    const char *file, *log;
};
static const struct day_names in_use = {"", "-wal"}, aside = {".damaged", ".damaged-wal"};

static uint64_t bytes_of_file(const struct days *days, const char *date, const char *suffix)
{
    char path[PATH_MAX];
    struct stat status;
    day_path(days, date, suffix, path);
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static uint64_t bytes_of(const struct days *days, const char *date, const struct day_names *names)
{
    return bytes_of_file(days, date, names->file) + bytes_of_file(days, date, names->log);
}

static void remove_files(
    const struct days *days, const char *date, const struct day_names *names)
{
    char path[PATH_MAX];
    day_path(days, date, names->file, path);
    unlink(path);
    day_path(days, date, names->log, path);
    unlink(path);
}

/* Names of the directory that end like that, by their dates. */
static size_t list_dates(
    const struct days *days, const char *suffix, char (**datesp)[DATE_SIZE])
{
    struct dirent **entries = NULL;
    size_t n = 0;
    int n_entries = scandir(days->directory, &entries, NULL, alphasort);
    *datesp = NULL;
    for (int i = 0; i < n_entries; i++) {
        const char *name = entries[i]->d_name;
        struct tm when;
        const char *end = strptime(name, "%Y-%m-%d", &when);
        if (end == name + DATE_SIZE - 1 && strcmp(end, suffix) == 0) {
            *datesp = memory_grow(*datesp, n, DATE_SIZE);
            memcpy((*datesp)[n], name, DATE_SIZE - 1);
            (*datesp)[n++][DATE_SIZE - 1] = '\0';
        }
        free(entries[i]);
    }
    free(entries);
    return n;
}

/* What was set aside goes first: all but a few, and what is larger than there is room for. Returns
 * how many bytes are left. */
static uint64_t trim_aside(const struct days *days, uint64_t room, const char *oldest)
{
    char (*dates)[DATE_SIZE];
    size_t n = list_dates(days, ".db.damaged", &dates);
    uint64_t kept = 0;
    for (size_t i = n, n_kept = 0; i-- > 0;) {
        uint64_t bytes = bytes_of(days, dates[i], &aside);
        bool stays = n_kept < MAX_ASIDE && kept + bytes <= room && strcmp(dates[i], oldest) >= 0;
        n_kept += stays;
        kept += stays ? bytes : 0;
        if (!stays) {
            remove_files(days, dates[i], &aside);
        }
    }
    free(dates);
    return kept;
}

static void trim(struct days *days, int64_t now)
{
    char oldest[DATE_SIZE], today[DATE_SIZE];
    uint64_t total = 0;
    date_of(now, today);
    date_of(now - (int64_t)milliseconds(days->keep), oldest);
    for (size_t i = 0; i < days->n; i++) {
        total += bytes_of(days, days->list[i].date, &in_use);
    }
    total += trim_aside(days, days->size > total ? days->size - total : 0, oldest);
    while (days->n > 0 && strcmp(days->list[0].date, today) != 0 &&
        (total > days->size || strcmp(days->list[0].date, oldest) < 0)) {
        uint64_t bytes = bytes_of(days, days->list[0].date, &in_use);
        char date[DATE_SIZE];
        memcpy(date, days->list[0].date, DATE_SIZE);
        forget_day(days, &days->list[0]);
        remove_files(days, date, &in_use);
        total -= bytes;
    }
    days->is_full = total > days->size;
    days->unweighed = 0;
}

void days_tend(struct days *days, int64_t now)
{
    char today[DATE_SIZE];
    date_of(now, today);
    for (size_t i = 0; i < days->n; i++) {
        struct day *day = &days->list[i];
        if (day->was_written && day->file.database &&
            day_checkpoint(&day->file) != DAY_DONE) {
            say_failure(days, day->date, day->file.why);
        }
        if (!day->was_used && strcmp(day->date, today) != 0) {
            day_close(&day->file);
        }
        day->was_used = day->was_written = false;
    }
    trim(days, now);
}

/* ---- writing ---- */

/* Those of the batch that are of one day, in one transaction. */
static enum day_result write_day(struct day_file *file, struct batch *batch, const char *date)
{
    size_t i = batch->n_written;
    char of_row[DATE_SIZE];
    struct ring_state ring = batch->ring;
    enum day_result result = day_begin(file);
    while (result == DAY_DONE && i < batch->n) {
        const struct day_row *row = &batch->rows[i];
        date_of(row->ended, of_row);
        if (strcmp(of_row, date) != 0) {
            break;
        }
        ring.serial = row->serial > 0 ? row->serial : ring.serial;
        ring.ended = row->ended;
        result = day_add(file, row);
        i++;
    }
    ring.serial = i < batch->n ? ring.serial : batch->ring.serial;
    if (result != DAY_DONE || (result = day_set_ring(file, &ring)) != DAY_DONE ||
        (result = day_commit(file)) != DAY_DONE) {
        return result;
    }
    batch->n_written = i;
    return DAY_DONE;
}

/* One day of the batch. False: it fails. */
static bool write_some(struct days *days, struct batch *batch)
{
    char date[DATE_SIZE];
    date_of(batch->rows[batch->n_written].ended, date);
    struct day *day = day_of(days, date);
    struct day_file *file = days_use(days, day);
    if (!file) {
        return false;
    }
    enum day_result result = write_day(file, batch, date);
    day->was_written = true;
    if (result == DAY_IS_DAMAGED) {
        set_aside(days, day);
        result = day->file.database ? write_day(&day->file, batch, date) : result;
    }
    if (result != DAY_DONE) {
        say_failure(days, date, day->file.why);
        day_close(&day->file);
    }
    return result == DAY_DONE;
}

bool days_write(struct days *days, struct batch *batch)
{
    char date[DATE_SIZE];
    if (batch->n == 0) {
        return true;
    }
    days->unweighed += batch->n_written == 0 ? batch->bytes : 0;
    if (days->unweighed > days->size / WEIGH_AFTER || days->is_full) {
        trim(days, wall_now());
    }
    if (days->is_full) {
        date_of(wall_now(), date);
        say_failure(days, date, "this day alone has reached `size`");
        return false;
    }
    while (batch->n_written < batch->n) {
        if (!write_some(days, batch)) {
            return false;
        }
    }
    days->ring = batch->ring;
    works(days);
    return true;
}

void days_note_seen(struct days *days, int64_t now)
{
    struct day *day = days->n > 0 ? &days->list[days->n - 1] : NULL;
    struct day_file *file = day && days->ring.id != 0 ? days_use(days, day) : NULL;
    days->ring.seen = now;
    if (file && day_begin(file) == DAY_DONE && day_set_ring(file, &days->ring) == DAY_DONE) {
        day_commit(file);
    }
}

void days_take_back(struct days *days, uint64_t ring, uint64_t serial)
{
    char date[DATE_SIZE];
    date_of(days->ring.ended, date);
    struct day *day = days_from(days, date);
    struct day_file *file = day ? days_use(days, day) : NULL;
    if (file) {
        day_take_back(file, ring, serial);
    }
}

int64_t days_since(struct days *days)
{
    for (size_t i = 0; i < days->n; i++) {
        int64_t ended = 0;
        struct day_file *file = days_use(days, &days->list[i]);
        if (file && day_oldest_end(file, &ended) == DAY_DONE && ended > 0) {
            return ended;
        }
    }
    return 0;
}

/* ---- life ---- */

/* Two that write the same days would lose what one of them has. */
static bool make_and_lock(struct days *days)
{
    int error = mkdir(days->directory, 0700) < 0 && errno != EEXIST ? errno : 0;
    days->lock_fd = error ? -1 : open(days->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (days->lock_fd < 0) {
        log_error("%s: %s", days->directory, strerror(error ? error : errno));
        return false;
    }
    if (flock(days->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        log_error("%s: another %s has it", days->directory, log_program);
        return false;
    }
    return true;
}

/* What was written last may be in any of them, if the clock was set back. */
static void find_ring(struct days *days)
{
    for (size_t i = 0; i < days->n; i++) {
        struct ring_state ring;
        struct day_file *file = days_use(days, &days->list[i]);
        if (!file || day_get_ring(file, &ring) != DAY_DONE || ring.id == 0) {
            continue;
        }
        bool is_newer = ring.id == days->ring.id ? ring.serial >= days->ring.serial
                                                 : ring.seen >= days->ring.seen;
        days->ring = is_newer ? ring : days->ring;
    }
}

bool days_open(struct days *days, const char *directory, nanoseconds keep, uint64_t size)
{
    char (*dates)[DATE_SIZE];
    *days = (struct days){.keep = keep, .size = size, .lock_fd = -1};
    if (strlen(directory) >= sizeof days->directory) {
        log_error("%s: too long", directory);
        return false;
    }
    strcpy(days->directory, directory);
    if (!make_and_lock(days)) {
        return false;
    }
    size_t n = list_dates(days, ".db", &dates);
    for (size_t i = 0; i < n; i++) {
        day_of(days, dates[i]);
    }
    free(dates);
    find_ring(days);
    days_tend(days, wall_now());
    return true;
}

void days_close(struct days *days)
{
    for (size_t i = 0; i < days->n; i++) {
        day_close(&days->list[i].file);
    }
    free(days->list);
    if (days->lock_fd >= 0) {
        close(days->lock_fd);
    }
}
