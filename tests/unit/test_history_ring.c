/* test_history_ring.c - the newest entries survive a process, and nothing else does; and no damage
 * shows as an entry. */
#include "journal/history_ring.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = HISTORY_MIN_BYTES, LONG = 5000 };

static struct history_ring ring;

static void open_of(const char *boot_id, uint64_t layout, size_t size)
{
    history_ring_open(&ring, scratch_path("history"), boot_id, layout, size);
}

/* As after SIGKILL: nothing is said or written at the end. */
static void open_again(size_t size)
{
    history_ring_close(&ring);
    open_of("boot-1", 1, size);
}

/* An entry of so many bytes that begins with its number. */
static void add(unsigned number, size_t size)
{
    char *room = history_ring_room(&ring, size);
    cr_assert(room);
    memset(room, (int)('a' + number % 26), size);
    memcpy(room, &number, sizeof number);
    history_ring_add(&ring);
}

static void begin(void)
{
    scratch_begin();
    open_of("boot-1", 1, SIZE);
    add(1, 100);
    add(2, 7);
    add(3, 300);
}

static void end(void)
{
    history_ring_close(&ring);
    scratch_end();
}

/* The numbers of the entries are first ... last, and their bytes are whole; last < first: none. */
static void expect_entries(unsigned first, unsigned last)
{
    const void *bytes;
    uint64_t position = 0;
    size_t n;
    while (history_ring_next(&ring, &position, &bytes, &n)) {
        unsigned number;
        memcpy(&number, bytes, sizeof number);
        cr_assert_eq(number, first, "%u instead of %u", number, first);
        for (size_t i = sizeof number; i < n; i++) {
            cr_assert_eq(((const char *)bytes)[i], (int)('a' + number % 26));
        }
        first++;
    }
    cr_expect_eq(first, last + 1);
}

/* The number of the entry there, or of the oldest behind it. */
static unsigned next_number(uint64_t *positionp)
{
    const void *bytes;
    size_t n;
    unsigned number = 0;
    cr_assert(history_ring_next(&ring, positionp, &bytes, &n));
    memcpy(&number, bytes, sizeof number);
    return number;
}

static unsigned oldest(void)
{
    uint64_t position = 0;
    return next_number(&position);
}

/* The serials of the entries are first ... last. */
static void expect_serials(uint64_t first, uint64_t last)
{
    const void *bytes;
    uint64_t position = 0;
    size_t n;
    while (history_ring_next(&ring, &position, &bytes, &n)) {
        const struct history_mark *mark = (const struct history_mark *)bytes - 1;
        cr_expect_eq(mark->serial, first, "%lu instead of %lu", mark->serial, first);
        first++;
    }
    cr_expect_eq(first, last + 1);
    cr_expect_eq(ring.added, last);
}

static void damage_file(size_t at, const void *bytes, size_t n)
{
    int fd = open("history", O_WRONLY | O_CLOEXEC);
    cr_assert_eq(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
    close(fd);
}

TestSuite(history_ring, .init = begin, .fini = end);

Test(history_ring, the_next_process_finds_all)
{
    expect_entries(1, 3);
    open_again(SIZE);
    cr_expect_eq(ring.error, 0);
    expect_entries(1, 3);
    add(4, 10);
    open_again(SIZE);
    expect_entries(1, 4);
}

/* Entries of many sizes, so that each kind of end of the ring is met. */
Test(history_ring, the_oldest_make_room)
{
    size_t bytes = 0;
    for (unsigned i = 4; i < 5000; i++) {
        add(i, 4 + i * 37 % 900);
        if (i % 100 == 0) {
            open_again(SIZE);
        }
        unsigned first = oldest();
        cr_assert(i < 200 || first > i - 200);
        if (i % 10 == 0) {
            expect_entries(first, i);
        }
    }
    for (unsigned i = oldest(); i < 5000; i++) {
        bytes += 4 + i * 37 % 900;
    }
    cr_expect_geq(bytes, SIZE * 9 / 10, "only %zu bytes are used", bytes);
}

Test(history_ring, an_entry_that_was_not_added_is_none)
{
    char *room = history_ring_room(&ring, 50);
    memset(room, 'x', 50);
    open_again(SIZE);
    expect_entries(1, 3);
}

/* Killed while the oldest make room. */
Test(history_ring, what_is_written_over_is_gone_before)
{
    for (unsigned i = 4; i < 100; i++) {
        add(i, 1000);
    }
    unsigned first = oldest();
    char *room = history_ring_room(&ring, LONG);
    memset(room, 'x', LONG);
    open_again(SIZE);
    cr_expect_gt(oldest(), first);
    expect_entries(oldest(), 99);
}

Test(history_ring, an_entry_is_at_most_a_quarter)
{
    cr_expect_null(history_ring_room(&ring, SIZE / 4));
    cr_expect_not_null(history_ring_room(&ring, SIZE / 4 - sizeof(struct history_mark)));
}

/* ---- serials ---- */

Test(history_ring, serials_go_on_for_ever)
{
    expect_serials(1, 3);
    for (unsigned i = 4; i < 1000; i++) {
        add(i, 500);
        if (i % 100 == 0) {
            open_again(SIZE);
        }
    }
    expect_serials(oldest(), 999);
    cr_expect_eq(history_ring_overwritten(&ring), oldest() - 1);
}

Test(history_ring, another_size_keeps_serials_and_id)
{
    uint64_t id = ring.id;
    for (unsigned i = 4; i < 400; i++) {
        add(i, 1000);
    }
    for (size_t size = 4 * SIZE; size > 0; size -= SIZE) {
        open_again(size);
        cr_expect_eq(ring.id, id);
        cr_expect_eq(ring.added, 399);
        cr_expect_eq(history_ring_overwritten(&ring), oldest() - 1);
    }
    open_again(SIZE);
    cr_expect_eq(ring.added, 399);
    add(400, 10);
    cr_expect_eq(ring.added, 400);
}

Test(history_ring, a_new_one_has_another_id)
{
    uint64_t id = ring.id;
    history_ring_close(&ring);
    open_of("boot-2", 1, SIZE);
    cr_expect_neq(ring.id, id);
    cr_expect_eq(ring.added, 0);
}

Test(history_ring, serials_go_on_when_no_entry_is_left)
{
    const char zeros[64] = "";
    damage_file(HISTORY_HEAD_BYTES, zeros, sizeof zeros);
    expect_entries(1, 0);
    cr_expect_eq(history_ring_overwritten(&ring), 3);
    open_again(SIZE);
    add(4, 10);
    expect_serials(4, 4);
}

/* Someone reads while entries come. */
Test(history_ring, a_reader_goes_on_with_what_is_there)
{
    uint64_t position = 0;
    next_number(&position);
    for (unsigned i = 4; i < 1000; i++) {
        add(i, 500);
    }
    cr_expect_eq(next_number(&position), oldest());
}

/* ---- another size ---- */

Test(history_ring, a_longer_one_keeps_all)
{
    open_again(4 * SIZE);
    expect_entries(1, 3);
    cr_expect_eq(scratch_size("history"), HISTORY_HEAD_BYTES + 4 * SIZE);
    open_again(4 * SIZE);
    expect_entries(1, 3);
}

Test(history_ring, a_shorter_one_keeps_the_newest)
{
    open_again(8 * SIZE);
    for (unsigned i = 4; i < 400; i++) {
        add(i, 1000);
    }
    open_again(SIZE);
    cr_expect_gt(oldest(), 330U);
    expect_entries(oldest(), 399);
    cr_expect_eq(scratch_size("history"), HISTORY_HEAD_BYTES + SIZE);
}

Test(history_ring, a_size_is_rounded_up)
{
    open_again(1);
    cr_expect_eq(ring.size, (size_t)HISTORY_MIN_BYTES);
    open_again(HISTORY_MIN_BYTES + 1);
    cr_expect_eq(ring.size, (size_t)HISTORY_MIN_BYTES + 4096);
}

Test(history_ring, none_leaves_no_file)
{
    open_again(0);
    expect_entries(1, 0);
    cr_expect_null(history_ring_room(&ring, 10));
    cr_expect_neq(access("history", F_OK), 0);
    open_again(SIZE);
    expect_entries(1, 0);
}

/* ---- files that are not to be trusted ---- */

static void expect_new(void)
{
    open_again(SIZE);
    cr_expect_eq(ring.error, 0);
    expect_entries(1, 0);
    add(1, 10);
    open_again(SIZE);
    expect_entries(1, 1);
}

static void expect_none(const char *boot_id, uint64_t layout)
{
    history_ring_close(&ring);
    open_of(boot_id, layout, SIZE);
    cr_expect_eq(ring.error, 0);
    expect_entries(1, 0);
}

Test(history_ring, another_boot_begins_a_new_one)
{
    expect_none("boot-2", 1);
}

Test(history_ring, another_layout_begins_a_new_one)
{
    expect_none("boot-1", 2);
}

Test(history_ring, a_file_of_something_else_is_replaced)
{
    history_ring_close(&ring);
    scratch_write("history", "hello", 5);
    expect_new();
}

Test(history_ring, a_file_that_was_cut_is_replaced)
{
    cr_assert_eq(truncate("history", HISTORY_HEAD_BYTES), 0);
    expect_new();
}

Test(history_ring, a_file_that_others_may_write_is_replaced)
{
    cr_assert_eq(chmod("history", 0620), 0);
    expect_new();
}

Test(history_ring, a_symbolic_link_is_replaced)
{
    cr_assert_eq(rename("history", "elsewhere"), 0);
    cr_assert_eq(symlink("elsewhere", "history"), 0);
    expect_new();
    struct stat status;
    cr_assert_eq(lstat("history", &status), 0);
    cr_expect(S_ISREG(status.st_mode));
}

Test(history_ring, a_damaged_head_begins_a_new_one)
{
    for (size_t at = 0; at < offsetof(struct history_head, first); at++) {
        uint64_t id = ring.id;
        ((char *)ring.head)[at] ^= 0x10;
        open_again(SIZE);
        cr_expect_neq(ring.id, id, "byte %zu", at);
        expect_entries(1, 0);
        add(1, 10);
    }
}

/* Walks all entries, within bounds. Returns how many there are. */
static unsigned walk(void)
{
    const void *entry;
    uint64_t position = 0;
    size_t length;
    unsigned n = 0;
    while (history_ring_next(&ring, &position, &entry, &length)) {
        cr_assert_geq((const char *)entry, ring.bytes);
        cr_assert_leq((const char *)entry + length, ring.bytes + ring.size);
        cr_assert_lt(n++, (unsigned)SIZE / 8);
    }
    return n;
}

/* Whatever the bytes are, they are read within bounds, and the walk ends. */
Test(history_ring, damage_is_survived)
{
    size_t n;
    history_ring_close(&ring);
    char *bytes = scratch_read("history", &n);
    for (size_t i = 0; i < 600; i++) {
        size_t at = i < 120 ? i : HISTORY_HEAD_BYTES + i - 120;
        const char byte = bytes[at];
        bytes[at] = (char)(byte ^ (i % 2 ? 0x80 : 0x04));
        scratch_write("history", bytes, n);
        bytes[at] = byte;
        open_of("boot-1", 1, SIZE);
        walk();
        cr_assert(history_ring_room(&ring, 1000));
        history_ring_close(&ring);
    }
    free(bytes);
}

/* Of the entry that is in the middle: neither the others go, nor their serials. */
Test(history_ring, a_damaged_entry_is_left_out)
{
    const size_t size_1 = history_mark_size(100);
    for (size_t i = 0; i < sizeof(uint64_t) * 2 + 7; i++) {
        size_t at = size_1 + offsetof(struct history_mark, checksum) + i;
        ring.bytes[at] ^= 0x10;
        for (unsigned again = 0; again < 2; again++) {
            uint64_t position = 0;
            cr_expect_eq(next_number(&position), 1);
            cr_expect_eq(next_number(&position), 3, "byte %zu", at);
            cr_expect_eq(position, ring.end);
            open_again(SIZE);
            cr_expect_eq(ring.added, 3);
        }
        ring.bytes[at] ^= 0x10;
        expect_entries(1, 3);
    }
}

Test(history_ring, behind_a_damaged_entry_serials_go_on)
{
    ring.bytes[ring.end - 1] ^= 0x10;
    ring.bytes[ring.end - 300] ^= 0x10;
    ring.head->added = 1; /* as if killed before that store */
    open_again(SIZE);
    expect_entries(1, 2);
    cr_expect_eq(ring.added, 3);
    add(4, 10);
    cr_expect_eq(ring.added, 4);
}

/* Whatever somebody writes there: each loop ends, and new entries come. */
Test(history_ring, damage_while_it_is_open_is_survived, .timeout = 20)
{
    size_t n;
    char *bytes = scratch_read("history", &n);
    for (size_t i = 0; i < 1200; i += 3) {
        size_t at = i % 600 < 120 ? i % 600 : HISTORY_HEAD_BYTES + i % 600 - 120;
        const char damaged[8] = {(char)(bytes[at] ^ (i % 2 ? 0x80 : 0x04))};
        history_ring_close(&ring);
        scratch_write("history", bytes, n);
        open_of("boot-1", 1, SIZE);
        damage_file(at, damaged, i < 600 ? 1 : sizeof damaged);
        if (i % 4 < 2) {
            walk();
        }
        for (unsigned k = 4; k < 200; k++) {
            add(k, 1000);
        }
        cr_expect_gt(walk(), 50U, "byte %zu", at);
    }
    free(bytes);
}

Test(history_ring, what_is_damaged_hides_nothing_new, .timeout = 5)
{
    const char zeros[SIZE / 2] = "";
    const void *bytes;
    uint64_t position = 0;
    size_t n;
    damage_file(HISTORY_HEAD_BYTES, zeros, sizeof zeros);
    cr_expect_not(history_ring_next(&ring, &position, &bytes, &n));
    add(4, 10);
    cr_expect(history_ring_next(&ring, &position, &bytes, &n), "a walk goes on behind the damage");
    expect_entries(4, 4);
}

/* ---- for who reads it ---- */

/* The file is not all that the ring has any more. */
Test(history_ring, who_reads_gets_no_file_that_was_cut_and_has_grown_again)
{
    cr_assert_geq(history_ring_reader_fd(&ring), 0);
    cr_assert_eq(truncate("history", HISTORY_HEAD_BYTES), 0);
    cr_expect_lt(history_ring_reader_fd(&ring), 0);
    add(4, 10);
    cr_assert_eq(truncate("history", HISTORY_HEAD_BYTES + SIZE), 0);
    cr_expect_lt(history_ring_reader_fd(&ring), 0);
    history_ring_close(&ring);
    open_of("boot", 1, SIZE);
    cr_assert_geq(history_ring_reader_fd(&ring), 0);
    cr_assert_eq(truncate("history", 0), 0);
    cr_assert_eq(truncate("history", HISTORY_HEAD_BYTES + SIZE), 0);
    cr_expect_lt(history_ring_reader_fd(&ring), 0);
}

/* There is a descriptor by which nobody can write or cut it. */
static void expect_to_be_read(void)
{
    struct history_head head;
    struct stat status;
    size_t size = HISTORY_HEAD_BYTES + ring.size;
    cr_assert_eq(fstat(ring.reader_fd, &status), 0);
    cr_expect_eq(status.st_size, size);
    cr_expect_eq(status.st_mode & 0777, 0600, "others may open it again");
    cr_assert_eq(pread(ring.reader_fd, &head, sizeof head, 0), sizeof head);
    cr_expect_eq(head.id, ring.id);
    cr_expect_eq(head.added, ring.added);
    cr_expect_lt(pwrite(ring.reader_fd, &head, 1, 0), 0);
    cr_expect_lt(ftruncate(ring.reader_fd, 0), 0);
    cr_expect_eq(mmap(NULL, size, PROT_WRITE, MAP_SHARED, ring.reader_fd, 0), MAP_FAILED);
}

Test(history_ring, a_reader_gets_a_descriptor)
{
    expect_to_be_read();
    open_again(SIZE);
    expect_to_be_read();
    open_again(2 * SIZE);
    expect_to_be_read();
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

Test(history_ring, descriptors_do_not_grow_in_number)
{
    unsigned before = open_descriptors();
    for (size_t i = 0; i < 6; i++) {
        open_again(i % 3 * SIZE);
    }
    open_again(SIZE);
    cr_expect_eq(open_descriptors(), before);
}

/* ---- without a file ---- */

static void limit_file_size(rlim_t bytes)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
}

Test(history_ring, without_a_directory_it_is_in_memory)
{
    history_ring_close(&ring);
    history_ring_open(&ring, scratch_path("none/history"), "boot-1", 1, SIZE);
    cr_expect_eq(ring.error, ENOENT);
    add(1, 10);
    expect_entries(1, 1);
    expect_to_be_read();
}

Test(history_ring, without_space_it_is_in_memory)
{
    history_ring_close(&ring);
    cr_assert_eq(unlink("history"), 0);
    limit_file_size(SIZE);
    open_again(SIZE);
    cr_expect_eq(ring.error, EFBIG);
    add(1, 10);
    expect_entries(1, 1);
    cr_expect_neq(access("history", F_OK), 0);
    cr_expect_neq(access("history.new", F_OK), 0);
}

/* The entries of the old file are not lost at once. */
Test(history_ring, without_space_for_more_the_entries_are_in_memory)
{
    limit_file_size(2 * SIZE);
    open_again(4 * SIZE);
    cr_expect_eq(ring.error, EFBIG);
    expect_entries(1, 3);
}
