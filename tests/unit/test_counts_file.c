/* test_counts_file.c - memory that survives a process, and nothing else. */
#include "journal/counts_file.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct counts_file file;

static void open_it(const char *boot_id, uint64_t layout)
{
    counts_file_open(&file, scratch_path("counters"), boot_id, layout);
}

/* As after SIGKILL: nothing is said or written at the end. */
static void open_again(const char *boot_id, uint64_t layout)
{
    counts_file_close(&file);
    open_it(boot_id, layout);
}

static void begin(void)
{
    scratch_begin();
    open_it("boot-1", 1);
    *(char *)counts_file_extra(&file) = 'e';
    *(char *)counts_file_chunk(&file) = 'a';
    *(char *)counts_file_chunk(&file) = 'b';
}

static void end(void)
{
    counts_file_close(&file);
    scratch_end();
}

static void expect_fresh(void)
{
    cr_expect_eq(file.n_earlier, 0);
    cr_expect_eq(*(char *)counts_file_extra(&file), '\0');
    cr_expect_eq(*(char *)counts_file_chunk(&file), '\0');
}

TestSuite(counts_file, .init = begin, .fini = end);

Test(counts_file, the_next_process_finds_all)
{
    open_again("boot-1", 1);
    cr_expect_eq(file.error, 0);
    cr_assert_eq(file.n_earlier, 2);
    cr_expect_eq(*(char *)counts_file_extra(&file), 'e');
    cr_expect_eq(*(char *)counts_file_chunk(&file), 'a');
    cr_expect_eq(*(char *)counts_file_chunk(&file), 'b');
    cr_expect_eq(*(char *)counts_file_chunk(&file), '\0');
}

Test(counts_file, another_boot_begins_at_zero)
{
    open_again("boot-2", 1);
    expect_fresh();
}

Test(counts_file, another_layout_begins_at_zero)
{
    open_again("boot-1", 2);
    expect_fresh();
}

Test(counts_file, a_file_of_something_else_begins_at_zero)
{
    counts_file_close(&file);
    scratch_write("counters", "hello", 5);
    open_it("boot-1", 1);
    expect_fresh();
}

Test(counts_file, what_is_stored_after_a_freeze_is_not_kept)
{
    counts_file_freeze(&file);
    *(char *)counts_file_extra(&file) = 'x';
    file.chunks[0][0] = 'x';
    open_again("boot-1", 1);
    cr_expect_eq(*(char *)counts_file_extra(&file), 'e');
    cr_expect_eq(*(char *)counts_file_chunk(&file), 'a');
}

/* By root. */
static void cut_file(off_t size)
{
    cr_assert_eq(truncate(scratch_path("counters"), size), 0);
}

Test(counts_file, a_file_that_is_cut_counts_from_zero)
{
    cut_file(COUNTS_HEAD_BYTES + 100);
    cr_expect_not(counts_file_was_cut(&file));
    file.chunks[1][8] = 'n';
    cr_expect(counts_file_was_cut(&file));
    cr_expect_eq(file.chunks[1][0], '\0');
    cr_expect_eq(file.chunks[1][8], 'n');
    cr_expect_eq(*(char *)counts_file_extra(&file), 'e');
    cut_file(0);
    cr_expect_eq(*(char *)counts_file_extra(&file), '\0');
    counts_file_freeze(&file);
    file.chunks[0][0] = 'x';
    open_again("boot-1", 1);
    cr_expect_eq(file.error, 0);
    expect_fresh();
}

Test(counts_file, what_is_left_of_a_cut_chunk_goes)
{
    cut_file(COUNTS_HEAD_BYTES + COUNTS_CHUNK_BYTES + 100);
    open_again("boot-1", 1);
    cr_assert_eq(file.n_earlier, 1);
    cr_expect_eq(*(char *)counts_file_chunk(&file), 'a');
    cr_expect_eq(*(char *)counts_file_chunk(&file), '\0');
}

#ifndef __SANITIZE_ADDRESS__ /* it has a handler of its own */
Test(counts_file, another_bus_error_ends_the_process, .signal = SIGBUS)
{
    raise(SIGBUS);
}
#endif

Test(counts_file, without_a_directory_it_counts_in_memory)
{
    counts_file_close(&file);
    counts_file_open(&file, scratch_path("none/counters"), "boot-1", 1);
    cr_expect_eq(file.error, ENOENT);
    expect_fresh();
    counts_file_freeze(&file);
}

/* The earlier chunks are kept, and the new one is anonymous. */
Test(counts_file, without_space_it_counts_in_memory)
{
    const struct rlimit limit = {.rlim_cur = (rlim_t)scratch_size("counters"),
        .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    *(char *)counts_file_chunk(&file) = 'c';
    cr_expect_eq(file.error, EFBIG);
    *(char *)counts_file_chunk(&file) = 'd';
    counts_file_freeze(&file);
    open_again("boot-1", 1);
    cr_expect_eq(file.n_earlier, 2);
}
