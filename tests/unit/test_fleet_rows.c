/* test_fleet_rows.c - a database's rows as lines of `status`: correct rows are shown unchanged, and
 * whatever else other hosts may have written harms neither the line nor its reader. */
#include "base/words.h"
#include "row_help.h"
#include "status/lease_row.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])
#define NONE "0", "0", "", "" /* the last fields of a resource */
#define REMOTE "0123456789abcdef/"
#define HERE "fedcba9876543210/"

static struct text text; /* the rows so far */
static struct fleet_rows *rows; /* what read_rows() has made of them */
static char *lines; /* and show() */

#define ROW(...) ADD_ROW(&text, __VA_ARGS__)

static void add_etl(void)
{
    ROW("resource", "etl", "semaphore", "4", "3", "1", "1", "0", "0", "", "etl", "", "", "", NONE);
    ROW("holder", "etl", REMOTE "3f9k", "11", "0", "7", "job%2012",
        "pid=77 program=load reason=a%20b at=1000000 hold=60000", "2", "90", "0,1", "db1", "9000");
    ROW("holder", "etl", HERE "1", "12", "0", "1000", "", "pid=5 at=1000000", "1", "91", "3", "db2",
        "0");
    ROW("waiter", "etl", REMOTE "3f9m", "13", "-5", "7", "", "pid=78 at=1005250", "2", "1",
        "db1", "0", "", "");
}

/* Something is kept for a waiter that waits for another resource. */
static void add_kept(void)
{
    ROW("resource", "etl", "semaphore", "4", "1", "3", "2", "0", "0", "", "etl", "", "", "", "2",
        "1", "", "");
    ROW("waiter", "etl", REMOTE "1", "13", "0", "7", "", "pid=78 at=1005000", "2", "1", "db1", "2",
        "other", "licence");
    ROW("waiter", "etl", REMOTE "2", "14", "0", "7", "", "pid=79 at=1005000", "2", "2", "db1", "0",
        "quota", "etl");
    ROW("waiter", "etl", REMOTE "3", "15", "0", "7", "", "pid=80 at=1005000", "2", "3", "db1", "x",
        "whatever", "a b");
}

/* ---- a world of one lease, which is this host's ---- */

static struct core *core;
static struct client client;
static struct effects effects;
static struct definition definition = {
    .name = (char *)"etl",
    .limit = 4,
    .max_hold = NEVER,
    .max_waiters = 10,
    .max_units_per_user = UNBOUNDED,
};

static void begin(void)
{
    const struct user_bounds bounds = {100, 100, 100, 100};
    const struct acquire_request ask = {
        .wants = {{"etl", 1}}, .n_wants = 1, .wait = NEVER, .pid = 5};
    const char *at_fault;
    struct lease *lease;
    core = core_new(0);
    core_define(core, &definition, 1, &bounds, 0, &effects, &at_fault);
    core_client_init(core, &client, 1000);
    cr_assert_eq(
        core_acquire(core, &client, &ask, 5 * NANOSECONDS_PER_SECOND, &effects, &lease, &at_fault),
        OUTCOME_OK);
    cr_assert_eq(lease->id, 1);
}

static void end(void)
{
    free(lines);
    fleet_rows_free(rows);
    text_deinit(&text);
    core_client_deinit(core, &client, 0, &effects);
    effects_clear(&effects);
    core_free(core);
}

TestSuite(fleet_rows, .init = begin, .fini = end);

static const struct rights *administered; /* by the viewer, if it is not NULL */

static bool may_see(void *context, const struct rights *rights)
{
    (void)context;
    return rights && rights == administered;
}

static int32_t pid_of(const struct lease *lease)
{
    return lease->pid;
}

static const struct viewer viewer = {
    .uid = 77, .may_see = may_see, .pid_of = pid_of};

static struct scene scene(const struct fleet_rows *listed)
{
    return (struct scene){
        .core = core,
        .viewer = &viewer,
        .database = "default",
        .session = "fedcba9876543210",
        .now = 7 * NANOSECONDS_PER_SECOND,
        .wall_now = 1010 * NANOSECONDS_PER_SECOND,
        .rows = listed,
        .listed_at = 6 * NANOSECONDS_PER_SECOND,
    };
}

static void read_rows(void)
{
    fleet_rows_free(rows);
    rows = fleet_rows_new(&text);
}

/* Every line could be one of the protocol. */
static void expect_sound(const char *of)
{
    while (*of) {
        size_t n = strcspn(of, "\n");
        cr_assert_eq(of[n], '\n');
        cr_assert_lt(n + 1, LINE_BYTES);
        cr_assert(strncmp(of, "resource ", 9) == 0 || strncmp(of, "holder ", 7) == 0 ||
                strncmp(of, "waiter ", 7) == 0,
            "%s", of);
        for (size_t i = 0; i < n; i++) {
            cr_assert(of[i] >= ' ' && of[i] <= '~', "%s", of);
            cr_assert(of[i] != ' ' || of[i + 1] != ' ', "%s", of);
        }
        of += n + 1;
    }
}

/* All lines of all resources in the rows. */
static void show(void)
{
    struct text out = TEXT_INIT;
    read_rows();
    const struct scene there = scene(rows);
    text_add(&out, "");
    for (size_t i = 0; i < rows->n_resources; i++) {
        struct resource_row row;
        struct lease_walk walk;
        cr_assert(resource_row_find(&row, &there, rows->resources[i].name));
        resource_row_write(&out, &row);
        lease_walk_begin(&walk, rows->resources[i].name, 0);
        lease_walk_write(&walk, &there, &out, SIZE_MAX);
    }
    free(lines);
    lines = text_take(&out);
    expect_sound(lines);
}

static void expect_lines(const char *expected)
{
    show();
    cr_expect_str_eq(lines, expected);
}

/* ---- what is right ---- */

Test(fleet_rows, lines)
{
    add_etl();
    expect_lines(
        "resource etl kind=semaphore scope=fleet database=default limit=4 in_use=3 free=1 "
        "waiting=1\n"
        "holder " REMOTE "3f9k units=0-1 token=90 since=-3000 until=57000 pid=77 uid=7 host=db1"
        " holder=job%2012 program=load reason=a%20b\n"
        "holder 1 units=3 token=91 since=5000 bound=connection pid=5 uid=1000 host=db2\n"
        "waiter " REMOTE "3f9m position=1 wants=2 since=2250 priority=-5 pid=78 uid=7 host=db1\n");
}

Test(fleet_rows, what_is_kept)
{
    add_kept();
    expect_lines(
        "resource etl kind=semaphore scope=fleet database=default limit=4 in_use=1 free=3 "
        "waiting=2 kept=2 kept_for=1\n"
        "waiter " REMOTE
        "1 position=1 wants=2 since=2000 priority=0 blocked=other blocker=licence kept=2"
        " pid=78 uid=7 host=db1\n"
        "waiter " REMOTE "2 position=2 wants=2 since=2000 priority=0 blocked=quota blocker=etl"
        " pid=79 uid=7 host=db1\n"
        "waiter " REMOTE "3 position=3 wants=2 since=2000 priority=0"
        " pid=80 uid=7 host=db1\n");
}

/* The database said so a second ago. What makes no sense counts as 0. */
Test(fleet_rows, a_holders_age_is_no_wait)
{
    ROW("resource", "etl", "semaphore", "4", "3", "1", "1", "0", "0", "", "etl", "", "", "", NONE);
    ROW("holder", "etl", REMOTE "3f9k", "11", "0", "7", "", "pid=77 at=1000000", "1", "90", "0",
        "db1", "4250");
    ROW("holder", "etl", REMOTE "3f9m", "12", "0", "7", "", "pid=78 at=1000000 hold=-1", "1", "91",
        "1", "db1", "-1");
    ROW("holder", "etl", HERE "1", "13", "0", "1000", "", "pid=5 at=1000000", "1", "92", "3", "db2",
        "4250");
    expect_lines(
        "resource etl kind=semaphore scope=fleet database=default limit=4 in_use=3 free=1 "
        "waiting=1\n"
        "holder " REMOTE "3f9k units=0 token=90 since=1750 pid=77 uid=7 host=db1\n"
        "holder " REMOTE "3f9m units=1 token=91 since=6000 pid=78 uid=7 host=db1\n"
        "holder 1 units=3 token=92 since=5000 bound=connection pid=5 uid=1000 host=db2\n");
}

Test(fleet_rows, pool)
{
    ROW("resource", "g", "pool", "3", "1", "1", "0", "1", "1",
        "1700\t0 1000\tweb1\tnew%20fan", "g", "items", "a,b,c:d",
        "b, c:d,too%20hot,%20they%20say", "0", "0", "1800\t7\t\t", "x,y");
    ROW("holder", "g", REMOTE "1", "1", "0", "0", "", "", "1", "5", "a", "h", "0");
    expect_lines("resource g kind=pool scope=fleet database=default limit=3 in_use=1 free=1 "
                 "waiting=0 cooling=1"
                 " paused=1 pause_reason=new%20fan paused_by=0 paused_by_login=1000 paused_at=1700"
                 " paused_host=web1 changed=items changed_at=1800 changed_by=7 items=a,b,c:d"
                 " draining=x,y reserved=b,c:d reserve=c:d,too%20hot,%20they%20say\n"
                 "holder " REMOTE "1 units=a token=5 since=6000 pid=0 uid=0 host=h\n");
}

Test(fleet_rows, template)
{
    ROW("resource", "market/a", "lock", "1", "0", "1", "0", "0", "0", "", "market/*", "limit", "",
        "0,", "0", "0", "9\tx\tb\t%2\t4", "");
    expect_lines("resource market/a kind=lock scope=fleet database=default limit=1 in_use=0 free=1"
                 " waiting=0 template=market/* changed=limit file_limit=4 changed_at=9"
                 " changed_host=b reserved=0\n");
}

Test(fleet_rows, found_by_name)
{
    ROW("resource", "b", "lock", "1", "0", "1", "0", "0", "0", "", "b", "", "", "", NONE);
    add_etl();
    ROW("resource", "a", "lock", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE);
    ROW("session", "0123456789abcdef", "db1", "20000", "3", "0.1.0", "2", "2", "30000", "13000");
    read_rows();
    cr_assert_eq(rows->n_resources, 3);
    cr_expect_str_eq(fleet_rows_find(rows, "a")->name, "a");
    cr_expect_str_eq(fleet_rows_find(rows, "etl")->name, "etl");
    cr_expect_eq(fleet_rows_find(rows, "etl")->end - fleet_rows_find(rows, "etl")->row, 4);
    cr_expect_null(fleet_rows_find(rows, "c"));
}

Test(fleet_rows, runs_of_slots)
{
    static const struct {
        const char *units, *shown;
    } all[] = {
        {"0", "0"},
        {"0,1", "0-1"},
        {"0,2", "0,2"},
        {"7,8,9,11,12,14", "7-9,11-12,14"},
        {"3,2,1", "3,2,1"},
        {"", ""},
        {",,", ""},
        {"x,1,-1,2", "1-2"},
        {"99999999999999999999,5", "5"},
        {"1,1", "1,1"},
    };
    for (size_t i = 0; i < N(all); i++) {
        char expected[64];
        ROW("resource", "etl", "semaphore", "4", "3", "1", "1", "0", "0", "", "etl", "", "", "",
            NONE);
        ROW("holder", "etl", REMOTE "1", "1", "0", "0", "", "", "1", "5", all[i].units, "h", "0");
        show();
        snprintf(expected, sizeof expected, " units=%s token=", all[i].shown);
        cr_expect(strstr(lines, expected), "%s: %s", all[i].units, lines);
    }
}

/* A database's listing shows a lease of this host as the core does: the same keys, in one order. */
Test(fleet_rows, as_the_core_would_say)
{
    struct text here = TEXT_INIT;
    struct lease_walk walk;
    const struct scene unlisted = scene(NULL);
    ROW("resource", "etl", "semaphore", "4", "3", "1", "1", "0", "0", "", "etl", "", "", "", NONE);
    ROW("holder", "etl", HERE "1", "1", "0", "1000", "", "pid=5 at=1005000", "1", "1", "0", "",
        "0");
    lease_walk_begin(&walk, "etl", 0);
    lease_walk_write(&walk, &unlisted, &here, SIZE_MAX);
    show();
    cr_expect_str_eq(strchr(lines, '\n') + 1, here.bytes);
    text_deinit(&here);
}

/* ---- holders of a unit ---- */

Test(fleet_rows, holder_of_a_unit)
{
    add_etl();
    read_rows();
    const struct fleet_resource *etl = fleet_rows_find(rows, "etl");
    const struct fleet_row *holder = fleet_find_holder(rows, etl, "1");
    cr_assert(holder);
    cr_expect_str_eq(fleet_field(holder, ROW_KEY), REMOTE "3f9k");
    cr_expect_eq(fleet_number_of(holder, ROW_UID, UINT32_MAX), 7);
    cr_expect_not(fleet_find_holder(rows, etl, "2"));
    cr_expect(fleet_has_unit(rows, etl, "3"));
    cr_expect_not(fleet_has_unit(rows, etl, "4"));
    cr_expect_not(fleet_has_unit(rows, etl, "x"));
}

Test(fleet_rows, keys)
{
    static const char *const wrong[] = {"", "/", "1", "0123456789abcdef", "0123456789abcdef/",
        "0123456789abcde/1", "0123456789abcdef0/1", "0123456789abcdeF/1", "0123456789abcdef/1/1",
        "0123456789abcdef/ 1", " 0123456789abcdef/1", "0123456789abcdef/01"};
    uint64_t id = 0;
    for (size_t i = 0; i < N(wrong); i++) {
        cr_expect_not(fleet_key_parse(wrong[i], &id), "%s", wrong[i]);
    }
    cr_expect(fleet_key_parse("0123456789abcdef/1z", &id));
    cr_expect_eq(id, 63);
}

/* ---- what is not right ---- */

Test(fleet_rows, of_no_resource)
{
    ROW("holder", "etl", REMOTE "1", "1", "0", "0", "", "", "1", "5", "0", "h", "0");
    expect_lines("");
}

Test(fleet_rows, of_another_resource)
{
    ROW("resource", "a", "lock", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE);
    ROW("holder", "b", REMOTE "1", "1", "0", "0", "", "", "1", "5", "0", "h", "0");
    ROW("holder", "a", "nonsense/1", "1", "0", "0", "", "", "1", "5", "0", "h", "0");
    ROW("holder", "a", REMOTE "1", "1", "0", "0", "", "", "1", "5", "0"); /* too short */
    ROW("end");
    expect_lines(
        "resource a kind=lock scope=fleet database=default limit=1 in_use=0 free=1 waiting=0\n");
}

/* Their leases go with them, not to the resource before. */
Test(fleet_rows, unsound_resources)
{
    static const char *const values[][N_RESOURCE_FIELDS + 1] = {
        {"resource", "", "lock", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE},
        {"resource", "a b", "lock", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE},
        {"resource", "a\nend\n", "lock", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE},
        {"resource", "a", "thing", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE},
        {"resource", "a", "lock", "-1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE},
        {"resource", "a", "lock", "1", "1e3", "1", "0", "0", "0", "", "a", "", "", "", NONE},
        {"resource", "a", "lock", "1", "0", "99999999999", "0", "0", "0", "", "a", "", "", "",
            NONE},
        {"resource", "a", "lock", "1", "0", "1", "0", "0", "2", "", "a", "", "", "", NONE},
    };
    for (size_t i = 0; i < N(values); i++) {
        ROW("resource", "first", "lock", "1", "0", "1", "0", "0", "0", "", "first", "", "", "",
            NONE);
        add_row(&text, values[i]);
        ROW("holder", "first", REMOTE "1", "1", "0", "0", "", "", "1", "5", "0", "h", "0");
        expect_lines("resource first kind=lock scope=fleet database=default limit=1 in_use=0 free=1"
                     " waiting=0\n");
    }
}

Test(fleet_rows, said_twice)
{
    ROW("resource", "a", "lock", "1", "0", "1", "0", "0", "0", "", "a", "", "", "", NONE);
    ROW("resource", "a", "lock", "1", "1", "0", "0", "0", "0", "", "a", "", "", "", NONE);
    expect_lines(
        "resource a kind=lock scope=fleet database=default limit=1 in_use=0 free=1 waiting=0\n");
}

/* Whatever stands in any field, short or endless, the lines are lines. */
Test(fleet_rows, hostile_fields)
{
    static char endless[20001], items[20001], pairs[20001];
    memset(endless, 'x', sizeof endless - 1);
    for (size_t i = 0; i + 2 < sizeof items; i += 2) {
        memcpy(items + i, "7,", 2);
    }
    for (size_t i = 0; i + 8 < sizeof pairs; i += 8) {
        memcpy(pairs + i, "a,%20%0A ", 8);
        pairs[i + 7] = ' ';
    }
    const char *const nasty[] = {"", " ", "\n", "\nend\n", "end\r\n* lost", "\x1b[2J", "%", "%0",
        "%00", "%0a%1b%25", "=", "pid==", "a=b c=d", "pid=1  uid=2",
        "at=99999999999999999999 pid=-1", "\xff\xfe", endless, items, pairs, "0,0,0", "-1",
        "9223372036854775808", "18446744073709551616", "../..", "*", "reason=%0aend",
        "program=\xe2\x80\xae"};
    enum { MAX_FIELDS = N_RESOURCE_FIELDS };
    static const char *const sound[][MAX_FIELDS + 1] = {
        {"resource", "etl", "pool", "4", "3", "1", "1", "0", "1", "r", "etl", "", "a,b", "a,b c,d",
            "1", "1", "0", "x,y"},
        {"holder", "etl", REMOTE "3f9k", "11", "0", "7", "job", "pid=77 program=load at=1", "2",
            "90", "0,1", "db1", "500", ""},
        {"waiter", "etl", HERE "1", "13", "-5", "7", "", "pid=78 at=1005000", "2", "1", "db1", "0",
            "", ""},
    };
    for (size_t bad = 0; bad < N(sound); bad++) {
        for (size_t field = 1; field < MAX_FIELDS && sound[bad][field]; field++) {
            for (size_t i = 0; i < N(nasty); i++) {
                for (size_t row = 0; row < N(sound); row++) {
                    const char *fields[MAX_FIELDS + 1];
                    memcpy(fields, sound[row], sizeof fields);
                    fields[field] = row == bad ? nasty[i] : fields[field];
                    add_row(&text, fields);
                }
                show();
                cr_assert(bad == 0 || rows->n_resources == 1);
                for (size_t k = 0; k < rows->n_resources; k++) {
                    fleet_find_holder(rows, &rows->resources[k], "0");
                    fleet_has_unit(rows, &rows->resources[k], "a");
                }
            }
        }
    }
}

/* All lists at once as long as they may be: still a line. */
Test(fleet_rows, longest_lines)
{
    static char items[65000], reserved[65000], reason[3 * REASON_BYTES + 1];
    char said[2 * sizeof reason + 100];
    char name[NAME_BYTES + 1], item[ITEM_BYTES + 1], template[NAME_BYTES + 1];
    char holder[3 * HOLDER_BYTES + 1], info[3 * REASON_BYTES + 3 * PROGRAM_BYTES + 64];
    struct text list = TEXT_INIT, pairs = TEXT_INIT;
    memset(name, 'n', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    memset(template, 't', NAME_BYTES);
    strcpy(template + NAME_BYTES - 2, "/*");
    for (size_t i = 0; i < REASON_BYTES; i++) {
        memcpy(reason + 3 * i, "%01", 4);
    }
    for (size_t i = 0; i < HOLDER_BYTES; i++) {
        memcpy(holder + 3 * i, "%01", 4);
    }
    snprintf(info, sizeof info, "pid=2147483647 program=%.*s reason=%s at=1", 3 * PROGRAM_BYTES,
        reason, reason);
    memset(item, 'i', ITEM_BYTES);
    item[ITEM_BYTES] = '\0';
    for (int i = 0; i < 60; i++) {
        text_add_format(&list, "%s%s", i > 0 ? "," : "", item);
        text_add_format(&pairs, "%s%s,%s", i > 0 ? " " : "", item, reason);
    }
    snprintf(said, sizeof said, "9223372036854775807\t4294967295 4294967294\t%s\t%s\t2147483647",
        reason, reason);
    snprintf(items, sizeof items, "%s", list.bytes);
    snprintf(reserved, sizeof reserved, "%s", pairs.bytes);
    text_deinit(&list);
    text_deinit(&pairs);
    ROW("resource", name, "pool", "2147483647", "2147483647", "2147483647", "2147483647",
        "2147483647", "1", said, template, "limit", items, reserved, "0", "0",
        said, items);
    ROW("holder", name, REMOTE "7zzzzzzzzzzzz", "11", "0", "4294967295", holder, info, "2",
        "9223372036854775807", items, reason, "0");
    ROW("waiter", name, REMOTE "7zzzzzzzzzzzz", "11", "-1000", "4294967295", holder, info,
        "2147483647", "2147483647", reason, "0", "", "");
    show();
    cr_expect(strstr(lines, ",..."));
    size_t n = 0;
    for (const char *c = lines; *c; c++) {
        n += *c == '\n';
    }
    cr_expect_eq(n, 3);
}

/* Cut off anywhere, it is read as far as it goes. */
Test(fleet_rows, cut_off)
{
    add_etl();
    char *whole = text.bytes;
    size_t length = text.length;
    text = (struct text)TEXT_INIT;
    for (size_t n = 0; n <= length; n++) {
        text_add_bytes(&text, whole, n);
        show();
    }
    free(whole);
}

static void add_named(const char *name, const char *defined_as)
{
    ROW("resource", name, "semaphore", "4", "3", "1", "1", "0", "0", "", defined_as, "", "", "",
        NONE);
}

/* Of names below it some have a definition of their own, or belong to another template. */
Test(fleet_rows, instances_of_a_template)
{
    add_named("market/b", "market/*");
    add_named("market/x/y", "market/x/*");
    add_named("market/a", "market/*");
    add_named("market", "market");
    add_named("market/own", "market/own");
    add_named("market0/a", "market0/*");
    read_rows();
    cr_expect_eq(fleet_rows_n_instances(rows, "market/*"), 2);
    cr_expect_eq(fleet_rows_n_instances(rows, "market/x/*"), 1);
    cr_expect_eq(fleet_rows_n_instances(rows, "market0/*"), 1);
    cr_expect_eq(fleet_rows_n_instances(rows, "z/*"), 0);
    cr_expect_eq(fleet_rows_n_instances(rows, "a/*"), 0);
}
