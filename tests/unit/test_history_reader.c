/* test_history_reader.c - who reads the history's file meanwhile sees whole entries, in their
 * order, and knows how many are missing. */
#include "journal/history_reader.h"

#include "journal/history_ring.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = HISTORY_MIN_BYTES };

static struct history_ring ring;
static struct history_reader reader;
static struct history_copy copy;

static void open_ring(size_t size)
{
    history_ring_open(&ring, scratch_path("history"), "boot-1", 1, size);
}

/* An entry of so many bytes, each of which tells its serial. */
static void add(size_t n)
{
    char *room = history_ring_room(&ring, n);
    cr_assert(room);
    memset(room, (int)('a' + (ring.added + 1) % 23), n);
    history_ring_add(&ring);
}

static void attach(uint64_t serial)
{
    cr_assert(history_reader_attach(&reader, ring.reader_fd, serial));
}

static void begin(void)
{
    scratch_begin();
    open_ring(SIZE);
    add(100);
    add(7);
    add(300);
    attach(0);
}

static void end(void)
{
    history_reader_detach(&reader);
    history_ring_close(&ring);
    scratch_end();
}

static void expect_whole(void)
{
    const char *bytes = copy.bytes;
    bool is_whole = true;
    for (size_t i = 0; i < copy.n; i++) {
        is_whole &= bytes[i] == (char)('a' + copy.serial % 23);
    }
    cr_assert(is_whole, "entry %lu", copy.serial);
}

static void expect_entry(uint64_t serial, uint64_t n_damaged, uint64_t n_overwritten)
{
    cr_assert_eq(history_reader_next(&reader, &copy), HISTORY_READ);
    cr_expect_eq(copy.serial, serial, "%lu instead of %lu", copy.serial, serial);
    cr_expect_eq(copy.n_damaged, n_damaged, "%lu damaged", copy.n_damaged);
    cr_expect_eq(copy.n_overwritten, n_overwritten, "%lu overwritten", copy.n_overwritten);
    expect_whole();
}

static void expect_none(void)
{
    cr_assert_eq(history_reader_next(&reader, &copy), HISTORY_UP_TO_DATE);
}

TestSuite(history_reader, .init = begin, .fini = end);

Test(history_reader, entries_come_in_their_order)
{
    cr_expect_eq(reader.id, ring.id);
    cr_expect_eq(reader.layout, 1);
    for (uint64_t i = 1; i <= 3; i++) {
        expect_entry(i, 0, 0);
    }
    expect_none();
    for (uint64_t i = 4; i < 2000; i++) {
        add(4 + i * 37 % 900);
        expect_entry(i, 0, 0);
        expect_none();
    }
}

Test(history_reader, it_goes_on_behind_what_is_known)
{
    history_reader_detach(&reader);
    attach(2);
    expect_entry(3, 0, 0);
    history_reader_detach(&reader);
    attach(3);
    expect_none();
    add(10);
    expect_entry(4, 0, 0);
}

Test(history_reader, what_was_overwritten_is_counted)
{
    expect_entry(1, 0, 0);
    for (int i = 0; i < 500; i++) {
        add(400);
    }
    uint64_t overwritten = history_ring_overwritten(&ring);
    cr_assert_gt(overwritten, 100);
    expect_entry(overwritten + 1, 0, overwritten - 1);
    expect_entry(overwritten + 2, 0, 0);
    history_reader_detach(&reader);
    attach(200);
    expect_entry(overwritten + 1, 0, overwritten - 200);
}

Test(history_reader, a_ring_of_another_size_continues)
{
    history_ring_close(&ring);
    open_ring(2 * SIZE);
    add(10);
    expect_entry(1, 0, 0); /* of the file that was */
    history_reader_detach(&reader);
    attach(1);
    expect_entry(2, 0, 0);
    expect_entry(3, 0, 0);
    expect_entry(4, 0, 0);
}

Test(history_reader, a_file_in_memory_can_be_read)
{
    history_ring_close(&ring);
    history_ring_open(&ring, scratch_path("none/history"), "boot-1", 1, SIZE);
    history_reader_detach(&reader);
    attach(0);
    expect_none();
    add(10);
    expect_entry(1, 0, 0);
}

/* ---- berthd runs meanwhile, or is killed ---- */

/* As fast as it can, for ever: entries of all lengths up to a quarter of the ring. */
static pid_t start_writer(void)
{
    pid_t pid = fork();
    while (pid == 0) {
        add(ring.added * 7919 % (SIZE / 4 - 64));
    }
    return pid;
}

static void kill_writer(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

Test(history_reader, what_is_written_over_meanwhile_is_not_shown, .timeout = 60)
{
    uint64_t n_read = 0, n_overwritten = 0, serial = 0;
    pid_t writer = start_writer();
    while (n_read < 20000 || n_overwritten < 20000) {
        if (history_reader_next(&reader, &copy) == HISTORY_READ) {
            expect_whole();
            cr_assert_eq(copy.n_damaged, 0, "entry %lu", copy.serial);
            cr_assert_eq(copy.serial, serial + 1 + copy.n_overwritten);
            serial = copy.serial;
            n_read++;
            n_overwritten += copy.n_overwritten;
        }
    }
    kill_writer(writer);
}

/* A killed berthd leaves half of an entry; the next one goes on in the same file. */
Test(history_reader, it_goes_on_over_ends_of_berthd, .timeout = 60)
{
    uint64_t serial = 0;
    for (int i = 0; i < 50; i++) {
        pid_t writer = start_writer();
        while (history_reader_next(&reader, &copy) != HISTORY_READ || copy.serial < serial + 20) {
        }
        kill_writer(writer);
        history_ring_close(&ring);
        open_ring(SIZE);
        while (history_reader_next(&reader, &copy) == HISTORY_READ) {
            expect_whole();
            cr_assert_eq(copy.n_damaged, 0);
        }
        cr_assert_eq(reader.serial, ring.added);
        serial = reader.serial;
    }
}

/* ---- damage ---- */

/* Reads all. Whatever the bytes are, what is read is whole, and each serial is accounted for. */
static void expect_sound(uint64_t serial)
{
    enum history_read read;
    while ((read = history_reader_next(&reader, &copy)) == HISTORY_READ) {
        expect_whole();
        cr_assert_eq(copy.serial, serial + 1 + copy.n_damaged + copy.n_overwritten);
        serial = copy.serial;
    }
    cr_assert_eq(read, HISTORY_UP_TO_DATE);
}

Test(history_reader, a_damaged_entry_is_counted)
{
    ring.bytes[history_mark_size(100) + sizeof(struct history_mark)] ^= 1;
    expect_entry(1, 0, 0);
    expect_entry(3, 1, 0);
    ring.bytes[ring.end - 8] ^= 1;
    add(10);
    expect_entry(4, 0, 0); /* 3 has been read before */
    history_reader_detach(&reader);
    attach(0);
    expect_entry(1, 0, 0);
    expect_entry(4, 2, 0);
}

Test(history_reader, damage_is_counted_once)
{
    ring.bytes[history_mark_size(100) + sizeof(struct history_mark)] ^= 1;
    expect_entry(1, 0, 0);
    expect_entry(3, 1, 0);
    for (int i = 0; i < 500; i++) {
        add(400);
    }
    uint64_t overwritten = history_ring_overwritten(&ring);
    expect_entry(overwritten + 1, 0, overwritten - 3);
}

/* The next entry repairs it. */
Test(history_reader, a_wrong_end_hides_nothing_for_long)
{
    expect_sound(0);
    ring.head->end += 64;
    expect_none();
    add(10);
    expect_entry(4, 0, 0);
}

Test(history_reader, what_is_known_is_not_missing_when_it_is_damaged)
{
    ring.bytes[sizeof(struct history_mark)] ^= 1;
    history_reader_detach(&reader);
    attach(1);
    expect_entry(2, 0, 0);
}

Test(history_reader, entries_that_cannot_be_told_apart_are_counted)
{
    memset(ring.bytes + history_mark_size(100), 0, sizeof(struct history_mark));
    expect_entry(1, 0, 0);
    expect_none();
    add(10);
    expect_entry(4, 2, 0);
}

Test(history_reader, damage_of_any_byte_is_survived, .timeout = 60)
{
    size_t n;
    history_reader_detach(&reader);
    char *bytes = scratch_read("history", &n);
    for (size_t i = 0; i < 2 * 1000; i++) {
        size_t at = i / 2 < 200 ? i / 2 : HISTORY_HEAD_BYTES + i / 2 - 200;
        char byte = i % 2 ? (char)0x80 : 0x04;
        attach(0);
        ((char *)ring.head)[at] ^= byte;
        for (int k = 0; k < 3; k++) {
            expect_sound(reader.serial);
            add(1000);
        }
        expect_sound(reader.serial);
        cr_assert_eq(reader.serial, 6, "byte %zu", at);
        history_reader_detach(&reader);
        history_ring_close(&ring);
        scratch_write("history", bytes, n);
        open_ring(SIZE);
    }
    free(bytes);
}

Test(history_reader, a_damaged_head_is_no_history)
{
    history_reader_detach(&reader);
    for (size_t at = 0; at < offsetof(struct history_head, first); at++) {
        ((char *)ring.head)[at] ^= 1;
        cr_expect_not(history_reader_attach(&reader, ring.reader_fd, 0), "byte %zu", at);
        ((char *)ring.head)[at] ^= 1;
    }
}

static void expect_no_history(int fd)
{
    struct history_reader other;
    cr_assert_geq(fd, 0);
    cr_expect_not(history_reader_attach(&other, fd, 0));
    cr_expect_null(other.head);
    history_reader_detach(&other);
    close(fd);
}

Test(history_reader, something_else_is_no_history)
{
    char zeros[2 * SIZE] = "";
    scratch_write("short", "berth history 1", 16);
    scratch_write("zeros", zeros, sizeof zeros);
    expect_no_history(open(".", O_RDONLY));
    expect_no_history(open("/dev/zero", O_RDONLY));
    expect_no_history(open("short", O_RDONLY));
    expect_no_history(open("zeros", O_RDONLY));
    expect_no_history(open("history", O_WRONLY));
}

/* By root, while it is read, and while berthd writes. */
Test(history_reader, a_file_that_is_cut_is_no_longer_read)
{
    static const off_t sizes[] = {0, 10, HISTORY_HEAD_BYTES, HISTORY_HEAD_BYTES + SIZE / 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_sound(reader.serial);
        cr_assert_eq(truncate("history", sizes[i]), 0);
        enum history_read read = history_reader_next(&reader, &copy);
        for (int k = 0; read != HISTORY_CUT; k++) {
            cr_assert_lt(k, 1000);
            expect_whole();
            add(500);
            read = history_reader_next(&reader, &copy);
        }
        cr_expect_eq(history_reader_next(&reader, &copy), HISTORY_CUT);
        cr_expect_not(history_reader_attach(&(struct history_reader){0}, ring.reader_fd, 0));
        history_reader_detach(&reader);
        history_ring_close(&ring);
        open_ring(SIZE);
        attach(0);
        add(10);
    }
}
