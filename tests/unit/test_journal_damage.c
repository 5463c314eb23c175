/* test_journal_damage.c - damage to a journal's file is always noticed, and each record that can be
 * read is right. */
#include "../sim/random.h"
#include "journal/journal_file.h"
#include "journal_help.h"
#include "seed.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(journal_damage, .init = journal_begin, .fini = journal_end, .timeout = 120);

/* Every extent of `bytes` that lies within the first `n` is found, and nothing else. */
static void expect_readable(const size_t lengths[], size_t n)
{
    size_t readable = 0;
    for (size_t i = 0; i < 10; i++) {
        size_t size = class_size(journal.header.classes[slot_chunk(slots[i])]);
        bool is_there = n >= (size_t)slot_offset(slots[i]) + size;
        cr_assert_eq(seen.lengths[i], is_there ? lengths[i] : 0, "%zu cut at %zu", i, n);
        readable += is_there;
    }
    cr_assert_eq(seen.n, readable);
}

static void see_extent(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length)
{
    if (state == EXTENT_RECORD) {
        see(context, slot, bytes, length);
    }
}

/* Two chunks, so that every length near the end of a page can be tried, and each seventh other. */
Test(journal_damage, cut_at_any_length)
{
    open_new();
    size_t lengths[N_FILLED];
    for (size_t i = 0; i < 10; i++) {
        lengths[i] = i % 4 == 0 ? 12000 + i * 100 : 200;
        slots[i] = put(i, lengths[i], lengths[i]);
        journal_erase(&journal, put(100, 10, 200));
    }
    off_t whole = scratch_size(journal_path);
    cr_assert_eq(whole, JOURNAL_PAGE + 2 * JOURNAL_CHUNK);
    for (off_t n = whole - 1; n >= 0; n -= (n + 64) % JOURNAL_PAGE < 128 ? 1 : 7) {
        struct old_file old;
        cr_assert_eq(truncate(journal_path, n), 0);
        cr_assert_eq(file_open(&old, journal_path, journal_boot), JOURNAL_DAMAGED);
        if (n % 97 == 0 || n < 2 * JOURNAL_PAGE) {
            memset(&seen, 0, sizeof seen);
            file_scan(&old, see_extent, &seen);
            expect_readable(lengths, n < JOURNAL_PAGE ? 0 : (size_t)n);
        }
        cr_assert_eq(close(old.fd), 0);
    }
}

/* What is readable goes into the new file, with room for what it was reserved for. */
Test(journal_damage, cut_and_opened)
{
    size_t n;
    fill();
    struct journal_header header = journal.header;
    journal_close(&journal);
    char *bytes = scratch_read(journal_path, &n);
    for (size_t cut = 0; cut < n; cut = cut < 10 * JOURNAL_PAGE ? cut + 127 : cut + 1009) {
        scratch_write(journal_path, bytes, cut);
        cr_assert_eq(reopen(), JOURNAL_DAMAGED);
        struct seen first = seen;
        cr_assert_eq(access("journal.new", F_OK), -1);
        for (size_t i = 0; i < 10; i++) {
            size_t max = class_size(header.classes[slot_chunk(slots[i])]) - 16;
            if (seen.lengths[i] > 0) {
                cr_assert_eq(seen.lengths[i], filled_length(i));
                cr_assert(journal_write(&journal, seen.slots[i], record_text(i, max), max));
            }
        }
        expect_found(JOURNAL_INCOMPLETE, first.n);
        cr_assert_eq(memcmp(seen.slots, first.slots, sizeof first.slots), 0);
    }
    free(bytes);
}

/* A waiting lease's record is short, and will be long once it is granted. */
Test(journal_damage, moved_with_room_for_what_they_may_become)
{
    open_new();
    for (size_t i = 0; i < 5; i++) {
        put(i, 20, 5000);
    }
    cr_assert_eq(truncate(journal_path, scratch_size(journal_path) - 1), 0);
    expect_found(JOURNAL_DAMAGED, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_assert(journal_write(&journal, seen.slots[i], record_text(i, 5000), 5000));
    }
    expect_found(JOURNAL_INCOMPLETE, 5);
    cr_expect_eq(seen.lengths[4], 5000);
}

/* Flips one byte in everything that has a meaning: the header, and every extent ever used, up to
 * its length. */
static void flip(size_t offset, size_t expected_gone)
{
    unsigned char byte;
    int fd = open(journal_path, O_RDWR);
    cr_assert_eq(pread(fd, &byte, 1, (off_t)offset), 1);
    for (int bit = 0; bit < 8; bit++) {
        struct old_file old;
        unsigned char other = (unsigned char)(byte ^ 1 << bit);
        cr_assert_eq(pwrite(fd, &other, 1, (off_t)offset), 1);
        enum journal_found found = file_open(&old, journal_path, journal_boot);
        cr_assert_eq(found, JOURNAL_DAMAGED, "bit %d of %zu: %d", bit, offset, (int)found);
        memset(&seen, 0, sizeof seen);
        file_scan(&old, see_extent, &seen);
        for (size_t i = 0; i < 10; i++) {
            cr_assert(expected_gone == SIZE_MAX || (seen.lengths[i] == 0) == (i == expected_gone));
        }
        cr_assert_eq(close(old.fd), 0);
    }
    cr_assert_eq(pwrite(fd, &byte, 1, (off_t)offset), 1);
    cr_assert_eq(close(fd), 0);
}

Test(journal_damage, every_bit_of_the_header)
{
    fill();
    for (size_t offset = 0; offset < JOURNAL_PAGE; offset++) {
        flip(offset, SIZE_MAX);
    }
    cr_expect_eq(reopen(), JOURNAL_INTACT);
}

Test(journal_damage, every_bit_of_the_extents)
{
    open_new();
    for (size_t i = 0; i < 10; i++) {
        slots[i] = put(i, i == 9 ? 5000 : 60, i == 9 ? 5000 : 60);
    }
    uint32_t freed = put(100, 20, 20);
    uint32_t unused = journal_reserve(&journal, 60);
    journal_erase(&journal, freed);
    for (size_t i = 0; i < 10; i++) {
        size_t length = sizeof(struct extent_header) + (i == 9 ? 5000 : 60);
        for (size_t at = 0; at < length; at += i == 9 && at > 32 && at < 4900 ? 37 : 1) {
            flip((size_t)slot_offset(slots[i]) + at, i);
        }
    }
    for (size_t at = offsetof(struct extent_header, mark); at < sizeof(struct extent_header);
         at++) {
        flip((size_t)slot_offset(freed) + at, 10);
        flip((size_t)slot_offset(unused) + at, 10);
    }
    expect_found(JOURNAL_INTACT, 10);
}

Test(journal_damage, a_record_in_anothers_place)
{
    fill();
    char record[JOURNAL_SMALLEST];
    cr_assert_eq(pread(journal.fd, record, sizeof record, slot_offset(slots[8])), sizeof record);
    cr_assert_eq(pwrite(journal.fd, record, sizeof record, slot_offset(slots[7])), sizeof record);
    cr_expect_eq(reopen(), JOURNAL_DAMAGED);
    expect_heard((struct journal_report){.trouble = TROUBLE_DAMAGE, .n = 9}, 1);
    cr_expect_eq(seen.n, 9);
    cr_expect_eq(seen.lengths[7], 0);
    cr_expect_neq(seen.lengths[8], 0);
}

Test(journal_damage, more_than_the_header_knows)
{
    size_t n;
    fill();
    journal_close(&journal);
    char *bytes = scratch_read(journal_path, &n), *longer = calloc(1, n + JOURNAL_CHUNK + 1);
    cr_assert(longer);
    memcpy(longer, bytes, n);
    scratch_write(journal_path, longer, n + JOURNAL_CHUNK + 1);
    expect_found(JOURNAL_DAMAGED, 10);
    longer[n] = 1;
    scratch_write(journal_path, longer, n + 1);
    expect_found(JOURNAL_DAMAGED, 10);
    expect_found(JOURNAL_INCOMPLETE, 10);
    free(bytes);
    free(longer);
}

/* A right checksum does not make the rest right. */
struct spoil {
    const char *what;
    size_t at, n; /* these bytes of the header are all `byte` */
    uint8_t byte;
    uint32_t n_chunks; /* 0: as it was */
};

#define SPOIL(member, value)                                                                       \
    {                                                                                              \
        .what = #member, .at = offsetof(struct journal_header, member),                            \
        .n = sizeof journal.header.member, .byte = (value)                                         \
    }

static void write_header(const struct spoil *spoil)
{
    struct journal_header header = journal.header;
    memset((char *)&header + spoil->at, spoil->byte, spoil->n);
    header.n_chunks = spoil->n_chunks > 0 ? spoil->n_chunks : header.n_chunks;
    header_seal(&header);
    cr_assert_eq(pwrite(journal.fd, &header, sizeof header, 0), sizeof header);
}

Test(journal_damage, headers_that_lie)
{
    static const struct spoil spoils[] = {
        {.what = "too many chunks by far", .n_chunks = UINT32_MAX},
        {.what = "one chunk too many", .n_chunks = JOURNAL_MAX_CHUNKS + 1},
        SPOIL(classes[1], JOURNAL_CLASSES),
        SPOIL(boot_id, 'x'),
        SPOIL(is_complete, 2),
        SPOIL(magic[0], 'B'),
    };
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        fill();
        write_header(&spoils[i]);
        cr_expect_eq(reopen(), JOURNAL_DAMAGED, "%s", spoils[i].what);
        expect_heard((struct journal_report){.trouble = TROUBLE_NO_JOURNAL}, (unsigned)i + 1);
        put(99, 10, 10);
        cr_expect_eq(reopen(), JOURNAL_INCOMPLETE);
        cr_assert_eq(unlink(journal_path), 0);
    }
}

/* Another version's file is not damaged: it is left alone as long as its records may mean
 * something. */
Test(journal_damage, of_a_later_version)
{
    static const struct spoil spoils[] = {
        SPOIL(version, JOURNAL_VERSION + 1), SPOIL(must_understand, 4)};
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        size_t n, n_after;
        fill();
        write_header(&spoils[i]);
        char *before = scratch_read(journal_path, &n);
        for (int again = 0; again < 2; again++) {
            cr_expect_eq(reopen(), JOURNAL_OF_LATER_VERSION, "%s", spoils[i].what);
            cr_expect_eq(seen.n, 0);
        }
        journal_close(&journal);
        char *after = scratch_read(journal_path, &n_after);
        cr_assert(n == n_after && memcmp(before, after, n) == 0);
        cr_expect_eq(journal_open(&journal, journal_path, "another boot", hear, see, &seen),
            JOURNAL_OF_OTHER_BOOT);
        free(before);
        free(after);
        journal_close(&journal);
        cr_assert_eq(unlink(journal_path), 0);
    }
}

Test(journal_damage, random_bytes)
{
    struct random random = {.state = seed_of_test()};
    for (size_t round = 0; round < 200; round++) {
        size_t n = random_below(&random, JOURNAL_PAGE + JOURNAL_CHUNK + 100);
        char *bytes = malloc(n + 1);
        cr_assert(bytes);
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (char)random_below(&random, 256);
        }
        scratch_write(journal_path, bytes, n);
        free(bytes);
        expect_found(JOURNAL_DAMAGED, 0);
        put(1, 10, 10);
    }
}

/* ---- files that are not ours ---- */

static void expect_replaced(void)
{
    struct stat status;
    memset(&journal, 0, sizeof journal);
    expect_found(JOURNAL_DAMAGED, 0);
    cr_assert_eq(lstat(journal_path, &status), 0);
    cr_expect_eq(status.st_mode, S_IFREG | 0600);
    cr_expect_eq(status.st_nlink, 1);
    cr_expect_eq(status.st_uid, geteuid());
    put(1, 10, 10);
    cr_expect_eq(reopen(), JOURNAL_INCOMPLETE);
    journal_close(&journal);
}

static void leave_a_good_one(void)
{
    unlink(journal_path);
    fill();
    journal_close(&journal);
}

Test(journal_damage, somebody_elses_file_is_not_read)
{
    size_t n, still;
    leave_a_good_one();
    cr_assert_eq(rename(journal_path, "target"), 0);
    char *before = scratch_read("target", &n);
    cr_assert_eq(symlink("target", journal_path), 0);
    expect_replaced();
    cr_assert_eq(unlink(journal_path), 0);
    cr_assert_eq(link("target", journal_path), 0);
    expect_replaced();
    char *after = scratch_read("target", &still);
    cr_expect(n == still && memcmp(before, after, n) == 0);
    free(before);
    free(after);
    leave_a_good_one();
    cr_assert_eq(chmod(journal_path, 0620), 0);
    expect_replaced();
    cr_expect_eq(last_heard.trouble, TROUBLE_NOT_OURS_ALONE);
    cr_assert_eq(unlink(journal_path), 0);
    cr_assert_eq(mkfifo(journal_path, 0600), 0);
    expect_replaced();
    if (geteuid() == 0) {
        leave_a_good_one();
        cr_assert_eq(chown(journal_path, 65534, 65534), 0);
        expect_replaced();
    }
}

Test(journal_damage, a_directory_in_its_place)
{
    cr_assert_eq(mkdir(journal_path, 0700), 0);
    cr_expect_eq(reopen(), JOURNAL_DAMAGED);
    cr_expect_eq(heard[TROUBLE_UNREADABLE], 1);
    expect_heard((struct journal_report){.trouble = TROUBLE_NO_FILE, .error = EISDIR}, 1);
    cr_expect_eq(journal_reserve(&journal, 10), 0);
    cr_expect_eq(journal_reserve(&journal, 10), 0);
    expect_heard((struct journal_report){.trouble = TROUBLE_STILL_NO_FILE, .error = EISDIR}, 2);
    journal_set_complete(&journal);
    cr_assert_eq(rmdir(journal_path), 0);
    put(1, 10, 10); /* as soon as it can be made */
    expect_found(JOURNAL_INTACT, 1);
}

Test(journal_damage, no_directory_at_all)
{
    memset(&seen, 0, sizeof seen);
    cr_expect_eq(
        journal_open(&journal, "a/journal", journal_boot, hear, see, &seen), JOURNAL_MISSING);
    cr_expect_eq(journal_reserve(&journal, 10), 0);
    cr_expect_eq(errno, ENOENT);
    cr_assert_eq(mkdir("a", 0700), 0);
    cr_expect_neq(journal_reserve(&journal, 10), 0);
}
