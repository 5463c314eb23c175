/* conf_help.h - for the tests of conf/: configurations as text, in their own directory, with a name
 * service of two users and two groups. */
#pragma once

#include "conf/conf.h"
#include "conf/names.h"

#include <stddef.h>
#include <stdio.h>

/* users alice = 1000, bob = 1001; groups etl = 2000, ops = 2001; "broken" fails with EIO */
conf_lookup test_lookup;
extern size_t n_lookups;

/* A suite's .init, in whose directory messages begin with plain file names; .fini is
 * scratch_end(). */
void conf_test_init(void);

void write_text(const char *path, const char *text);

/* Writes "t.conf" and loads it. */
struct conf *load_bytes(const char *bytes, size_t n, struct conf_errors *errors);
/* The text, or the file, must have no errors. */
struct conf *load_good(const char *text);
struct conf *load_good_file(const char *path, const struct conf *running);
/* `expected`: all messages, one a line; "" if it must be good. */
void expect_errors(const char *text, const char *expected);
void expect_errors_in(const char *path, const char *expected);
/* Writes "t.conf" and reads it while `running` is in force. */
void expect_reload_errors(const struct conf *running, const char *text, const char *expected);
struct conf *reload_good(const struct conf *running, const char *text);
void expect_fixed_changes(
    const struct conf *running, const struct conf *loaded, const char *expected);
