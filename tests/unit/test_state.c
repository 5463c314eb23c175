/* test_state.c - the file in the state directory: what was stored is read again, and no other
 * contents stop anybody. */
#include "base/memory.h"
#include "base/table.h"
#include "journal/state.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static const char socket_path[] = "/run/berth.sock";
static const char file[] = "state/run-berth.sock.state";
static struct state state;

static void begin(void)
{
    scratch_begin();
    setenv("STATE_DIRECTORY", scratch_path("state"), 1);
}

static void end(void)
{
    state_deinit(&state);
    scratch_end();
}

TestSuite(state, .init = begin, .fini = end, .timeout = 60);

static enum state_found reload(void)
{
    state_deinit(&state);
    cr_assert(state_load(&state, socket_path));
    return state.found;
}

/* It is read, with these changes. */
static void expect_read(const char *changes)
{
    cr_assert_eq(reload(), STATE_READ);
    cr_expect_str_eq(state.changes, changes);
}

static enum stored store_all(void)
{
    int error = 0;
    enum stored stored = state_store(&state, &error);
    cr_expect_eq(error != 0, stored != STORED);
    return stored;
}

static bool store(const char *changes)
{
    state_set_changes(&state, changes, strlen(changes));
    return store_all() == STORED;
}

/* Numbers from `next` on are to be given out. */
static bool reserve_numbers(uint64_t next)
{
    return state_want_numbers(&state, next) && store_all() == STORED;
}

/* For changes that are so much longer. */
static bool make_room(size_t more_bytes)
{
    errno = state_file_make_room(state.next_path, state_max_bytes(&state) + more_bytes);
    return errno == 0;
}

/* ---- there and back ---- */

Test(state, nothing_there)
{
    cr_expect_eq(reload(), STATE_MISSING);
    cr_expect_eq(state.mark, 0);
    cr_expect_not(state.same_boot);
    cr_expect_str_eq(state.changes, "");
    cr_expect_str_eq(state.path, scratch_path(file));
    cr_expect_eq(strlen(state.boot_id), 36);
    cr_expect_eq(access("state", F_OK), -1); /* looking makes nothing */
}

Test(state, numbers_and_changes)
{
    reload();
    cr_assert(reserve_numbers(1000));
    uint64_t mark = state.mark;
    cr_expect_gt(mark, 1000 + 1000000);
    cr_assert(store("pause d\nlimit s 3 file=2\n"));
    for (int round = 0; round < 3; round++) {
        expect_read("pause d\nlimit s 3 file=2\n");
        cr_expect(state.same_boot);
        cr_expect_eq(state.mark, mark);
    }
    cr_assert(store(""));
    expect_read("");
    cr_expect_eq(state.mark, mark);
}

static bool store_fleet(const char *changes)
{
    return state_set_fleet_changes(&state, changes, strlen(changes)) &&
        store_all() == STORED;
}

/* The host's changes and the databases' do not touch each other. */
Test(state, changes_of_databases)
{
    static const char fleet[] = "fleet default d 7 {\"paused\":true}\nfleet big fleet 8 {}\n";
    reload();
    cr_assert(store_fleet(fleet));
    expect_read("");
    cr_expect_str_eq(state.fleet_changes, fleet);
    cr_assert(store("pause fleet\ndrain\n"));
    expect_read("pause fleet\ndrain\n");
    cr_expect_str_eq(state.fleet_changes, fleet);
    cr_assert(reserve_numbers(9));
    cr_assert(store_fleet(""));
    expect_read("pause fleet\ndrain\n");
    cr_expect_str_eq(state.fleet_changes, "");
}

Test(state, too_many_changes_of_databases)
{
    reload();
    cr_assert(store_fleet("fleet default d 7 {}\n"));
    char *many = memory_new(STATE_FLEET_BYTES + 2);
    memset(many, 'x', STATE_FLEET_BYTES + 1);
    cr_expect_not(store_fleet(many));
    free(many);
    cr_assert_eq(reload(), STATE_READ);
    cr_expect_str_eq(state.fleet_changes, "fleet default d 7 {}\n");
}

Test(state, the_mark_only_grows)
{
    reload();
    cr_assert(reserve_numbers(5000000000));
    uint64_t mark = state.mark;
    cr_assert(reserve_numbers(7));
    cr_expect_eq(state.mark, mark);
    cr_assert_eq(reload(), STATE_READ);
    cr_expect_eq(state.mark, mark);
    cr_assert(reserve_numbers(mark));
    cr_expect_gt(state.mark, mark);
}

/* Early enough that nobody has to wait for them. */
Test(state, more_numbers_are_wanted_at_half)
{
    const uint64_t first = 1000, block = NUMBERS_AHEAD;
    reload();
    cr_assert(reserve_numbers(first));
    cr_expect(state_has_numbers(&state, first + block - 1));
    cr_expect_not(state_has_numbers(&state, first + block));
    cr_expect_not(state_is_short_of_numbers(&state, first + block / 2 - 1));
    uint64_t half = first + block / 2;
    cr_expect(state_is_short_of_numbers(&state, half));
    cr_assert(state_want_numbers(&state, half));
    cr_expect_not(state_is_short_of_numbers(&state, half)); /* they are on their way */
    cr_expect_not(state_has_numbers(&state, first + block)); /* but not there */
    cr_assert(store("drain\n")); /* whatever else is stored */
    cr_expect(state_has_numbers(&state, first + block));
    cr_expect_not(state_has_numbers(&state, half + block));
    cr_expect_not(state_is_short_of_numbers(&state, half + block / 2 - 1));
}

/* No number is given out that a crash could bring back. */
Test(state, numbers_that_may_be_lost)
{
    static const enum stored bad[] = {STORED_NOT, STORED_UNSYNCED};
    reload();
    cr_assert(reserve_numbers(1000));
    uint64_t mark = state.mark;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct state_image image;
        cr_assert(state_want_numbers(&state, mark));
        state_image_init(&image, &state);
        state_image_settle(&image, &state, bad[i]);
        text_deinit(&image.text);
        cr_expect_eq(state.mark, mark);
        cr_expect(state_is_short_of_numbers(&state, mark)); /* they can be asked for again */
    }
    cr_assert(reserve_numbers(mark));
    cr_expect_gt(state.mark, mark);
}

static bool is_secret(const uint8_t secret[SECRET_BYTES])
{
    return memcmp(state.secret, secret, SECRET_BYTES) == 0;
}

Test(state, a_secret_for_as_long_as_the_file_lives)
{
    uint8_t secret[SECRET_BYTES], none[SECRET_BYTES] = {0};
    reload();
    cr_expect_not(state.is_old_secret);
    cr_expect_not(is_secret(none));
    memcpy(secret, state.secret, sizeof secret);
    reload();
    cr_expect_not(is_secret(secret)); /* it was not stored */
    memcpy(secret, state.secret, sizeof secret);
    cr_assert(store("drain\n"));
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(reload(), STATE_READ);
        cr_expect(state.is_old_secret);
        cr_expect(is_secret(secret));
        cr_assert(reserve_numbers(1000));
    }
    cr_assert_eq(truncate(file, scratch_size(file) - 1), 0);
    cr_assert_eq(reload(), STATE_DAMAGED);
    cr_expect_not(state.is_old_secret);
    cr_expect_not(is_secret(secret));
}

Test(state, only_ours_may_read_it)
{
    struct stat status;
    umask(0);
    reload();
    cr_assert(store("pause d\n"));
    cr_assert_eq(stat(file, &status), 0);
    cr_expect_eq(status.st_mode, S_IFREG | 0600);
    cr_assert_eq(stat("state", &status), 0);
    cr_expect_eq(status.st_mode, S_IFDIR | 0700);
}

Test(state, directories_are_made)
{
    setenv("STATE_DIRECTORY", scratch_path("a/b/c"), 1);
    reload();
    cr_assert(store("drain\n"));
    cr_expect_eq(access("a/b/c/run-berth.sock.state", F_OK), 0);
}

Test(state, what_was_made_ready_goes)
{
    reload();
    cr_assert(make_room(100000));
    cr_expect_geq(scratch_size("state/run-berth.sock.state.new"), 100000);
    cr_assert(store("drain\n"));
    cr_expect_lt(scratch_size(file), 1000);
    cr_expect_eq(access("state/run-berth.sock.state.new", F_OK), -1);
    cr_assert(make_room(10));
    state_deinit(&state);
    cr_expect_eq(access("state/run-berth.sock.state.new", F_OK), -1);
    cr_expect_eq(reload(), STATE_READ);
}

Test(state, killed_while_it_was_stored)
{
    reload();
    cr_assert(store("drain\n"));
    scratch_write("state/run-berth.sock.state.new", "half of a file that is longer", 29);
    expect_read("drain\n");
    cr_assert(store(""));
    expect_read("");
}

/* ---- another boot ---- */

static void write_file(const char *text)
{
    cr_assert(mkdir("state", 0700) == 0 || errno == EEXIST);
    scratch_write(file, text, strlen(text));
}

/* As the module does: the last line is of all before. */
static void write_state(const char *text)
{
    char whole[1024];
    snprintf(
        whole, sizeof whole, "%scheck %016llx\n", text, (unsigned long long)hash_string(text, 0));
    write_file(whole);
}

Test(state, of_another_boot)
{
    write_state("berth-state 1\nboot 0b5f8f5e-4d40-4b04-9d8a-6f7c5a1f5d10\nnumbers 77\ndrain\n");
    expect_read("drain\n");
    cr_expect_not(state.same_boot);
    cr_expect_eq(state.mark, 77);
    cr_assert(reserve_numbers(80));
    expect_read("drain\n");
    cr_expect(state.same_boot);
}

Test(state, a_secret_that_is_none)
{
    static const char *const lines[] = {"", "secret \n", "secret 00\n",
        "secret 000102030405060708090a0b0c0d0e\n", "secret 000102030405060708090a0b0c0d0e0\n",
        "secret 000102030405060708090a0b0c0d0e0f0\n", "secret 000102030405060708090a0b0c0d0e0f10\n",
        "secret 000102030405060708090a0b0c0d0e0F\n", "secret  00102030405060708090a0b0c0d0e0f\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "berth-state 1\nboot x\nnumbers 77\n%sdrain\n", lines[i]);
        write_state(text);
        expect_read("drain\n");
        cr_expect_not(state.is_old_secret, "%s", lines[i]);
    }
    write_state("berth-state 1\nboot x\nnumbers 77\nsecret 000102030405060708090a0b0c0d0e0f\n");
    reload();
    cr_expect(state.is_old_secret);
    cr_expect_eq(state.secret[15], 15);
}

/* ---- damaged ---- */

/* After any damage, it can still be used. */
static void expect_usable(void)
{
    cr_expect_str_eq(state.changes, "");
    cr_expect_not(state.same_boot);
    cr_assert(reserve_numbers(state.mark));
    cr_assert(store("drain\n"));
    expect_read("drain\n");
}

Test(state, every_length_and_every_bit)
{
    size_t n;
    reload();
    cr_assert(reserve_numbers(1000));
    cr_assert(store("pause d reason=x\nlimit s 3 file=2\n"));
    char *bytes = scratch_read(file, &n);
    for (size_t length = 0; length < n; length++) {
        scratch_write(file, bytes, length);
        cr_assert_eq(reload(), STATE_DAMAGED, "%zu", length);
        cr_assert_str_eq(state.changes, "");
        cr_assert(state.mark <= 1000 + NUMBERS_AHEAD);
    }
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        scratch_write(file, bytes, n);
        cr_assert_eq(reload(), STATE_DAMAGED, "%zu", i);
        cr_assert_str_eq(state.changes, "");
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    free(bytes);
    expect_usable();
}

Test(state, the_mark_of_a_damaged_file)
{
#define BEGINNING "berth-state 1\nboot x\n"
    static const struct {
        const char *text;
        uint64_t mark;
    } rows[] = {
        {BEGINNING "numbers 77\ncheck 0\n", 77}, {BEGINNING "numbers 77\n", 77},
        {BEGINNING "numbers 77", 0}, {BEGINNING "numbers 077\n", 0}, {BEGINNING "numbers -1\n", 0},
        {BEGINNING "numbers 18446744073709551616\n", 0},
        {BEGINNING "numbers 9223372036854775807\n", 0}, /* there would be no token left */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(rows[i].text);
        cr_expect_eq(reload(), STATE_DAMAGED);
        cr_expect_eq(state.mark, rows[i].mark, "%s", rows[i].text);
        expect_usable();
    }
}

Test(state, checked_but_not_ours)
{
    static const char *const texts[] = {
        "",
        "\n",
        "berth-state 2\nboot x\nnumbers 77\n",
        "berth-state 1\nnumbers 77\n",
        "berth-state 1\nboot x\n",
        "berth-state 1\nboot x\nnumbers\n",
        "berth-state 1\nboot x\nnumbers 9223372036854775807\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_state(texts[i]);
        cr_expect_eq(reload(), STATE_DAMAGED, "%s", texts[i]);
        cr_expect_eq(state.read_error, 0); /* it was read, and makes no sense */
        expect_usable();
    }
}

Test(state, no_number_is_left)
{
    reload();
    cr_expect_not(reserve_numbers(INT64_MAX));
    cr_expect_not(reserve_numbers(UINT64_MAX));
    cr_expect_eq(state.mark, 0);
}

/* What is there may be good: nothing takes its place. */
static void expect_unreadable(int error)
{
    cr_expect_eq(reload(), STATE_UNREADABLE);
    cr_expect_eq(state.read_error, error);
    cr_expect_not(reserve_numbers(7));
    cr_expect_not(store("drain\n"));
    cr_expect_eq(reload(), STATE_UNREADABLE);
}

Test(state, not_a_file)
{
    cr_assert_eq(mkdir("state", 0700), 0);
    cr_assert_eq(mkfifo(file, 0600), 0);
    expect_unreadable(EINVAL);
    cr_assert_eq(unlink(file), 0);
    scratch_write("elsewhere", "kept", 4);
    cr_assert_eq(symlink("../elsewhere", file), 0);
    expect_unreadable(ELOOP);
    cr_expect_eq(scratch_size("elsewhere"), 4);
    cr_assert_eq(unlink(file), 0);
    cr_assert_eq(mkdir(file, 0700), 0);
    expect_unreadable(EINVAL);
    cr_expect(!state_can_be_read(&state));
    cr_assert_eq(rmdir(file), 0);
    cr_expect(state_can_be_read(&state));
}

/* ---- where it cannot be stored ---- */

Test(state, no_directory_can_be_made)
{
    scratch_write("state", "", 0); /* a file */
    cr_expect_eq(reload(), STATE_MISSING);
    cr_expect_not(reserve_numbers(7));
    cr_expect_eq(state.mark, 0);
    cr_expect_not(make_room(10));
    cr_expect_not(store("drain\n"));
    cr_assert_eq(unlink("state"), 0);
    cr_expect(reserve_numbers(7));
    expect_read("drain\n");
}

Test(state, limited_file_size)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    reload();
    cr_assert(reserve_numbers(1000));
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 4096;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect(make_room(3000));
    cr_expect_not(make_room(5000));
    cr_expect_eq(errno, EFBIG);
    char *long_one = malloc(6000);
    memset(long_one, 'x', 6000);
    state_set_changes(&state, long_one, 6000);
    cr_expect_eq(store_all(), STORED_NOT);
    free(long_one);
    expect_read("");
}

/* What was promised can be stored, whatever has filled the disk since. */
Test(state, full_disk)
{
    struct statfs status;
    char zeros[4096] = {0};
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mkdir("state", 0700) < 0 ||
        mount("tmpfs", "state", "tmpfs", 0, "size=100k") < 0) {
        cr_skip_test("may not mount");
    }
    reload();
    cr_assert(reserve_numbers(1000));
    cr_assert(make_room(20000));
    int fd = open("state/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    do {
        cr_assert_eq(fstatfs(fd, &status), 0);
    } while (write(fd, zeros, sizeof zeros) > 0 || status.f_bfree > 0);
    char *lines = malloc(20000);
    for (size_t i = 0; i < 20000; i++) {
        lines[i] = "drain\n"[i % 6];
    }
    state_set_changes(&state, lines, 19998);
    cr_assert_eq(store_all(), STORED);
    cr_expect_not(make_room(1000)); /* both would have to fit */
    cr_expect_eq(errno, ENOSPC);
    cr_assert_eq(reload(), STATE_READ);
    cr_expect_eq(strlen(state.changes), 19998);
    free(lines);
    state_deinit(&state);
    close(fd);
    cr_assert_eq(umount2("state", MNT_DETACH), 0);
}
