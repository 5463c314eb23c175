/* test_journal.c - the journal on a real file: records are found again, in their places, and space
 * is reused. test_journal_damage.c has damage, test_journal_space.c lack of space. */
#include "journal_help.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(journal, .init = journal_begin, .fini = journal_end, .timeout = 60);

/* ---- intact ---- */

Test(journal, nothing_there)
{
    expect_found(JOURNAL_MISSING, 0);
    cr_expect_eq(scratch_size(journal_path), JOURNAL_PAGE);
    struct stat status;
    cr_assert_eq(stat(journal_path, &status), 0);
    cr_expect_eq(status.st_mode, S_IFREG | 0600);
    cr_expect_neq(fcntl(journal.fd, F_GETFD) & FD_CLOEXEC, 0);
    journal_close(&journal);
    cr_expect_eq(access("journal.new", F_OK), -1);
}

Test(journal, records_and_their_slots_survive)
{
    fill();
    for (int round = 0; round < 3; round++) {
        expect_found(JOURNAL_INTACT, 10);
        for (size_t i = 0; i < 10; i++) {
            cr_expect_eq(seen.slots[i], slots[i]);
            cr_expect_eq(seen.lengths[i], filled_length(i));
        }
    }
}

Test(journal, rewritten_in_place)
{
    fill();
    off_t size = scratch_size(journal_path);
    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < 10; i++) {
            size_t length = filled_length(i) / 2 + round;
            cr_assert(journal_write(&journal, slots[i], record_text(i, length), length));
        }
    }
    cr_expect_eq(scratch_size(journal_path), size);
    expect_found(JOURNAL_INTACT, 10);
    for (size_t i = 0; i < 10; i++) {
        cr_expect_eq(seen.lengths[i], filled_length(i) / 2 + 49);
    }
}

Test(journal, read_again)
{
    size_t length;
    fill();
    uint32_t empty = journal_reserve(&journal, 100);
    for (size_t i = 0; i < N_FILLED; i++) {
        const char *record = journal_look(&journal, slots[i], &length);
        cr_assert(record && length == filled_length(i));
        cr_assert_eq(memcmp(record, record_text(i, length), length), 0);
    }
    cr_expect_null(journal_look(&journal, empty, &length));
    put(50, 300, 300);
    cr_assert(journal_write(&journal, slots[8], record_text(51, 90), 90));
    const char *record = journal_look(&journal, slots[8], &length);
    cr_assert(record && length == 90);
    cr_assert_eq(memcmp(record, record_text(51, 90), 90), 0);
}

Test(journal, incomplete_until_set_complete)
{
    cr_assert_eq(reopen(), JOURNAL_MISSING);
    put(1, 50, 50);
    expect_found(JOURNAL_INCOMPLETE, 1);
    cr_expect_eq(reopen(), JOURNAL_INCOMPLETE);
    journal_set_complete(&journal);
    journal_set_complete(&journal);
    expect_found(JOURNAL_INTACT, 1);
    put(2, 500, 500); /* growing leaves it so */
    cr_expect_eq(reopen(), JOURNAL_INTACT);
}

Test(journal, of_another_boot)
{
    fill();
    journal_close(&journal);
    const char *const others[] = {"", "another", "0b5f8f5e-4d40-4b04-9d8a-6f7c5a1f5d11"};
    for (size_t i = 0; i < 3; i++) {
        memset(&seen, 0, sizeof seen);
        cr_expect_eq(journal_open(&journal, journal_path, others[i], hear, see, &seen),
            JOURNAL_OF_OTHER_BOOT);
        cr_expect_eq(seen.n, 0);
        put(i, 10, 10);
        journal_close(&journal);
        cr_expect_eq(
            journal_open(&journal, journal_path, others[i], hear, see, &seen), JOURNAL_INCOMPLETE);
        cr_expect_eq(seen.n, 1);
        journal_close(&journal);
    }
}

/* ---- space ---- */

Test(journal, freed_places_are_used_again)
{
    open_new();
    uint32_t places[500];
    for (size_t i = 0; i < 500; i++) {
        places[i] = put(i, 60, 60);
    }
    off_t size = scratch_size(journal_path);
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = round % 2; i < 500; i += 2) {
            journal_erase(&journal, places[i]);
        }
        if (round == 2) {
            expect_found(JOURNAL_INTACT, 250);
        }
        for (size_t i = round % 2; i < 500; i += 2) {
            places[i] = put(i, 60 + round, 64);
        }
    }
    cr_expect_eq(scratch_size(journal_path), size);
    for (size_t i = 0; i < 500; i++) {
        for (size_t k = 0; k < i; k++) {
            cr_assert_neq(places[i], places[k]);
        }
    }
    expect_found(JOURNAL_INTACT, 500);
}

Test(journal, no_two_extents_overlap_nor_cross_a_page)
{
    open_new();
    static char used[64 * JOURNAL_CHUNK / JOURNAL_SMALLEST];
    for (size_t i = 0; i < 900; i++) {
        size_t max = (i * 7919) % JOURNAL_MAX_BYTES + 1;
        uint32_t slot = journal_reserve(&journal, max);
        size_t size = class_size(class_for(max));
        size_t offset = (size_t)slot_offset(slot);
        cr_assert_neq(slot, 0);
        cr_assert(size >= max + sizeof(struct extent_header));
        cr_assert_leq((off_t)(offset + size), scratch_size(journal_path));
        cr_assert(
            size > JOURNAL_PAGE || offset / JOURNAL_PAGE == (offset + size - 1) / JOURNAL_PAGE);
        if (slot + size / JOURNAL_SMALLEST >= sizeof used) {
            break;
        }
        for (size_t k = 0; k < size / JOURNAL_SMALLEST; k++) {
            cr_assert_eq(used[slot + k]++, 0);
        }
    }
}

Test(journal, too_long)
{
    open_new();
    cr_expect_eq(journal_reserve(&journal, JOURNAL_MAX_BYTES + 1), 0);
    cr_expect_eq(errno, EMSGSIZE);
    cr_expect_eq(journal_reserve(&journal, SIZE_MAX), 0);
    uint32_t slot = put(1, 100, 100);
    size_t room = JOURNAL_SMALLEST - sizeof(struct extent_header);
    cr_expect(journal_write(&journal, slot, record_text(1, room), room));
    errno = 0;
    cr_expect_not(journal_write(&journal, slot, record_text(2, room + 1), room + 1));
    cr_expect_eq(errno, EMSGSIZE);
    expect_heard((struct journal_report){.trouble = TROUBLE_TOO_LONG, .n = room + 1}, 1);
    uint32_t largest = put(3, JOURNAL_MAX_BYTES, JOURNAL_MAX_BYTES);
    cr_assert_eq(reopen(), JOURNAL_INTACT);
    cr_expect_eq(seen.lengths[1], room);
    cr_expect_eq(seen.slots[3], largest);
}

/* ---- killed while it wrote: no damage ---- */

Test(journal, killed_while_the_file_grew)
{
    fill();
    off_t size = scratch_size(journal_path);
    const off_t grown[] = {1, 4096, 5000, JOURNAL_CHUNK - 1, JOURNAL_CHUNK};
    for (size_t i = 0; i < sizeof grown / sizeof grown[0]; i++) {
        cr_assert_eq(truncate(journal_path, size + grown[i]), 0);
        expect_found(JOURNAL_INTACT, 10);
    }
    for (size_t i = 10; i < 300; i++) {
        put(i, 100, 100);
    }
    expect_found(JOURNAL_INTACT, 300);
}

Test(journal, killed_before_a_long_record_was_whole)
{
    fill();
    uint32_t slot = journal_reserve(&journal, JOURNAL_MAX_BYTES);
    char *text = record_text(20, JOURNAL_MAX_BYTES);
    size_t first = JOURNAL_PAGE;
    cr_assert_eq(pwrite(journal.fd, text + first, 5000, slot_offset(slot) + (off_t)first), 5000);
    expect_found(JOURNAL_INTACT, 10);
}

Test(journal, killed_while_a_new_one_was_made)
{
    fill();
    scratch_write("journal.new", "half", 4);
    expect_found(JOURNAL_INTACT, 10);
    cr_assert_eq(truncate(journal_path, JOURNAL_PAGE), 0);
    cr_expect_eq(reopen(), JOURNAL_DAMAGED);
    cr_expect_eq(access("journal.new", F_OK), -1);
}
