/* What the keys take, where it goes, and what they are without being given. */
#include "conf/keys.h"
#include "conf/value_types.h"
#include "conf_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(conf_values, .init = conf_test_init, .fini = scratch_end, .timeout = 20);

/* ---- the table ---- */

Test(conf_values, every_row_is_filled_in)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key_row *key = &key_table[i];
        cr_assert(key->word && key->type && key->help, "row %zu", i);
        cr_expect(key->sections != 0, "%s", key->word);
        cr_expect(key->min <= key->max, "%s", key->word);
        cr_expect(key->reloadable || key->type->same, "%s", key->word);
        cr_expect(key->reloadable || key->sections == 1 << SECTION_DAEMON ||
                key->sections == 1 << SECTION_REDIS,
            "%s", key->word);
        for (enum section_kind kind = 0; kind < N_SECTION_KINDS; kind++) {
            cr_expect(!key_is_in(key, kind) || key_find(kind, key->word) == key,
                "%s is twice in [%s]", key->word, section_words[kind]);
        }
    }
}

/* ---- defaults ---- */

Test(conf_values, defaults_of_the_daemon)
{
    struct conf *conf = load_good("");
    cr_expect_str_eq(conf->socket, "/run/berth/berth.sock");
    cr_expect_eq(conf->socket_mode, 0666);
    cr_expect_eq(conf->admin_users.n, 0);
    cr_expect_eq(conf->admin_groups.n, 0);
    cr_expect_eq(conf->view_users.n, 0);
    cr_expect_eq(conf->view_groups.n, 0);
    cr_expect_eq(conf->max_clients, UNBOUNDED);
    cr_expect_eq(conf->user_bounds.clients, 2000);
    cr_expect_eq(conf->user_bounds.waiters, 900);
    cr_expect_eq(conf->user_bounds.leases, 10000);
    cr_expect_eq(conf->user_bounds.instances, 1000);
    cr_expect_eq(conf->max_requests_per_second, 5000);
    cr_expect_eq(conf->grace, 10 * NANOSECONDS_PER_SECOND);
    cr_expect_null(conf->include);
    cr_expect_eq(conf->n_definitions, 0);
    cr_expect_str_eq(conf->path, "t.conf");
    conf_free(conf);
}

/* ---- every key arrives ---- */

static void expect_ids(const struct id_set *set, uint32_t first, uint32_t second)
{
    cr_assert_eq(set->n, 2);
    cr_expect_eq(set->ids[0], first);
    cr_expect_eq(set->ids[1], second);
}

Test(conf_values, each_key_of_the_daemon_arrives)
{
    struct conf *conf = load_good("[daemon]\n"
                                  "socket = /x/y\n"
                                  "socket-mode = 0750\n"
                                  "admin-users = alice 7\n"
                                  "admin-groups = ops\n"
                                  "  etl\n"
                                  "view-users = 7 alice\n"
                                  "view-groups = etl ops\n"
                                  "max-clients = 11\n"
                                  "max-clients-per-user = 12\n"
                                  "max-requests-per-second-per-user = 16\n"
                                  "max-waiters-per-user = 13\n"
                                  "max-leases-per-user = 14\n"
                                  "max-instances-per-user = 15\n"
                                  "grace = 16s\n"
                                  "history = 3M\n"
                                  "log = leases\n"
                                  "include = none.d\n");
    cr_expect_str_eq(conf->socket, "/x/y");
    cr_expect_eq(conf->socket_mode, 0750);
    expect_ids(&conf->admin_users, 1000, 7);
    expect_ids(&conf->admin_groups, 2001, 2000);
    expect_ids(&conf->view_users, 7, 1000);
    expect_ids(&conf->view_groups, 2000, 2001);
    cr_expect_eq(conf->max_clients, 11);
    cr_expect_eq(conf->max_requests_per_second, 16);
    cr_expect_eq(conf->user_bounds.clients, 12);
    cr_expect_eq(conf->user_bounds.waiters, 13);
    cr_expect_eq(conf->user_bounds.leases, 14);
    cr_expect_eq(conf->user_bounds.instances, 15);
    cr_expect_eq(conf->grace, 16 * NANOSECONDS_PER_SECOND);
    cr_expect_eq(conf->history, 3 << 20);
    cr_expect(conf->logs_leases);
    cr_expect_str_eq(conf->include, "none.d");
    conf_free(conf);
}

Test(conf_values, each_key_of_a_resource_arrives)
{
    struct conf *conf = load_good("[pool x/*]\n"
                                  "items = b a\n"
                                  "select = random\n"
                                  "order = first-fit\n"
                                  "max-overtakes = 1\n"
                                  "cooldown = 1.5s\n"
                                  "max-hold = 2h\n"
                                  "kill-after = 7s\n"
                                  "on-lost = term\n"
                                  "programs = no\n"
                                  "keep = 1m\n"
                                  "max-waiters = 2\n"
                                  "max-units-per-user = 3\n"
                                  "max-priority = 4\n"
                                  "identity = shared\n"
                                  "allow-users = alice bob\n"
                                  "allow-groups = 1 2\n"
                                  "deny-users = 5\n"
                                  "deny-groups = ops 7\n"
                                  "show-commands = owner\n"
                                  "show-arguments = yes\n"
                                  "admin-users = 3 4\n"
                                  "admin-groups = etl ops\n"
                                  "max-instances = 5\n"
                                  "own-names = yes\n"
                                  "scope = host\n"
                                  "[lock l]\n"
                                  "limit = 0\n");
    const struct definition *pool = &conf->definitions[0];
    cr_expect_str_eq(pool->name, "x/*");
    cr_assert_eq(pool->n_items, 2);
    cr_expect_str_eq(pool->items[0], "b");
    cr_expect_str_eq(pool->items[1], "a");
    cr_expect_eq(pool->selection, SELECT_RANDOM);
    cr_expect_eq(pool->order, ORDER_FIRST_FIT);
    cr_expect_eq(pool->max_overtakes, 1);
    cr_expect_eq(pool->cooldown, 3 * NANOSECONDS_PER_SECOND / 2);
    cr_expect_eq(pool->max_hold, 7200 * NANOSECONDS_PER_SECOND);
    cr_expect_eq(pool->kill_after, 7 * NANOSECONDS_PER_SECOND);
    cr_expect_eq(pool->keep, 60 * NANOSECONDS_PER_SECOND);
    cr_expect_eq(pool->on_lost, ON_LOST_TERM);
    cr_expect_eq(pool->max_waiters, 2);
    cr_expect_eq(pool->max_units_per_user, 3);
    cr_expect_eq(pool->max_priority, 4);
    cr_expect(pool->identity_shared);
    expect_ids(&pool->rights.allow_users, 1000, 1001);
    expect_ids(&pool->rights.allow_groups, 1, 2);
    cr_assert_eq(pool->rights.deny_users.n, 1);
    cr_expect_eq(pool->rights.deny_users.ids[0], 5);
    expect_ids(&pool->rights.deny_groups, 2001, 7);
    cr_expect(pool->shows_to_owner_only);
    cr_expect(pool->shows_arguments);
    cr_expect(pool->has_own_names);
    cr_expect_not(conf->definitions[1].has_own_names);
    cr_expect(pool->refuses_programs);
    cr_expect_not(conf->definitions[1].refuses_programs);
    expect_ids(&pool->rights.admin_users, 3, 4);
    expect_ids(&pool->rights.admin_groups, 2000, 2001);
    cr_expect_eq(pool->max_instances, 5);
    cr_expect_eq(conf->definitions[1].limit, 0);
    conf_free(conf);
}

/* ---- ranges ---- */

/* A section with what it needs to take `key`, and then that key. */
static bool takes(enum section_kind kind, const char *key, const char *value)
{
    char text[512];
    int n = snprintf(
        text, sizeof text, "[%s%s]\n", section_words[kind], kind == SECTION_DAEMON ? "" : " x/*");
    if (kind == SECTION_SEMAPHORE && strcmp(key, "limit") != 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, "limit = 1\n");
    }
    if (kind == SECTION_POOL && strcmp(key, "items") != 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, "items = i\n");
    }
    if (strcmp(key, "max-overtakes") == 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, "order = first-fit\n");
    }
    if (strcmp(key, "burst") == 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, "rate = 1/5m\n");
    }
    snprintf(text + n, sizeof text - (size_t)n, "%s = %s\n", key, value);
    struct conf_errors errors = CONF_ERRORS_INIT;
    struct conf *conf = load_bytes(text, strlen(text), &errors);
    bool is_good = conf != NULL;
    cr_expect(is_good || errors.n == 1, "%s = %s: %zu errors", key, value, errors.n);
    conf_errors_deinit(&errors);
    conf_free(conf);
    return is_good;
}

static const struct {
    enum section_kind kind;
    const char *key;
    unsigned long min, max;
} ranges[] = {
    {SECTION_DAEMON, "max-clients", 1, 1000000},
    {SECTION_DAEMON, "max-clients-per-user", 1, 1000000},
    {SECTION_DAEMON, "max-waiters-per-user", 0, 1000000},
    {SECTION_DAEMON, "max-leases-per-user", 1, 1000000},
    {SECTION_DAEMON, "max-instances-per-user", 0, 1000000},
    {SECTION_DAEMON, "max-requests-per-second-per-user", 1, 1000000},
    {SECTION_SEMAPHORE, "limit", 0, 1000000},
    {SECTION_LOCK, "limit", 0, 1},
    {SECTION_POOL, "max-overtakes", 1, 1000000},
    {SECTION_POOL, "max-waiters", 0, 1000000},
    {SECTION_SEMAPHORE, "max-units-per-user", 1, 1000000},
    {SECTION_LOCK, "max-units-per-user", 1, 1000000},
    {SECTION_POOL, "max-units-per-user", 1, 1000000},
    {SECTION_LOCK, "max-priority", 0, 1000},
    {SECTION_LOCK, "max-instances", 1, 1000000},
    {SECTION_LOCK, "burst", 1, 1000000},
};

Test(conf_values, numbers_end_where_they_say)
{
    char text[32];
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        snprintf(text, sizeof text, "%lu", ranges[i].min);
        cr_expect(takes(ranges[i].kind, ranges[i].key, text), "%s = %s", ranges[i].key, text);
        snprintf(text, sizeof text, "%lu", ranges[i].max);
        cr_expect(takes(ranges[i].kind, ranges[i].key, text), "%s = %s", ranges[i].key, text);
        snprintf(text, sizeof text, "%lu", ranges[i].max + 1);
        cr_expect(!takes(ranges[i].kind, ranges[i].key, text), "%s = %s", ranges[i].key, text);
        if (ranges[i].min > 0) {
            cr_expect(!takes(ranges[i].kind, ranges[i].key, "0"), "%s = 0", ranges[i].key);
        }
        cr_expect(!takes(ranges[i].kind, ranges[i].key, "-1"));
        cr_expect(!takes(ranges[i].kind, ranges[i].key, "01"));
        cr_expect(!takes(ranges[i].kind, ranges[i].key, "1x"));
        cr_expect(!takes(ranges[i].kind, ranges[i].key, "4294967297"));
        cr_expect(!takes(ranges[i].kind, ranges[i].key, "18446744073709551617"));
    }
}

static const struct {
    bool good;
    enum section_kind kind;
    const char *key, *value;
} words[] = {
    {true, SECTION_DAEMON, "max-clients", "unbounded"},
    {false, SECTION_DAEMON, "max-clients-per-user", "unbounded"},
    {true, SECTION_DAEMON, "max-requests-per-second-per-user", "unbounded"},
    {true, SECTION_POOL, "max-units-per-user", "unbounded"},
    {false, SECTION_SEMAPHORE, "limit", "unbounded"},
    {true, SECTION_DAEMON, "socket-mode", "0777"},
    {true, SECTION_DAEMON, "socket-mode", "600"},
    {true, SECTION_DAEMON, "socket-mode", "0000"},
    {false, SECTION_DAEMON, "socket-mode", "1000"},
    {false, SECTION_DAEMON, "socket-mode", "0668"},
    {false, SECTION_DAEMON, "socket-mode", "66"},
    {false, SECTION_DAEMON, "socket-mode", "00666"},
    {false, SECTION_DAEMON, "socket-mode", "rw-rw-rw-"},
    {true, SECTION_DAEMON, "socket", "/a"},
    {false, SECTION_DAEMON, "socket", "/"},
    {false, SECTION_DAEMON, "socket", "/a/"},
    {false, SECTION_DAEMON, "socket", "a/b"},
    {true, SECTION_LOCK, "cooldown", "0"},
    {true, SECTION_LOCK, "cooldown", "250ms"},
    {true, SECTION_LOCK, "cooldown", "3650d"},
    {false, SECTION_LOCK, "cooldown", "3651d"},
    {false, SECTION_LOCK, "cooldown", "5 m"},
    {false, SECTION_LOCK, "cooldown", "-1"},
    {false, SECTION_LOCK, "cooldown", "1w"},
    {true, SECTION_LOCK, "rate", "unbounded"},
    {true, SECTION_LOCK, "rate", "100/1m"},
    {true, SECTION_LOCK, "rate", "1/1ms"},
    {true, SECTION_LOCK, "rate", "1000000/366d"},
    {true, SECTION_LOCK, "rate", "3/10"},
    {false, SECTION_LOCK, "rate", "0/1m"},
    {false, SECTION_LOCK, "rate", "1000001/1m"},
    {false, SECTION_LOCK, "rate", "1/0"},
    {false, SECTION_LOCK, "rate", "1/1.5ms"},
    {false, SECTION_LOCK, "rate", "1/367d"},
    {false, SECTION_LOCK, "rate", "1/unbounded"},
    {false, SECTION_LOCK, "rate", "100"},
    {false, SECTION_LOCK, "rate", "/1m"},
    {false, SECTION_LOCK, "rate", "1-2/1m"},
    {true, SECTION_LOCK, "max-hold", "1ms"},
    {false, SECTION_LOCK, "max-hold", "0.9ms"},
    {false, SECTION_LOCK, "max-hold", "0"},
    {true, SECTION_LOCK, "max-hold", "3650d"},
    {false, SECTION_LOCK, "max-hold", "3651d"},
    {true, SECTION_LOCK, "max-hold", "unbounded"},
    {false, SECTION_LOCK, "max-hold", "never"},
    {true, SECTION_POOL, "kill-after", "0"},
    {true, SECTION_POOL, "kill-after", "1d"},
    {false, SECTION_POOL, "kill-after", "24.001h"},
    {false, SECTION_POOL, "kill-after", "unbounded"},
    {true, SECTION_POOL, "keep", "1s"},
    {false, SECTION_POOL, "keep", "999ms"},
    {true, SECTION_POOL, "keep", "1d"},
    {false, SECTION_POOL, "keep", "unbounded"},
    {true, SECTION_DAEMON, "grace", "0"},
    {true, SECTION_DAEMON, "grace", "1h"},
    {false, SECTION_DAEMON, "grace", "60.001m"},
    {false, SECTION_DAEMON, "grace", "unbounded"},
    {true, SECTION_SEMAPHORE, "on-lost", "kill"},
    {true, SECTION_SEMAPHORE, "on-lost", "warn"},
    {false, SECTION_SEMAPHORE, "on-lost", "Kill"},
    {false, SECTION_SEMAPHORE, "on-lost", "stop"},
    {true, SECTION_POOL, "select", "first"},
    {false, SECTION_POOL, "select", "First"},
    {true, SECTION_LOCK, "order", "fifo"},
    {true, SECTION_LOCK, "order", "first-fit"},
    {false, SECTION_LOCK, "order", "first"},
    {true, SECTION_LOCK, "identity", "per-user"},
    {false, SECTION_LOCK, "identity", "yes"},
    {true, SECTION_LOCK, "show-commands", "owner"},
    {false, SECTION_LOCK, "show-commands", "nobody"},
    {true, SECTION_LOCK, "show-arguments", "yes"},
    {false, SECTION_LOCK, "show-arguments", "true"},
    {true, SECTION_LOCK, "programs", "yes"},
    {false, SECTION_LOCK, "programs", "none"},
    {true, SECTION_DAEMON, "log", "leases"},
    {false, SECTION_DAEMON, "log", "all"},
    {true, SECTION_DAEMON, "history", "0"},
    {true, SECTION_DAEMON, "history", "512K"},
    {true, SECTION_DAEMON, "history", "1G"},
    {false, SECTION_DAEMON, "history", "2G"},
    {false, SECTION_DAEMON, "history", "2MB"},
    {false, SECTION_DAEMON, "history", "-1"},
    {true, SECTION_LOCK, "scope", "host"},
    {false, SECTION_LOCK, "scope", "galaxy"},
    {true, SECTION_POOL, "items", "a.b_c/d:e@f+g-h"},
    {true, SECTION_POOL, "items", ""},
    {false, SECTION_POOL, "items", "a,b"},
    {false, SECTION_POOL, "items", "a b a"},
    {true, SECTION_LOCK, "allow-users", "alice alice"},
    {true, SECTION_LOCK, "allow-users", "4294967294"},
    {false, SECTION_LOCK, "allow-users", "4294967295"},
    {false, SECTION_LOCK, "allow-users", "-1"},
    {false, SECTION_LOCK, "allow-users", "etl"},
    {false, SECTION_LOCK, "allow-groups", "alice"},
    {true, SECTION_LOCK, "allow-groups", ""},
};

Test(conf_values, words_are_taken_or_refused)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect(takes(words[i].kind, words[i].key, words[i].value) == words[i].good, "%s = %s",
            words[i].key, words[i].value);
    }
}

static void fill(char *text, char c, size_t n)
{
    memset(text, c, n);
    text[n] = '\0';
}

Test(conf_values, texts_end_where_they_say)
{
    char text[128] = "/";
    fill(text + 1, 's', 106);
    cr_expect(takes(SECTION_DAEMON, "socket", text));
    fill(text + 1, 's', 107);
    cr_expect(!takes(SECTION_DAEMON, "socket", text));
    fill(text, 'i', 64);
    cr_expect(takes(SECTION_POOL, "items", text));
    fill(text, 'i', 65);
    cr_expect(!takes(SECTION_POOL, "items", text));
}

Test(conf_values, refused_durations_name_the_range)
{
    expect_errors("[lock a]\nkill-after = 2d\nmax-hold = 0\non-lost = die\n",
        "t.conf:2: [lock a] kill-after: \"2d\" is not a duration from 0s to 1d, such as 250ms, "
        "30s, "
        "5m or 2h (a plain number is seconds)\n"
        "t.conf:3: [lock a] max-hold: \"0\" is not a duration from 1ms to 3650d, such as 250ms, "
        "30s, "
        "5m or 2h (a plain number is seconds), or unbounded\n"
        "t.conf:4: [lock a] on-lost: \"die\" is not warn, term or kill");
}

/* ---- between the keys ---- */

Test(conf_values, pools_may_have_items_of_the_same_name)
{
    expect_errors("[pool a]\nitems = x y\n[pool b]\nitems = y x\n", "");
}

Test(conf_values, keys_that_do_not_go_together)
{
    expect_errors("[lock a]\nmax-overtakes = 3\n",
        "t.conf:2: [lock a] max-overtakes: is only for order = first-fit; fifo lets no "
        "request pass");
    expect_errors("[lock a]\nmax-overtakes = 3\norder = fifo\n",
        "t.conf:2: [lock a] max-overtakes: is only for order = first-fit; fifo lets no "
        "request pass");
    expect_errors("[lock a]\nmax-overtakes = 3\norder = first-fit\n", "");
    expect_errors("[lock a]\nburst = 3\n",
        "t.conf:2: [lock a] burst: is only for a resource with a rate");
    expect_errors("[lock a]\nrate = 1/366d\nburst = 10\n",
        "t.conf:3: [lock a] burst: would take more than 10 years to come back at this rate");
    expect_errors("[lock a]\nrate = 1/365d\nburst = 9\n", "");
    expect_errors("[lock a]\nmax-overtakes = 3\norder = fair\n",
        "t.conf:2: [lock a] max-overtakes: is only for order = first-fit; fair lets no "
        "request pass");
    expect_errors("[lock a]\norder = fair\nfair-by = user\n", "");
    expect_errors("[lock a]\nfair-by = share\n",
        "t.conf:2: [lock a] fair-by: is only for order = fair");
    expect_errors("[lock a]\nmax-instances = 3\n",
        "t.conf:2: [lock a] max-instances: is for templates only, whose names end in /*");
    expect_errors("[lock a]\nown-names = yes\n",
        "t.conf:2: [lock a] own-names: is for templates only, whose names end in /*");
    expect_errors("[lock a/*]\nmax-instances = 3\n", "");
    expect_errors("[semaphore a]\nlimit = 3\nmax-units-per-user = 4\n", "");
}

/* ---- users and groups ---- */

Test(conf_values, unknown_names_are_errors_in_their_line)
{
    expect_errors("[lock a]\nallow-users = alice carol\n  bob dave\nadmin-groups = broken\n",
        "t.conf:2: [lock a] allow-users: \"carol\" is not a user of this host, nor a numeric id\n"
        "t.conf:3: [lock a] allow-users: \"dave\" is not a user of this host, nor a numeric id\n"
        "t.conf:4: [lock a] admin-groups: \"broken\" cannot be looked up: Input/output error");
}

Test(conf_values, each_name_is_looked_up_once)
{
    expect_errors("[lock a]\nallow-users = alice bob 5\n[lock b]\nallow-users = bob alice\n"
                  "admin-users = alice\nallow-groups = etl\n[lock c]\nallow-groups = etl\n",
        "");
    cr_expect_eq(n_lookups, 3);
}

Test(conf_values, the_system_knows_its_users)
{
    struct conf_errors errors = CONF_ERRORS_INIT;
    write_text("t.conf", "[lock a]\nallow-users = root\nallow-groups = root no-such-group-here\n");
    cr_expect_null(conf_load("t.conf", NULL, NULL, &errors));
    cr_assert_eq(errors.n, 1);
    cr_expect_str_eq(errors.messages[0],
        "t.conf:3: [lock a] allow-groups: \"no-such-group-here\" is not a group of this host, nor "
        "a numeric id");
    conf_errors_deinit(&errors);
}

/* ---- reload ---- */

Test(conf_values, changes_that_need_a_restart)
{
    struct conf *one = load_good("[daemon]\nsocket = /a\n[lock a]\n");
    struct conf *two = load_good("[daemon]\nsocket = /a\nmax-clients = 3\n[lock b]\n");
    struct conf *three = load_good("[daemon]\nsocket = /b\nsocket-mode = 0600\ngrace = 1ms\n");
    expect_fixed_changes(one, two, "");
    expect_fixed_changes(two, three, "socket\nsocket-mode\ngrace");
    conf_keep_fixed(two, three);
    expect_fixed_changes(one, three, "");
    conf_free(one);
    conf_free(two);
    conf_free(three);
}

/* ---- which resources a reload changes ---- */

/* Of each type that a key of a resource can have: a value that is no key's default. */
static const char *const other_values[N_VALUE_TYPES] = {
    [VALUE_bound] = "7",
    [VALUE_duration] = "1s",
    [VALUE_span] = "1s",
    [VALUE_rate] = "9/1m",
    [VALUE_order] = "first-fit",
    [VALUE_consent] = "yes",
    [VALUE_refusal] = "no",
    [VALUE_selection] = "random",
    [VALUE_on_lost] = "warn",
    [VALUE_nested] = "share",
    [VALUE_flow] = "share",
    [VALUE_sharing] = "shared",
    [VALUE_showing] = "owner",
    [VALUE_scope] = "fleet",
    [VALUE_database] = "other",
    [VALUE_items] = "j",
    [VALUE_levels] = "level:1",
    [VALUE_users] = "alice",
    [VALUE_groups] = "etl",
};

static void print_other_value(const struct key_row *key, FILE *out)
{
    const char *value = other_values[key->type - value_types];
    if (key->type == &value_types[VALUE_number]) {
        bool is_min = key->initial && strtoull(key->initial, NULL, 10) == key->min;
        fprintf(out, "%ju", (uintmax_t)(is_min ? key->max : key->min));
    } else {
        cr_assert(value, "%s: no other value of its type", key->word);
        fputs(value, out);
    }
}

enum written { NOT_AT_ALL, AS_BY_DEFAULT, ANOTHER_VALUE };

/* One resource with all that it needs, and with `key` written so. */
static struct conf *load_with(
    enum section_kind kind, const struct key_row *key, enum written written)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "[redis]\nurl = redis://h\n[redis other]\nurl = redis://i\n[%s x/*]\n%s%s%s%s",
        section_words[kind], strcmp(key->word, "max-overtakes") == 0 ? "order = first-fit\n" : "",
        strcmp(key->word, "burst") == 0 ? "rate = 1/5m\n" : "",
        strcmp(key->word, "fair-by") == 0 ? "order = fair\n" : "",
        strcmp(key->word, "redis") == 0 ? "scope = fleet\n" : "");
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key_row *needed = &key_table[i];
        bool is_written = needed == key && written == ANOTHER_VALUE;
        if (key_is_in(needed, kind) && !needed->initial && !is_written) {
            fprintf(out, "%s = 1\n", needed->word);
        }
    }
    if (written == ANOTHER_VALUE) {
        fprintf(out, "%s = ", key->word);
        print_other_value(key, out);
        fputs("\n", out);
    } else if (written == AS_BY_DEFAULT && key->initial) {
        fprintf(out, "%s = %s\n", key->word, key->initial);
    }
    fputs("[lock level]\n", out);
    fclose(out);
    struct conf *conf = load_good(text);
    free(text);
    return conf;
}

Test(conf_values, each_key_of_a_resource_makes_it_another)
{
    for (enum section_kind kind = SECTION_SEMAPHORE; kind < N_SECTION_KINDS; kind++) {
        for (size_t i = 0; i < N_KEYS; i++) {
            if (!key_is_in(&key_table[i], kind)) {
                continue;
            }
            struct conf *before = load_with(kind, &key_table[i], NOT_AT_ALL);
            struct conf *again = load_with(kind, &key_table[i], AS_BY_DEFAULT);
            struct conf *after = load_with(kind, &key_table[i], ANOTHER_VALUE);
            const struct definition *definition = before->definitions;
            cr_expect(
                conf_same_definition(definition, again->definitions), "%s", key_table[i].word);
            cr_expect_not(
                conf_same_definition(definition, after->definitions), "%s", key_table[i].word);
            conf_free(before);
            conf_free(again);
            conf_free(after);
        }
    }
}

Test(conf_values, name_kind_and_the_number_of_items_make_it_another)
{
    struct conf *conf =
        load_good("[lock a]\n[lock b]\n[semaphore c]\nlimit = 1\n[pool d]\nitems = i j\n");
    struct conf *other =
        load_good("[lock a]\n[pool d]\nitems = i\n[semaphore b]\nlimit = 1\n[lock c]\n");
    cr_expect(conf_same_definition(&conf->definitions[0], &other->definitions[0]));
    cr_expect_not(conf_same_definition(&conf->definitions[0], &conf->definitions[1]));
    cr_expect_not(conf_same_definition(&conf->definitions[2], &other->definitions[3]));
    cr_expect_not(conf_same_definition(&conf->definitions[3], &other->definitions[1]));
    cr_expect_not(conf_same_definition(&other->definitions[1], &conf->definitions[3]));
    conf_free(conf);
    conf_free(other);
}
