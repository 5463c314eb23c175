/* test_history_entry.c - an entry is read as it was written, or is no entry. */
#include "journal/history_entry.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct history_entry full = {
    .kind = HISTORY_ENDED,
    .lease = 77,
    .ended_at = INT64_C(123456789012345),
    .uid = 1000,
    .hiding = 0x8001,
    .how = "would-wait",
    .status = HISTORY_SIGNALLED,
    .number = 15,
    .was_unseen = true,
    .origin = {true, 1001, "/system.slice/a.service", ""},
    .by = {.is_known = true, .has_login = true, .uid = 0, .login = 1002},
    .record = "held id=2d",
    .record_length = 10,
    .why = "go away",
};

static void expect_text(const char *text, const char *expected)
{
    cr_assert_eq(!text, !expected);
    cr_expect(!text || strcmp(text, expected) == 0);
}

static void expect_round_trip(const struct history_entry *expected)
{
    struct history_entry entry;
    size_t n = history_entry_size(expected);
    void *bytes = malloc(n); /* exactly: so that a tool sees what is beyond */
    history_entry_write(expected, bytes);
    cr_assert(history_entry_read(&entry, bytes, n));
    cr_expect_eq(entry.kind, expected->kind);
    cr_expect_eq(entry.lease, expected->lease);
    cr_expect_eq(entry.ended_at, expected->ended_at);
    cr_expect_eq(entry.uid, expected->uid);
    cr_expect_eq(entry.hiding, expected->hiding);
    expect_text(entry.how, expected->how ? expected->how : "");
    cr_expect_eq(entry.status, expected->status);
    cr_expect_eq(entry.number, expected->number);
    cr_expect_eq(entry.was_unseen, expected->was_unseen);
    cr_expect_eq(entry.origin.has_login, expected->origin.has_login);
    cr_expect_eq(entry.origin.login, expected->origin.login);
    cr_expect_eq(entry.by.is_known, expected->by.is_known);
    cr_expect_eq(entry.by.uid, expected->by.uid);
    cr_expect_eq(entry.by.has_login, expected->by.has_login);
    cr_expect_eq(entry.by.login, expected->by.login);
    cr_assert_eq(entry.record_length, expected->record_length);
    cr_expect_eq(memcmp(entry.record, expected->record_length > 0 ? expected->record : "",
                     expected->record_length),
        0);
    expect_text(entry.why, expected->why);
    expect_text(entry.origin.cgroup, expected->origin.cgroup);
    expect_text(entry.origin.args, expected->origin.args);
    free(bytes);
}

Test(history_entry, is_read_as_it_was_written)
{
    expect_round_trip(&full);
}

Test(history_entry, has_what_is_known_alone)
{
    const struct history_entry bare = {.lease = 1, .how = "released"};
    const struct history_entry taken = {
        .kind = HISTORY_DID, .lease = 2, .by = {.is_known = true, .uid = 5}, .why = "late"};
    expect_round_trip(&bare);
    expect_round_trip(&taken);
}

Test(history_entry, a_long_word_is_cut)
{
    const struct history_entry entry = {.lease = 1, .how = "much-longer-than-any-word"};
    struct history_entry read;
    _Alignas(uint64_t) char bytes[256];
    cr_assert_leq(history_entry_size(&entry), sizeof bytes);
    history_entry_write(&entry, bytes);
    cr_assert(history_entry_read(&read, bytes, history_entry_size(&entry)));
    expect_text(read.how, "much-longer-than-any");
}

Test(history_entry, damage_is_noticed_or_harmless)
{
    size_t n = history_entry_size(&full);
    for (size_t length = 0; length < n; length++) {
        struct history_entry entry;
        void *bytes = malloc(n), *cut = malloc(length + 1);
        history_entry_write(&full, bytes);
        memcpy(cut, bytes, length);
        cr_expect_not(history_entry_read(&entry, cut, length), "%zu bytes", length);
        ((char *)bytes)[length] ^= 0x55;
        if (history_entry_read(&entry, bytes, n)) {
            cr_expect_leq(entry.record + entry.record_length, (const char *)bytes + n);
            cr_expect_leq(strlen(entry.how), strlen("much-longer-than-any"));
            cr_expect(!entry.origin.args ||
                entry.origin.args + strlen(entry.origin.args) < (const char *)bytes + n);
        }
        free(bytes);
        free(cut);
    }
}

/* ---- what operators did ---- */

Test(history_entry, what_an_operator_did)
{
    struct text record = TEXT_INIT;
    const struct did did = {.verb = "limit",
        .resource = "etl",
        .old = "20",
        .new = "5",
        .by = {.is_known = true, .uid = 7},
        .host = "web1",
        .others = "more and/more",
        .hiding = 5,
        .reason = "too slow"};
    const struct history_entry entry = did_entry(&did, 4711, &record);
    struct did read;
    cr_expect_eq(entry.ended_at, 4711);
    expect_round_trip(&entry);
    cr_assert(did_read(&read, &entry));
    expect_text(read.verb, "limit");
    expect_text(read.resource, "etl");
    expect_text(read.target, NULL);
    expect_text(read.old, "20");
    expect_text(read.new, "5");
    expect_text(read.host, "web1");
    expect_text(read.others, "more and/more");
    cr_expect_eq(read.hiding, 5);
    expect_text(read.reason, "too slow");
    cr_expect(read.by.is_known && read.by.uid == 7);
    for (size_t n = 0; n < record.length; n++) {
        struct history_entry cut = entry;
        cut.record_length = n;
        cr_expect_not(did_read(&read, &cut), "%zu", n);
    }
    cr_expect_not(did_read(&read, &full));
    text_deinit(&record);
}
