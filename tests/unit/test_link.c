/* The small parts of a link: names, pauses, passwords, the order of Sentinels, calls in flight. */
#include "redis/calls.h"
#include "redis/key_names.h"
#include "redis/say.h"
#include "redis/secret.h"
#include "redis/sentinel.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

Test(keys, share_a_hash_tag)
{
    struct keys keys;
    cr_assert(keys_init(&keys, "my/berth", "0123456789abcdef"));
    cr_assert_str_eq(keys.keys[0], "{my/berth}:db");
    cr_assert_str_eq(keys.keys[N_SCRIPT_KEYS - 1], "{my/berth}:elsewhere");
    cr_assert_str_eq(keys.channels[CHANNEL_OWN], "{my/berth}:s:0123456789abcdef");
    cr_assert_str_eq(keys.channels[CHANNEL_ALL], "{my/berth}:all");
}

Test(keys, differ)
{
    struct keys keys;
    cr_assert(keys_init(&keys, "", ""));
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(keys.keys[i], keys.keys[j]);
        }
    }
}

Test(keys, are_bounded)
{
    struct keys keys;
    char prefix[SCRIPT_KEY_BYTES + 1] = "";
    memset(prefix, 'x', 64);
    cr_assert(keys_init(&keys, prefix, "0123456789abcdef"));
    memset(prefix, 'x', SCRIPT_KEY_BYTES);
    cr_assert_not(keys_init(&keys, prefix, "0123456789abcdef"));
}

/* ---- passwords ---- */

TestSuite(secret, .init = scratch_begin, .fini = scratch_end);

static char why[SAY_BYTES];

static void expect_secret(const char *content, const char *expected)
{
    char *secret;
    scratch_write("s", content, strlen(content));
    cr_assert(secret_read(scratch_path("s"), &secret, why, sizeof why), "%s", why);
    cr_assert_str_eq(secret, expected);
    secret_free(secret);
}

static void expect_no_secret(const char *source, const char *part)
{
    char *secret;
    cr_assert_not(secret_read(source, &secret, why, sizeof why));
    cr_assert_null(secret);
    cr_assert(strstr(why, part), "%s", why);
    cr_assert_not(strstr(why, "hush"), "%s", why);
}

Test(secret, is_one_line)
{
    expect_secret("hush", "hush");
    expect_secret("hush\n", "hush");
    expect_secret("hush\r\n", "hush");
    expect_secret(" hush hush \n\n", " hush hush ");
}

Test(secret, is_not_everything)
{
    static char much[5000];
    const char *path = scratch_path("s");
    expect_no_secret(path, "No such file");
    expect_no_secret("/", "Is a directory");
    scratch_write("s", "", 0);
    expect_no_secret(path, "no password in its first line");
    scratch_write("s", "\nhush\n", 6);
    expect_no_secret(path, "no password in its first line");
    scratch_write("s", "hush\nhush\n", 10);
    expect_no_secret(path, "more than one line");
    scratch_write("s", "hush\0hush", 9);
    expect_no_secret(path, "more than one line");
    memset(much, 'x', sizeof much);
    scratch_write("s", much, sizeof much);
    expect_no_secret(path, "more than one line");
}

Test(secret, of_systemd)
{
    char *secret;
    unsetenv("CREDENTIALS_DIRECTORY");
    expect_no_secret("credential:s", "CREDENTIALS_DIRECTORY is not set");
    setenv("CREDENTIALS_DIRECTORY", scratch_path("."), 1);
    scratch_write("s", "hush\n", 5);
    cr_assert(secret_read("credential:s", &secret, why, sizeof why), "%s", why);
    cr_assert_str_eq(secret, "hush");
    secret_free(secret);
    expect_no_secret("credential:", "not the name");
    expect_no_secret("credential:../s", "not the name");
}

/* ---- sentinels ---- */

Test(sentinel, order)
{
    struct sentinel_order order;
    sentinel_order_init(&order, 4);
    sentinel_order_first(&order, 2);
    cr_assert_arr_eq(order.index, ((uint8_t[]){2, 0, 1, 3}), 4);
    sentinel_order_first(&order, 2);
    cr_assert_arr_eq(order.index, ((uint8_t[]){2, 0, 1, 3}), 4);
    sentinel_order_last(&order, 0);
    cr_assert_arr_eq(order.index, ((uint8_t[]){2, 1, 3, 0}), 4);
    sentinel_order_last(&order, 0);
    sentinel_order_first(&order, 0);
    cr_assert_arr_eq(order.index, ((uint8_t[]){0, 2, 1, 3}), 4);
}

/* ---- calls ---- */

Test(calls, in_order)
{
    struct calls calls;
    struct call *call;
    calls_init(&calls);
    cr_assert_null(calls_take(&calls));
    for (uint64_t tag = 1; tag <= 3; tag++) {
        calls_add(&calls, &(struct call){.tag = tag, .bytes = malloc(1)});
    }
    call = calls_take(&calls);
    cr_assert_eq(call->tag, 1);
    call_free(call);
    calls_clear(&calls);
    cr_assert_null(calls_take(&calls));
}

/* ---- words of others ---- */

Test(say, one_printable_line)
{
    char text[8];
    say(text, sizeof text, "%s", "a\n\x1b\xc3\xa9z");
    cr_assert_str_eq(text, "a????z");
    say(text, sizeof text, "%s", "much too long");
    cr_assert_str_eq(text, "much to");
}

/* ---- scripts ---- */

Test(scripts, are_there)
{
    static const char *const names[] = {
        "hello", "acquire", "release", "renew", "snapshot", "admin"};
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        cr_assert_str_eq(script_table[i].name, names[i]);
        cr_assert_eq(script_table[i].length, strlen(script_table[i].text));
        cr_assert_gt(script_table[i].length, 0);
    }
}
