/* The small parts of a link: names, pauses, passwords, the order of Sentinels. */
#include "redis/loading.h"
#include "redis/one_line.h"
#include "redis/secret.h"
#include "redis/sentinel.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

Test(keys, share_a_hash_tag)
{
    struct keys keys;
    cr_assert(keys_init(&keys, "my/berth", "0123456789abcdef"));
    cr_assert_str_eq(keys.keys[0], "{my/berth}:db");
    cr_assert_str_eq(keys.keys[N_SCRIPT_KEYS - 1], "{my/berth}:history");
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

static char why[ONE_LINE_BYTES];

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

/* ---- words of others ---- */

Test(say, one_printable_line)
{
    char text[8];
    format_one_line(text, sizeof text, "%s", "a\n\x1b\xc3\xa9z");
    cr_assert_str_eq(text, "a????z");
    format_one_line(text, sizeof text, "%s", "much too long");
    cr_assert_str_eq(text, "much to");
}

/* ---- scripts ---- */

Test(scripts, are_there)
{
    char line[128];
    cr_assert_gt(strlen(script_sets[0].script), 0);
    cr_assert_eq(strlen(script_sets[0].sha), 40);
    snprintf(line, sizeof line, "#!lua name=%s\n", script_sets[0].name);
    cr_assert_eq(strncmp(script_sets[0].library, line, strlen(line)), 0);
    snprintf(line, sizeof line, "berth_L%d_", script_sets[0].layout);
    cr_assert_eq(strncmp(script_sets[0].name, line, strlen(line)), 0);
}

Test(scripts, functions_are_named_after_the_library)
{
    char name[128];
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        snprintf(name, sizeof name, "%s_%s", script_sets[0].name, script_words[i]);
        cr_assert_str_eq(script_sets[0].functions[i], name);
    }
}

/* ---- loading ---- */

static enum loading loading_after(enum loading step, enum resp_type type, const char *text)
{
    struct resp resp = {.type = type, .text = text, .length = strlen(text)};
    return loading_next(step, &script_sets[0], &resp);
}

static void expect_command(enum loading step, const char *expected)
{
    const char *argv[LOADING_WORDS];
    char words[256] = "";
    loading_command(step, &script_sets[0], argv);
    for (size_t i = 0; argv[i]; i++) {
        bool is_text = argv[i] == script_sets[0].library || argv[i] == script_sets[0].script;
        strcat(words, i > 0 ? " " : "");
        strcat(words, is_text ? "..." : argv[i]);
    }
    cr_assert_str_eq(words, expected);
}

Test(loading, commands)
{
    char words[256];
    snprintf(words, sizeof words, "FCALL %s_about 0", script_sets[0].name);
    expect_command(LOADING_ASKS_LIBRARY, words);
    expect_command(LOADING_LIBRARY, "FUNCTION LOAD ...");
    snprintf(words, sizeof words, "EVALSHA %s 0 about", script_sets[0].sha);
    expect_command(LOADING_ASKS_SCRIPT, words);
    expect_command(LOADING_SCRIPT, "SCRIPT LOAD ...");
}

Test(loading, of_the_library)
{
    enum loading asks = LOADING_ASKS_LIBRARY, loads = LOADING_LIBRARY;
    cr_assert_eq(loading_after(asks, RESP_STRING, script_sets[0].name), LOADING_HAS_LIBRARY);
    cr_assert_eq(loading_after(asks, RESP_ERROR, "ERR Function not found"), LOADING_LIBRARY);
    cr_assert_eq(loading_after(loads, RESP_STRING, script_sets[0].name), LOADING_HAS_LIBRARY);
    cr_assert_eq(loading_after(loads, RESP_ERROR, "ERR Library 'x' already exists"),
        LOADING_ASKS_AGAIN, "another daemon was faster, or it is somebody else's");
    enum loading again = LOADING_ASKS_AGAIN;
    cr_assert_eq(loading_after(again, RESP_STRING, script_sets[0].name), LOADING_HAS_LIBRARY);
    cr_assert_eq(loading_after(again, RESP_ERROR, "ERR Function not found"), LOADING_ASKS_SCRIPT);
}

Test(loading, of_the_script_where_the_library_cannot_be_had)
{
    static const char *const errors[] = {"ERR unknown command 'FCALL'", "NOPERM no",
        "OOM command not allowed when used memory > 'maxmemory'.", "ERR Error compiling function"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        const char *error = errors[i];
        cr_assert_eq(loading_after(LOADING_ASKS_LIBRARY, RESP_ERROR, error), LOADING_ASKS_SCRIPT);
        cr_assert_eq(loading_after(LOADING_LIBRARY, RESP_ERROR, error), LOADING_ASKS_SCRIPT);
    }
    cr_assert_eq(loading_after(LOADING_ASKS_LIBRARY, RESP_STRING, "another"), LOADING_ASKS_SCRIPT);
}

Test(loading, of_the_script)
{
    enum loading asks = LOADING_ASKS_SCRIPT, loads = LOADING_SCRIPT;
    cr_assert_eq(loading_after(asks, RESP_STRING, "about"), LOADING_HAS_SCRIPT);
    cr_assert_eq(loading_after(asks, RESP_ERROR, "NOSCRIPT No matching script."), LOADING_SCRIPT);
    cr_assert_eq(loading_after(asks, RESP_ERROR, "NOPERM no"), LOADING_FAILED);
    cr_assert_eq(loading_after(loads, RESP_STRING, script_sets[0].sha), LOADING_HAS_SCRIPT);
    cr_assert_eq(loading_after(loads, RESP_STRING, "another hash"), LOADING_FAILED);
    cr_assert_eq(loading_after(loads, RESP_ERROR, "NOPERM no"), LOADING_FAILED);
    cr_assert_eq(loading_after(loads, RESP_ERROR, "NOSCRIPT"), LOADING_FAILED);
}
