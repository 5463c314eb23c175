/* fuzz_state.c - the file in the state directory, with any contents, and the runtime changes in it.
 *
 * The first byte says whether the file gets the last line that makes it complete. It must be read
 * without a crash, and stored again; the changes are made in a core, and its description must be
 * made and described in the same words by another. */
#include "fuzz.h"

#include "base/table.h"
#include "journal/state.h"
#include "log/log.h"
#include "record/changes.h"
#include "tests/core_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ---- */

static char directory[64];

static void forget_directory(void)
{
    rmdir(directory);
}

static void make_directory(void)
{
    const char *fast = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(directory, sizeof directory, "%s/berth-fuzz-%ld", fast, (long)getpid());
    REQUIRE(mkdir(directory, 0700) == 0 && setenv("STATE_DIRECTORY", directory, 1) == 0);
    atexit(forget_directory);
    log_init((enum log_level)0, false);
}

static void write_file(const char *path, const char *text, size_t n, bool is_whole)
{
    char check[32];
    int length =
        snprintf(check, sizeof check, "check %016llx\n", (unsigned long long)hash_string(text, 0));
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, text, n) == (ssize_t)n);
    REQUIRE(!is_whole || write(fd, check, (size_t)length) == length);
    close(fd);
}

/* ---- the changes ---- */

static char *items[] = {(char[]){"a"}, (char[]){"b"}, (char[]){"c"}};
static const struct definition definitions[] = {
    {.name = (char[]){"s"}, .limit = 4, .max_hold = NEVER},
    {.name = (char[]){"d"}, .kind = KIND_LOCK, .limit = 1, .max_hold = NEVER},
    {.name = (char[]){"g"}, .kind = KIND_POOL, .items = items, .n_items = 3, .max_hold = NEVER},
    {.name = (char[]){"m/*"}, .limit = 2, .max_hold = NEVER, .max_instances = 9},
};

static void finish(struct effects *effects)
{
    effects_clear_changed(effects);
    effects_clear(effects);
}

/* How a berthd that makes these changes at its start describes them; the caller frees the text. */
static char *made(const char *changes)
{
    static const struct user_bounds bounds = {9, 9, 9, 9};
    struct effects effects = EFFECTS_INIT;
    struct core *core = core_new(0);
    struct text described = TEXT_INIT;
    const char *refused;
    char *lines = strdup(changes);
    REQUIRE(lines);
    core_define(core, definitions, 4, &bounds, 0, &effects, &refused);
    finish(&effects);
    changes_apply(core, lines, 0, &effects);
    finish(&effects);
    core_check(core);
    changes_describe(&described, core);
    free(lines);
    effects_deinit(&effects);
    core_free(core);
    return text_take(&described);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct state state;
    if (!directory[0]) {
        make_directory();
    }
    if (n == 0) {
        return 0;
    }
    char *text = strndup((const char *)bytes + 1, n - 1);
    REQUIRE(text);
    state_load(&state, "/s");
    REQUIRE(state.found == STATE_MISSING && state.path);
    char *path = strdup(state.path);
    REQUIRE(path);
    state_deinit(&state);
    write_file(path, text, strlen(text), bytes[0] & 1);
    state_load(&state, "/s");
    REQUIRE(state.found != STATE_MISSING);
    REQUIRE(state.found == STATE_READ || state.changes[0] == '\0');
    uint64_t mark = state.mark;
    int error;
    char *once = made(state.changes), *twice = made(once);
    REQUIRE(strcmp(once, twice) == 0);
    state_set_changes(&state, once, strlen(once));
    REQUIRE(state_store(&state, &error) == STORED);
    state_deinit(&state);
    state_load(&state, "/s");
    REQUIRE(state.found == STATE_READ && state.same_boot && state.mark == mark);
    REQUIRE(strcmp(state.changes, once) == 0);
    state_deinit(&state);
    REQUIRE(unlink(path) == 0);
    free(once);
    free(twice);
    free(path);
    free(text);
    return 0;
}
