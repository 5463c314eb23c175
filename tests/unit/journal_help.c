#include "journal_help.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char journal_path[] = "journal";
const char journal_boot[] = "0b5f8f5e-4d40-4b04-9d8a-6f7c5a1f5d10";
struct journal journal;
struct seen seen;
uint32_t slots[N_FILLED];
unsigned heard[N_TROUBLES];
struct journal_report last_heard;

void journal_begin(void)
{
    scratch_begin();
}

void journal_end(void)
{
    journal_close(&journal);
    scratch_end();
}

/* "NUMBER:" and letters, which are others for each length; cheap. */
char *record_text(size_t number, size_t length)
{
    static char letters[JOURNAL_MAX_BYTES + 64], text[JOURNAL_MAX_BYTES + 32];
    for (size_t i = 0; letters[sizeof letters - 1] == '\0' && i < sizeof letters; i++) {
        letters[i] = (char)('a' + i % 26);
    }
    memcpy(text, letters + (number + length) % 26, length);
    int n = snprintf(text, 16, "%zu:", number);
    text[n] = letters[(number + length + (size_t)n) % 26];
    return text;
}

void see(void *context, uint32_t slot, const char *bytes, size_t length)
{
    char *end, copy[16];
    cr_assert_eq(context, &seen);
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 15 ? length : 15), bytes);
    size_t number = strtoul(copy, &end, 10);
    cr_assert(end != copy && *end == ':' && number < MAX_RECORDS);
    cr_assert_eq(seen.lengths[number], 0, "%zu seen twice", number);
    cr_assert_eq(memcmp(bytes, record_text(number, length), length), 0);
    seen.n++;
    seen.lengths[number] = length;
    seen.slots[number] = slot;
}

void hear(const struct journal_report *report)
{
    cr_assert_str_eq(report->path, journal.path);
    heard[report->trouble]++;
    last_heard = *report;
}

void expect_heard(struct journal_report report, unsigned n)
{
    cr_expect_eq(last_heard.trouble, report.trouble, "%d", (int)last_heard.trouble);
    cr_expect_eq(last_heard.n, report.n, "%zu", last_heard.n);
    cr_expect(report.error == 0 || last_heard.error == report.error, "%d", last_heard.error);
    cr_expect_eq(heard[report.trouble], n, "%u", heard[report.trouble]);
}

enum journal_found reopen(void)
{
    if (journal.path) {
        journal_close(&journal);
    }
    memset(&seen, 0, sizeof seen);
    return journal_open(&journal, journal_path, journal_boot, hear, see, &seen);
}

void expect_found(enum journal_found found, size_t n)
{
    cr_assert_eq(reopen(), found, "%d", (int)found);
    cr_assert_eq(seen.n, n, "%zu, not %zu", seen.n, n);
}

void open_new(void)
{
    cr_assert_eq(reopen(), JOURNAL_MISSING);
    journal_set_complete(&journal);
}

uint32_t put(size_t number, size_t length, size_t max)
{
    uint32_t slot = journal_reserve(&journal, max);
    cr_assert_neq(slot, 0);
    cr_assert(journal_write(&journal, slot, record_text(number, length), length));
    return slot;
}

size_t filled_length(size_t number)
{
    return number < JOURNAL_CLASSES ? class_size(number) - 20 : 20 + number;
}

void fill(void)
{
    open_new();
    for (size_t i = 0; i < N_FILLED; i++) {
        size_t length = filled_length(i);
        uint32_t before = put(100, 10, length);
        slots[i] = put(i, length, length);
        journal_erase(&journal, before);
    }
}
