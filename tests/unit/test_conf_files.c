/* Which files are read, in which order; and the sample that is shipped. */
#include "conf/keys.h"
#include "conf_help.h"
#include "scratch.h"
#include "tests/source.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(conf_files, .init = conf_test_init, .fini = scratch_end, .timeout = 20);

/* ---- files that are none ---- */

Test(conf_files, an_unreadable_file_is_an_error)
{
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    write_text("secret", "");
    cr_assert_eq(chmod("secret", 0), 0);
    cr_assert_eq(symlink("loop", "loop"), 0);
    expect_errors_in(".", ".: is a directory");
    expect_errors_in("fifo", "fifo: is not a regular file");
    expect_errors_in("/dev/null", "/dev/null: is not a regular file");
    expect_errors_in("absent", "absent: No such file or directory");
    expect_errors_in("absent/x", "absent/x: No such file or directory");
    expect_errors_in("secret/x", "secret/x: Not a directory");
    expect_errors_in("loop", "loop: Too many levels of symbolic links");
    expect_errors_in("/proc/self/mem", "/proc/self/mem: cannot be read completely");
    expect_errors_in("", ": No such file or directory");
    uid_t uid = geteuid();
    if (uid == 0) {
        cr_assert_eq(seteuid(65534), 0);
    }
    expect_errors_in("secret", "secret: Permission denied");
    cr_assert_eq(seteuid(uid), 0);
}

Test(conf_files, a_huge_file_is_not_read)
{
    write_text("huge", "[lock a]\n");
    cr_assert_eq(truncate("huge", (off_t)1 << 40), 0);
    expect_errors_in("huge", "huge: is larger than 64 MiB");
}

Test(conf_files, control_characters_of_a_name_are_not_printed)
{
    write_text("a\n\x1b.conf", "x");
    expect_errors_in("a\n\x1b.conf", "a??.conf:1: \"x\" has no \"=\"; a line is KEY = VALUE");
}

/* ---- include ---- */

static void expect_included(const char *path, const char *expected)
{
    struct conf *conf = load_good_file(path, NULL);
    char names[256] = "";
    for (size_t i = 0; i < conf->n_definitions; i++) {
        strcat(strcat(names, i == 0 ? "" : " "), conf->definitions[i].name);
    }
    cr_expect_str_eq(names, expected);
    conf_free(conf);
}

Test(conf_files, a_directory_is_read_in_byte_order)
{
    mkdir("d", 0755);
    mkdir("d/conf.d", 0755);
    write_text("d/conf.d/b.conf", "[lock b1]\n[lock b2]\n");
    write_text("d/conf.d/a.conf", "[lock a]\n");
    write_text("d/conf.d/B.conf", "[lock B]\n");
    write_text("d/conf.d/10.conf", "[lock ten]\n");
    write_text("d/conf.d/9.conf", "[lock nine]\n");
    write_text("d/conf.d/.hidden.conf", "junk");
    write_text("d/conf.d/.conf", "junk");
    write_text("d/conf.d/c.conf~", "junk");
    write_text("d/conf.d/c.conf.dpkg-new", "junk");
    write_text("d/conf.d/README", "junk");
    write_text("d/b.conf", "[lock z]\n[daemon]\ninclude = conf.d\n[lock y]\n");
    expect_included("d/b.conf", "z y ten nine B a b1 b2");
    cr_assert_eq(chdir("d"), 0);
    expect_included("b.conf", "z y ten nine B a b1 b2");
    expect_included("./b.conf", "z y ten nine B a b1 b2");
    write_text("b.conf", "[daemon]\ninclude = conf.d/\n");
    expect_included("b.conf", "ten nine B a b1 b2");
}

Test(conf_files, an_absolute_path_and_a_single_file)
{
    char text[256], directory[128];
    cr_assert(getcwd(directory, sizeof directory));
    write_text("one", "[lock one]\n");
    snprintf(text, sizeof text, "[daemon]\ninclude = %s/one\n", directory);
    write_text("t.conf", text);
    expect_included("t.conf", "one");
    mkdir("d", 0755);
    write_text("d/t.conf", text);
    expect_included("d/t.conf", "one");
    write_text("t.conf", "[daemon]\ninclude = one\n");
    expect_included("t.conf", "one");
}

Test(conf_files, an_absent_directory_is_empty_an_absent_file_an_error)
{
    expect_errors("[daemon]\ninclude = conf.d\n", "");
    expect_errors("[daemon]\ninclude = absent/\n", "");
    expect_errors("[daemon]\n\ninclude = absent.conf\n",
        "t.conf:3: [daemon] include: absent.conf: No such file or directory");
    expect_errors("[daemon]\ninclude = absent\n",
        "t.conf:2: [daemon] include: absent: No such file or directory");
    expect_errors("[daemon]\ninclude = t.conf/x.d\n",
        "t.conf:2: [daemon] include: t.conf/x.d: Not a directory");
}

Test(conf_files, a_directory_entry_that_is_not_a_file)
{
    mkdir("x.d", 0755);
    mkdir("x.d/a.conf", 0755);
    cr_assert_eq(mkfifo("x.d/b.conf", 0600), 0);
    cr_assert_eq(symlink("absent", "x.d/c.conf"), 0);
    write_text("real", "[lock real]\n");
    cr_assert_eq(symlink("../real", "x.d/d.conf"), 0);
    expect_errors("[daemon]\ninclude = x.d\n",
        "x.d/a.conf: is a directory\n"
        "x.d/b.conf: is not a regular file\n"
        "x.d/c.conf: No such file or directory");
}

Test(conf_files, a_directory_that_cannot_be_read)
{
    mkdir("x.d", 0);
    write_text("t.conf", "[daemon]\ninclude = x.d\n");
    uid_t uid = geteuid();
    if (uid == 0) {
        cr_assert_eq(seteuid(65534), 0);
    }
    expect_errors_in("t.conf", "t.conf:2: [daemon] include: x.d: Permission denied");
    cr_assert_eq(seteuid(uid), 0);
}

Test(conf_files, only_the_main_file_has_a_daemon_section)
{
    write_text("one", "[daemon]\ninclude = one\nmax-clients = none\n[lock a]\nlimit = 2\n");
    expect_errors("[daemon]\ninclude = one\n",
        "one:1: [daemon]: only the main file, t.conf, may have this section\n"
        "one:5: [lock a] limit: \"2\" is not a number from 0 to 1");
    expect_errors("[daemon]\ninclude = t.conf\n[lock x]\n",
        "t.conf:1: [daemon]: only the main file, t.conf, may have this section\n"
        "t.conf:3: [lock x]: this name appears twice, first in t.conf:3");
}

Test(conf_files, errors_and_repetitions_over_several_files)
{
    mkdir("x.d", 0755);
    write_text("x.d/1.conf", "limit = 1\n[lock a]\n\n[pool b]\nitems = x\n");
    write_text("x.d/2.conf", "\n[semaphore b]\n[lock c]\n[lock c]\n  3\n");
    expect_errors("[lock a]\nlimit = 7\n[daemon]\ninclude = x.d\n",
        "t.conf:2: [lock a] limit: \"7\" is not a number from 0 to 1\n"
        "x.d/1.conf:1: limit: precedes the first section\n"
        "x.d/1.conf:2: [lock a]: this name appears twice, first in t.conf:1\n"
        "x.d/2.conf:2: [semaphore b]: this name appears twice, first in x.d/1.conf:4\n"
        "x.d/2.conf:2: [semaphore b] limit: is missing (how many units may be held at once; 0 = "
        "closed)\n"
        "x.d/2.conf:4: [lock c]: this name appears twice, first in line 3\n"
        "x.d/2.conf:5: [lock c]: an indented line continues the value of the key above it, but "
        "there is none");
}

Test(conf_files, an_unfinished_section_ends_with_its_file)
{
    mkdir("x.d", 0755);
    write_text("x.d/1.conf", "[pool a]\nitems = x");
    write_text("x.d/2.conf", "  y\n");
    expect_errors("[daemon]\ninclude = x.d\n",
        "x.d/2.conf:1: an indented line continues the value of the key above it, but there is "
        "none");
}

/* ---- the sample ---- */

static const char *sample(void)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/conf/berth.conf", source_dir);
    return path;
}

Test(conf_files, the_sample_is_good)
{
    expect_included(sample(), "nightly-etl deploy gpus market/*");
}

/* Every key with its help above it; what is commented out has the default. */
Test(conf_files, the_sample_has_every_key_with_its_help_and_default)
{
    size_t n;
    char *text = scratch_read(sample(), &n), expected[512];
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key_row *key = &key_table[i];
        snprintf(expected, sizeof expected, "\n;%s =%s%s", key->word,
            key->initial && key->initial[0] != '\0' ? " " : "", key->initial ? key->initial : "");
        bool is_shown = strstr(text, expected) != NULL;
        snprintf(expected, sizeof expected, "\n%s = ", key->word);
        cr_expect(is_shown || strstr(text, expected), "%s", key->word);
        snprintf(expected, sizeof expected, "\n# %s\n", key->help);
        cr_expect(strstr(text, expected), "%s: %s", key->word, key->help);
    }
    free(text);
}

/* A user who removes the semicolons changes nothing. */
Test(conf_files, the_sample_is_good_without_its_semicolons)
{
    size_t n;
    char *text = scratch_read(sample(), &n);
    for (char *c = text; (c = strstr(c, "\n;")); c++) {
        memmove(c + 1, c + 2, strlen(c + 2) + 1);
    }
    /* those that need order = first-fit or fair, a rate, scope = fleet or another url */
    static const char *const conditional[] = {"max-overtakes =", "fair-by =", "burst =", "redis =",
        "sentinel-password-file =", "sentinel-user =", "ca-file =", "cert-file =", "key-file =",
        "server-name =", "tls-min-version ="};
    for (size_t i = 0; i < sizeof conditional / sizeof conditional[0]; i++) {
        char *key = strstr(text, conditional[i]);
        cr_assert(key);
        key[0] = ';';
    }
    write_text("t.conf", text);
    expect_errors_in("t.conf", "");
    free(text);
}

Test(conf_files, a_lock_that_can_be_shared)
{
    struct conf *conf =
        load_good("[lock a]\nshared = 100\n[lock b]\nlimit = 0\nshared = 9\n[lock c]\n");
    cr_expect_eq(conf->definitions[0].limit, 100);
    cr_expect(definition_is_shared(&conf->definitions[0]));
    cr_expect_eq(conf->definitions[1].limit, 0);
    cr_expect(definition_is_shared(&conf->definitions[1]));
    cr_expect_eq(conf->definitions[2].limit, 1);
    cr_expect_not(definition_is_shared(&conf->definitions[2]));
    conf_free(conf);
    expect_errors("[lock a]\nshared = 0\n[semaphore s]\nlimit = 2\nshared = 2\n",
        "t.conf:2: [lock a] shared: \"0\" is not a number from 1 to 1000000\n"
        "t.conf:5: [semaphore s] shared: is not allowed in this kind of section; it belongs in "
        "[lock]");
}
