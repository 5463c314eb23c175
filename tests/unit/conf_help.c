#include "conf_help.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

size_t n_lookups;

struct name {
    const char *text;
    uint32_t id;
};

static enum lookup_result look_up(const struct name *names, const char *text, uint32_t *idp)
{
    n_lookups++;
    for (; names->text; names++) {
        if (strcmp(names->text, text) == 0) {
            *idp = names->id;
            return LOOKUP_FOUND;
        }
    }
    errno = EIO;
    return strcmp(text, "broken") == 0 ? LOOKUP_FAILED : LOOKUP_UNKNOWN;
}

enum lookup_result test_lookup(bool is_group, const char *text, uint32_t *idp)
{
    static const struct name users[] = {{"alice", 1000}, {"bob", 1001}, {NULL, 0}};
    static const struct name groups[] = {{"etl", 2000}, {"ops", 2001}, {NULL, 0}};
    return look_up(is_group ? groups : users, text, idp);
}

void conf_test_init(void)
{
    scratch_begin();
    cr_assert_eq(chmod(".", 0755), 0); /* for tests that are another user for a while */
    n_lookups = 0;
}

void write_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

struct conf *load_bytes(const char *bytes, size_t n, struct conf_errors *errors)
{
    scratch_write("t.conf", bytes, n);
    return conf_load("t.conf", NULL, test_lookup, errors);
}

struct conf *load_good_file(const char *path, const struct conf *running)
{
    struct conf_errors errors = CONF_ERRORS_INIT;
    struct conf *conf = conf_load(path, running, test_lookup, &errors);
    cr_assert(conf, "%s", errors.n > 0 ? errors.messages[0] : "no message");
    cr_assert_eq(errors.n, 0);
    return conf;
}

struct conf *load_good(const char *text)
{
    write_text("t.conf", text);
    return load_good_file("t.conf", NULL);
}

static char *joined(const struct conf_errors *errors)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < errors->n; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : "\n", errors->messages[i]);
    }
    fclose(out);
    return text;
}

static void expect_messages(struct conf_errors *messages, const char *expected)
{
    char *text = joined(messages);
    cr_expect_str_eq(text, expected);
    free(text);
    conf_errors_deinit(messages);
}

static void expect_errors_of(const char *path, const struct conf *running, const char *expected)
{
    struct conf_errors errors = CONF_ERRORS_INIT;
    struct conf *conf = conf_load(path, running, test_lookup, &errors);
    expect_messages(&errors, expected);
    cr_expect_eq(conf == NULL, expected[0] != '\0');
    conf_free(conf);
}

void expect_errors_in(const char *path, const char *expected)
{
    expect_errors_of(path, NULL, expected);
}

void expect_reload_errors(const struct conf *running, const char *text, const char *expected)
{
    write_text("t.conf", text);
    expect_errors_of(running->path, running, expected);
}

struct conf *reload_good(const struct conf *running, const char *text)
{
    write_text("t.conf", text);
    return load_good_file(running->path, running);
}

void expect_fixed_changes(
    const struct conf *running, const struct conf *loaded, const char *expected)
{
    struct conf_errors changes = CONF_ERRORS_INIT;
    conf_fixed_changes(running, loaded, &changes);
    expect_messages(&changes, expected);
}

void expect_errors(const char *text, const char *expected)
{
    write_text("t.conf", text);
    expect_errors_in("t.conf", expected);
}
