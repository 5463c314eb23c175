/* test_journal_space.c - the journal where space or the file system fails: promises are kept, no
 * more are made, and it goes on as soon as it can. */
#include "journal_help.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

TestSuite(journal_space, .init = journal_begin, .fini = journal_end, .timeout = 60);

Test(journal_space, limited_file_size)
{
    struct rlimit limit;
    size_t n = 0;
    signal(SIGXFSZ, SIG_IGN);
    open_new();
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = JOURNAL_PAGE + 3 * JOURNAL_CHUNK - 1;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    while (n < MAX_RECORDS && journal_reserve(&journal, 20) != 0) {
        n++;
    }
    cr_expect_eq(n, 2 * JOURNAL_SLOTS);
    cr_expect_eq(errno, EFBIG);
    cr_expect_eq(scratch_size(journal_path), JOURNAL_PAGE + 2 * JOURNAL_CHUNK);
    cr_expect_eq(reopen(), JOURNAL_INTACT);
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    put(1, 5000, 5000);
    expect_found(JOURNAL_INTACT, 1);
}

/* A small file system of our own. */
static void mount_small(void)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mkdir("small", 0700) < 0 ||
        mount("tmpfs", "small", "tmpfs", 0, "size=400k") < 0) {
        cr_skip_test("may not mount");
    }
    cr_assert_eq(chdir("small"), 0);
}

/* Until the file system is full: a write may fail a little before that. */
static void fill_small(void)
{
    char zeros[4096] = {0};
    struct statfs status;
    int fd = open("filler", O_WRONLY | O_CREAT, 0600);
    for (size_t tries = 0; tries < 10000; tries++) {
        ssize_t n = write(fd, zeros, sizeof zeros);
        if (n < 0 && fstatfs(fd, &status) == 0 && status.f_bfree == 0) {
            close(fd);
            return;
        }
    }
    cr_assert_fail("cannot be filled");
}

static void leave_small(void)
{
    cr_assert_eq(chdir(".."), 0);
    cr_assert_eq(umount2("small", MNT_DETACH), 0);
}

/* Reserves as much as there is, and only then writes: a promise is kept whatever fills the disk. */
static void expect_promises_kept(void)
{
    uint32_t places[MAX_RECORDS];
    size_t n = 0;
    while (n < MAX_RECORDS && (places[n] = journal_reserve(&journal, 900)) != 0) {
        n++;
    }
    int error = errno;
    cr_assert(n > 0 && n < MAX_RECORDS);
    cr_expect(error == ENOSPC || error == EFBIG, "%s", strerror(error));
    fill_small();
    for (size_t i = 0; i < n; i++) {
        cr_assert(journal_write(&journal, places[i], record_text(i, 900), 900));
    }
    expect_found(JOURNAL_INTACT, n);
    journal_erase(&journal, seen.slots[0]);
    cr_expect_eq(journal_reserve(&journal, 10), seen.slots[0]); /* too large is better than none */
    cr_expect_eq(journal_reserve(&journal, 10), 0);
}

Test(journal_space, full_disk)
{
    mount_small();
    open_new();
    expect_promises_kept();
    cr_assert_eq(unlink("filler"), 0);
    journal_close(&journal);
    leave_small();
}

Test(journal_space, full_disk_from_the_start)
{
    mount_small();
    fill_small();
    cr_expect_eq(reopen(), JOURNAL_MISSING);
    expect_heard((struct journal_report){.trouble = TROUBLE_NO_FILE, .error = ENOSPC}, 1);
    cr_expect_eq(journal_reserve(&journal, 100), 0);
    cr_expect_eq(errno, ENOSPC);
    expect_heard((struct journal_report){.trouble = TROUBLE_STILL_NO_FILE, .error = ENOSPC}, 1);
    journal_set_complete(&journal);
    cr_assert_eq(unlink("filler"), 0);
    put(1, 100, 100);
    expect_found(JOURNAL_INTACT, 1);
    journal_close(&journal);
    leave_small();
}

/* The records are visited all the same: without a place, if there is none. */
Test(journal_space, damaged_on_a_full_disk)
{
    mount_small();
    open_new();
    for (size_t i = 0; i < 10; i++) {
        slots[i] = put(i, 100, 100);
    }
    cr_assert_eq(pwrite(journal.fd, "X", 1, slot_offset(slots[9]) + 30), 1);
    fill_small();
    cr_expect_eq(reopen(), JOURNAL_DAMAGED);
    cr_expect_eq(heard[TROUBLE_DAMAGE], 1);
    expect_heard((struct journal_report){.trouble = TROUBLE_NO_FILE, .error = ENOSPC}, 1);
    cr_expect_eq(seen.n, 9);
    for (size_t i = 0; i < 9; i++) {
        cr_expect_eq(seen.slots[i], 0);
        cr_expect_eq(seen.lengths[i], 100);
    }
    cr_expect_eq(journal_reserve(&journal, 100), 0);
    cr_assert_eq(unlink("filler"), 0);
    put(1, 100, 100);
    cr_expect_eq(reopen(), JOURNAL_INCOMPLETE);
    journal_close(&journal);
    leave_small();
}

/* ---- a file system that fails ---- */

/* As where the file cannot be mapped: everything goes by pwrite. */
static void do_without_the_map(void)
{
    cr_assert(journal.map.region);
    journal_map_end(&journal.map);
}

Test(journal_space, without_a_map)
{
    uint32_t places[300];
    open_new();
    put(400, 50, 50);
    do_without_the_map();
    for (size_t i = 0; i < 300; i++) { /* grows */
        places[i] = put(i, 100, 100);
    }
    for (size_t i = 0; i < 300; i += 2) {
        journal_erase(&journal, places[i]);
    }
    cr_assert_null(journal.map.region);
    expect_found(JOURNAL_INTACT, 151);
}

Test(journal_space, unwritable_records_are_reported)
{
    open_new();
    uint32_t slot = put(1, 100, 100);
    int good = journal.fd;
    journal.fd = open(journal_path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(journal.fd, 0);
    do_without_the_map();
    cr_expect_not(journal_write(&journal, slot, record_text(2, 100), 100));
    cr_expect_eq(errno, EBADF);
    expect_heard((struct journal_report){.trouble = TROUBLE_NOT_WRITTEN, .error = EBADF}, 1);
    journal_erase(&journal, slot); /* it stays, and so its place is not given to another */
    expect_heard((struct journal_report){.trouble = TROUBLE_NOT_ERASED, .error = EBADF}, 1);
    for (size_t i = 0; i < JOURNAL_SLOTS - 1; i++) {
        cr_assert_neq(journal_reserve(&journal, 100), slot);
    }
    cr_expect_eq(journal_reserve(&journal, 100), 0);
    expect_heard((struct journal_report){.trouble = TROUBLE_NO_GROWTH, .error = EBADF}, 1);
    close(good);
    expect_found(JOURNAL_INTACT, 1);
}

Test(journal_space, what_cannot_be_completed_is_said)
{
    cr_expect_eq(reopen(), JOURNAL_MISSING);
    put(1, 100, 100);
    cr_assert_geq(dup3(open("/dev/null", O_RDONLY | O_CLOEXEC), journal.fd, O_CLOEXEC), 0);
    journal_set_complete(&journal);
    expect_heard((struct journal_report){.trouble = TROUBLE_NOT_COMPLETE, .error = EBADF}, 1);
    cr_expect_eq(reopen(), JOURNAL_INCOMPLETE);
}

/* The pages that it writes to are gone: no crash, and what comes afterwards is written again. */
Test(journal_space, cut_while_it_is_open)
{
    uint32_t places[8];
    open_new();
    for (size_t i = 0; i < 8; i++) {
        places[i] = put(i, 100, 100);
    }
    cr_assert_eq(reopen(), JOURNAL_INTACT);
    uint32_t reserved = journal_reserve(&journal, 100);
    cr_assert_eq(truncate(journal_path, JOURNAL_PAGE), 0);
    cr_expect(journal_write(&journal, reserved, record_text(20, 100), 100));
    cr_assert_null(journal.map.region);
    expect_heard((struct journal_report){.trouble = TROUBLE_CUT}, 1);
    journal_erase(&journal, places[0]);
    cr_expect(journal_write(&journal, places[1], record_text(1, 90), 90));
    put(30, 5000, 5000);
    cr_expect_eq(heard[TROUBLE_CUT], 1);
    cr_assert_eq(reopen(), JOURNAL_INCOMPLETE);
    cr_expect_eq(seen.lengths[20], 100);
    cr_expect_eq(seen.lengths[1], 90);
    cr_expect_eq(seen.lengths[30], 5000);
    cr_expect_eq(seen.n, 3);
}

/* Nothing is written where it was cut, and then it grows: what looks whole is not. */
Test(journal_space, cut_and_made_longer)
{
    open_new();
    put(1, 100, 100);
    cr_assert_eq(truncate(journal_path, 0), 0);
    put(2, 5000, 5000);
    cr_assert_eq(reopen(), JOURNAL_INCOMPLETE);
    cr_expect_eq(seen.lengths[2], 5000);
    cr_expect_eq(seen.n, 1);
}
