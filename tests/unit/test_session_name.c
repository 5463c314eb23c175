/* test_session_name.c - a daemon's name in its databases: when it is the same, and when another. */
#include "database/session_name.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(origin, .init = scratch_begin, .fini = scratch_end, .timeout = 10);

static const char boot[] = "4dd5c3f6-2f1f-4c1e-9fd6-9e6f5f3bb3a1";

static const char *format(const struct session_origin *origin)
{
    static char ids[2][SESSION_NAME_SIZE];
    static int next;
    next = !next;
    session_name_format(ids[next], origin);
    return ids[next];
}

Test(origin, every_part_counts)
{
    const struct session_origin own = {boot, "ada", "/run/berth/berth.sock", "default", 26, 1000};
    struct session_origin others[] = {own, own, own, own, own, own, own, own};
    others[0].boot_id = "another boot";
    others[1].host = "bob";
    others[2].socket_path = "/run/user/7/berth.sock";
    others[3].database_name = "big";
    others[4].device = 27;
    others[5].inode = 1001;
    others[6].device = 1000, others[6].inode = 26;
    others[7].host = "ada/run/berth/berth.sock", others[7].socket_path = "";
    const char *id = format(&own);
    cr_expect_eq(strlen(id), SESSION_NAME_SIZE - 1);
    cr_expect_eq(strspn(id, "0123456789abcdef"), SESSION_NAME_SIZE - 1);
    cr_expect_str_eq(format(&own), id);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_expect_str_neq(format(&others[i]), format(&own), "part %zu does not count", i);
    }
}

/* For one daemon after the other, with only the directory left of the first. */
Test(origin, stays_in_its_directory)
{
    char before[SESSION_NAME_SIZE], after[SESSION_NAME_SIZE];
    const char *socket = scratch_path("berth.sock");
    unsetenv("RUNTIME_DIRECTORY");
    session_name_make(before, boot, socket, "default");
    scratch_write("berth.sock.journal", "x", 1);
    session_name_make(after, boot, socket, "default");
    cr_expect_str_eq(before, after);
    session_name_make(after, boot, socket, "other");
    cr_expect_str_neq(before, after);
}

/* The same path, but not the same directory: as in two containers. */
Test(origin, another_directory_of_that_name)
{
    char before[SESSION_NAME_SIZE], after[SESSION_NAME_SIZE];
    mkdir("run", 0700);
    mkdir("other", 0700);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path("run"));
    setenv("RUNTIME_DIRECTORY", path, 1);
    session_name_make(before, boot, "/run/berth/berth.sock", "default");
    rename("run", "gone");
    rename("other", "run");
    session_name_make(after, boot, "/run/berth/berth.sock", "default");
    cr_expect_str_neq(before, after);
    rename("run", "other");
    rename("gone", "run");
    session_name_make(after, boot, "/run/berth/berth.sock", "default");
    cr_expect_str_eq(before, after);
    rmdir("run");
    rmdir("other");
}

Test(origin, host_in_bytes_of_a_name)
{
    static const char *const rows[][2] = {
        {"ada.example.org", "ada.example.org"},
        {"a b\tc%|d\n", "a_b_c__d_"},
        {"", "_"},
        {"\xc3\xbc", "__"},
        {"A-Z_09", "A-Z_09"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char host[SESSION_HOST_SIZE];
        snprintf(host, sizeof host, "%s", rows[i][0]);
        session_host_clean(host);
        cr_expect_str_eq(host, rows[i][1]);
    }
    char own[SESSION_HOST_SIZE];
    session_host_read(own);
    cr_expect_gt(strlen(own), 0);
}
