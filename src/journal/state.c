#include "journal/state.h"

#include "base/memory.h"
#include "base/table.h"
#include "base/words.h"
#include "journal/own_file.h"
#include "journal/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a damaged file: microseconds until the year 2112; numbers start near the clock's. */
#define MAX_CREDIBLE (UINT64_C(1) << 52)
#define MAX_NUMBER (UINT64_C(1) << 62) /* a larger one is damage: tokens end at 2^63 */

enum {
    STATE_BYTES = 64 * 1024 * 1024, /* a larger file is not ours */
    MAX_DAMAGED = 9, /* files that are kept */
};

static const char first_line[] = "berth-state 1\n";

/* ---- the text ----
 *
 *     berth-state 1
 *     boot ID
 *     numbers N
 *     secret HEX          of proof.h
 *     change ...          as many as there are
 *     fleet ...           the same
 *     check HASH          of all before
 */

static const char fleet_word[] = "fleet ";

/* Everything except the check, which takes time to compute. */
static void add_all(struct text *text, const struct state *state)
{
    text_add(text, first_line);
    text_add_format(text, "boot %s\nnumbers %llu\n", state->boot_id,
        (unsigned long long)state->wanted_mark);
    text_add(text, "secret ");
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        text_add_format(text, "%02x", state->secret[i]);
    }
    text_add(text, "\n");
    text_add(text, state->changes);
    text_add(text, state->fleet_changes);
}

enum { CHECK_BYTES = sizeof "check 0123456789abcdef\n" - 1 };

/* The line behind that text. */
static void write_check(char line[static CHECK_BYTES + 1], const char *text)
{
    snprintf(line, CHECK_BYTES + 1, "check %016llx\n", (unsigned long long)hash_string(text, 0));
}

/* Whether the last line has the hash of the others; cuts it off. */
static bool is_whole(char *text)
{
    size_t length = strlen(text);
    char *last = text + length - (length < CHECK_BYTES ? 0 : CHECK_BYTES);
    char found[CHECK_BYTES + 1], expected[CHECK_BYTES + 1];
    strcpy(found, last);
    *last = '\0';
    write_check(expected, text);
    bool is_good = strcmp(found, expected) == 0;
    *last = is_good ? '\0' : found[0];
    return is_good;
}

/* Cuts a line that begins with `word` out of *textp; returns its rest, or NULL. */
static char *state_take_line(char **textp, const char *word)
{
    size_t length = strlen(word);
    char *end = strchr(*textp, '\n');
    if (!end || strncmp(*textp, word, length) != 0) {
        return NULL;
    }
    char *rest = *textp + length;
    *end = '\0';
    *textp = end + 1;
    return rest;
}

static bool parse_secret(struct state *state, const char *hex)
{
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        unsigned byte;
        if (strspn(hex + 2 * i, "0123456789abcdef") < 2 || sscanf(hex + 2 * i, "%2x", &byte) != 1) {
            return false;
        }
        state->secret[i] = (uint8_t)byte;
    }
    return hex[2 * SECRET_BYTES] == '\0';
}

/* The databases' changes come last. */
static void parse_changes(struct state *state, const char *text)
{
    const char *fleet = text;
    while (*fleet && strncmp(fleet, fleet_word, strlen(fleet_word)) != 0) {
        const char *end = strchr(fleet, '\n');
        fleet = end ? end + 1 : fleet + strlen(fleet);
    }
    free(state->changes);
    free(state->fleet_changes);
    state->changes = memory_string(text);
    state->changes[fleet - text] = '\0';
    state->fleet_changes = memory_string(fleet);
}

/* Takes what it can, even from a damaged file: a mark that is too high does no harm. */
static void parse(struct state *state, char *text, bool whole)
{
    char *boot = NULL, *numbers = NULL, *secret = NULL;
    if (strncmp(text, first_line, strlen(first_line)) == 0) {
        text += strlen(first_line);
        boot = state_take_line(&text, "boot ");
        numbers = boot ? state_take_line(&text, "numbers ") : NULL;
        secret = numbers ? state_take_line(&text, "secret ") : NULL;
    }
    uint64_t mark;
    bool has_mark = numbers && number_parse(numbers, MAX_NUMBER, &mark);
    state->found = whole && has_mark ? STATE_READ : STATE_DAMAGED;
    if (has_mark && (whole || mark < MAX_CREDIBLE)) {
        state->mark = state->wanted_mark = mark;
    }
    if (state->found == STATE_READ) {
        state->same_boot = strcmp(boot, state->boot_id) == 0;
        state->is_old_secret = secret && parse_secret(state, secret);
        parse_changes(state, text);
    }
}

/* ---- reading ---- */

static bool is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* NULL if there is no file (errno), or it is not one of ours. NUL-terminated; the caller frees the
 * text. */
static char *read_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    char *text = NULL;
    errno = EINVAL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < STATE_BYTES) {
        text = memory_new((size_t)status.st_size + 1);
        ssize_t n = read(fd, text, (size_t)status.st_size);
        if (n < 0) {
            free(text);
            text = NULL;
        } else {
            text[n] = '\0';
        }
    }
    own_file_close(fd);
    return text;
}

static void read_boot_id(struct state *state)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, state->boot_id, sizeof state->boot_id - 1);
    state->boot_id[n > 0 ? n : 0] = '\0';
    state->boot_id[strcspn(state->boot_id, "\n")] = '\0';
    own_file_close(fd);
}

/* The caller frees it. */
static char *joined(const char *path, const char *separator, const char *rest)
{
    struct text all = TEXT_INIT;
    text_add_format(&all, "%s%s%s", path, separator, rest);
    return text_take(&all);
}

/* For whoever can make something of it, beside earlier ones. */
static char *keep_damaged(const char *path)
{
    static const char kept_as[] = "kept as ";
    struct text what = TEXT_INIT;
    int number = 1, error;
    do {
        what.length = 0;
        text_add_format(&what, "%s%s.damaged-%d", kept_as, path, number);
        error = link(path, what.bytes + strlen(kept_as)) == 0 ? 0 : errno;
    } while (error == EEXIST && number++ < MAX_DAMAGED);
    if (error != 0) { /* such as a file system without links */
        what.length = 0;
        text_add_format(&what, "not kept: %s", strerror(error));
    }
    return text_take(&what);
}

bool state_can_be_read(const struct state *state)
{
    char *text = read_file(state->path);
    bool is_readable = text || is_missing(errno);
    free(text);
    return is_readable;
}

bool state_load(struct state *state, const char *socket_path)
{
    char path[PATH_MAX];
    *state = (struct state){
        .found = STATE_MISSING,
        .changes = memory_string(""),
        .fleet_changes = memory_string(""),
    };
    read_boot_id(state);
    if (!path_in_state_directory(socket_path, ".state", path, sizeof path)) {
        return true;
    }
    state->path = memory_string(path);
    state->next_path = joined(path, "", ".new");
    char *text = read_file(path);
    if (text) {
        bool whole = is_whole(text);
        parse(state, text, whole);
    } else if (!is_missing(errno)) {
        state->read_error = errno;
        state->found = STATE_UNREADABLE;
        state->why_unreadable = joined(path, ": ", strerror(errno));
    }
    free(text);
    if (state->found == STATE_DAMAGED) {
        state->kept = keep_damaged(path);
    }
    return state->is_old_secret || getrandom(state->secret, SECRET_BYTES, 0) == SECRET_BYTES;
}

void state_deinit(struct state *state)
{
    if (state->next_path) {
        unlink(state->next_path); /* left by state_file_make_room() */
    }
    free(state->path);
    free(state->next_path);
    free(state->why_unreadable);
    free(state->kept);
    free(state->changes);
    free(state->fleet_changes);
    *state = (struct state){0};
}

/* ---- numbers ---- */

uint64_t state_fingerprint(const struct state *state)
{
    return hash_bytes((const char *)state->secret, SECRET_BYTES, 0) | 1;
}

bool state_has_numbers(const struct state *state, uint64_t next)
{
    return next < state->mark;
}

bool state_is_short_of_numbers(const struct state *state, uint64_t next)
{
    return next + NUMBERS_AHEAD / 2 >= state->mark && state->wanted_mark == state->mark;
}

bool state_want_numbers(struct state *state, uint64_t next)
{
    if (next > MAX_NUMBER - NUMBERS_AHEAD) {
        return false;
    }
    uint64_t mark = next + NUMBERS_AHEAD;
    state->wanted_mark = mark < state->mark ? state->mark : mark;
    return true;
}

/* ---- changes ---- */

static void replace_text(char **textp, const char *bytes, size_t length)
{
    char *copy = memory_new(length + 1);
    memcpy(copy, bytes, length);
    free(*textp);
    *textp = copy;
}

void state_set_changes(struct state *state, const char *changes, size_t length)
{
    replace_text(&state->changes, changes, length);
}

bool state_set_fleet_changes(struct state *state, const char *changes, size_t length)
{
    if (length > STATE_FLEET_BYTES) {
        return false;
    }
    replace_text(&state->fleet_changes, changes, length);
    return true;
}

/* ---- images ---- */

size_t state_max_bytes(const struct state *state)
{
    enum { FRAME_BYTES = 256 }; /* everything but the changes */
    return strlen(state->changes) + strlen(state->fleet_changes) + FRAME_BYTES;
}

void state_image_init(struct state_image *image, const struct state *state)
{
    *image = (struct state_image){.text = TEXT_INIT, .mark = state->wanted_mark};
    add_all(&image->text, state);
}

/* An errno if nothing may be written, whatever the disk says. */
static int cannot_be_written(const struct state *state)
{
    return !state->path ? ENOENT : state->read_error;
}

int state_make_room(const struct state *state, size_t bytes)
{
    int error = cannot_be_written(state);
    return error == 0 ? state_file_make_room(state->next_path, bytes) : error;
}

enum stored state_image_store(struct state_image *image, const struct state *state, int *errorp)
{
    *errorp = cannot_be_written(state);
    if (*errorp != 0) {
        return STORED_NOT;
    }
    char check[CHECK_BYTES + 1];
    write_check(check, image->text.bytes);
    text_add(&image->text, check);
    return state_file_replace(
        state->path, state->next_path, image->text.bytes, image->text.length, errorp);
}

/* A mark that a crash may undo does not count. */
void state_image_settle(
    const struct state_image *image, struct state *state, enum stored stored)
{
    if (stored == STORED) {
        state->mark = image->mark;
    } else if (state->wanted_mark == image->mark) {
        state->wanted_mark = state->mark;
    }
}

enum stored state_store(struct state *state, int *errorp)
{
    struct state_image image;
    state_image_init(&image, state);
    enum stored stored = state_image_store(&image, state, errorp);
    state_image_settle(&image, state, stored);
    text_deinit(&image.text);
    return stored;
}
