/* test_paths.c - where berthd keeps what survives it, by socket and environment. */
#include "journal/paths.h"

#include "base/history_socket.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const variables[] = {
    "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"};

static void forget_environment(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        unsetenv(variables[i]);
    }
}

TestSuite(paths, .init = forget_environment);

static const char *runtime(const char *socket)
{
    static char out[200];
    cr_assert(path_at_runtime(socket, ".journal", out, sizeof out));
    return out;
}

static const char *state(const char *socket)
{
    static char out[500];
    cr_assert(path_in_state_directory(socket, ".state", out, sizeof out));
    return out;
}

Test(paths, of_the_history)
{
    char out[40];
    cr_assert(path_of_history_socket("/run/berth/berth.sock", out, sizeof out));
    cr_expect_str_eq(out, "/run/berth/berth-history.sock");
    cr_assert(path_of_history_socket("/tmp/s", out, sizeof out));
    cr_expect_str_eq(out, "/tmp/s-history.sock");
    cr_expect_not(path_of_history_socket("/tmp/aaaaaaaaaaaaaaaaaaaaaaaaaaa", out, sizeof out));
}

Test(paths, at_runtime)
{
    cr_expect_str_eq(runtime("/run/berth/berth.sock"), "/run/berth/berth.sock.journal");
    setenv("RUNTIME_DIRECTORY", "/run/a:/run/b", 1);
    cr_expect_str_eq(runtime("/run/berth/x.sock"), "/run/a/x.sock.journal");
    setenv("RUNTIME_DIRECTORY", "", 1);
    cr_expect_str_eq(runtime("/run/berth/x.sock"), "/run/berth/x.sock.journal");
}

Test(paths, state_of_root)
{
    if (geteuid() != 0) {
        cr_skip_test("needs root");
    }
    setenv("XDG_STATE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    cr_expect_str_eq(state("/run/berth/berth.sock"), "/var/lib/berth/run-berth-berth.sock.state");
    setenv("STATE_DIRECTORY", "/s:/t", 1);
    cr_expect_str_eq(state("/run/berth/berth.sock"), "/s/run-berth-berth.sock.state");
}

Test(paths, state_of_a_user)
{
    if (geteuid() == 0) {
        cr_assert_eq(seteuid(65534), 0);
    }
    cr_expect_str_eq(state("/b"), "/var/lib/berth/b.state");
    setenv("HOME", "/h", 1);
    cr_expect_str_eq(state("/b"), "/h/.local/state/berth/b.state");
    setenv("XDG_STATE_HOME", "relative", 1);
    cr_expect_str_eq(state("/b"), "/h/.local/state/berth/b.state");
    setenv("XDG_STATE_HOME", "/x", 1);
    cr_expect_str_eq(state("/b"), "/x/berth/b.state");
    setenv("STATE_DIRECTORY", "/s", 1);
    cr_expect_str_eq(state("/b"), "/s/b.state");
    if (getuid() == 0) { /* for the leak checker, which must be able to trace us */
        cr_assert(seteuid(0) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    }
}

/* As `systemd-escape --path` has them. */
Test(paths, a_path_as_one_word)
{
    static const struct {
        const char *path, *word;
    } rows[] = {
        {"/run/berth/berth.sock", "/s/run-berth-berth.sock.state"},
        {"//run//berth///berth.sock", "/s/run-berth-berth.sock.state"},
        {"/run/a-b/c d", "/s/run-a\\x2db-c\\x20d.state"},
        {"/.hidden/.x", "/s/\\x2ehidden-.x.state"},
        {"/tmp/\xc3\xa4:_\\", "/s/tmp-\\xc3\\xa4:_\\x5c.state"},
    };
    setenv("STATE_DIRECTORY", "/s", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_str_eq(state(rows[i].path), rows[i].word);
    }
}

/* No socket's path makes a longer name than a directory takes, and no two the same. */
Test(paths, long_ones)
{
    char path[108], other[300];
    memset(path, '-', sizeof path);
    path[0] = '/';
    path[107] = '\0';
    setenv("STATE_DIRECTORY", "/s", 1);
    snprintf(other, sizeof other, "%s", state(path));
    cr_expect_leq(strlen(strrchr(other, '/') + 1), 255 - strlen(".new"));
    path[106] = 'x';
    cr_expect_str_neq(state(path), other);
    path[60] = '\0';
    cr_expect_leq(strlen(strrchr(state(path), '/') + 1), 255 - strlen(".new"));
}

Test(paths, too_long_for_the_buffer)
{
    char out[32];
    cr_expect(path_at_runtime("/run/234567890", ".23456789.234567", out, sizeof out - 1));
    cr_expect_not(path_at_runtime("/run/234567890", ".23456789.234567", out, sizeof out - 2));
    setenv("STATE_DIRECTORY", "/s", 1);
    cr_expect_not(path_in_state_directory("/run/23456789012345678901234", ".x", out, sizeof out));
    setenv("STATE_DIRECTORY", "/23456789012345678901234567890123", 1);
    cr_expect_not(path_of_state_directory(out, sizeof out));
}
