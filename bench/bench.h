/* bench.h - shared by the programs of this folder: the clock, blocking connections, giving up. They
 * measure and print samples, one line each; bench/run makes figures of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds: the same clock in every process of the machine. */
int64_t bench_now(void);

/* Both end the program with 1; the second one adds errno's meaning. */
_Noreturn void bench_fail(const char *what);
_Noreturn void bench_fail_errno(const char *what);

/* Parses a positive decimal of the command line, or ends the program. */
unsigned bench_number(const char *text);

/* From here on this process belongs to that user. Needs root. */
void bench_become(unsigned uid);

/* A blocking connection to a Unix socket. */
int bench_connect(const char *path);
void bench_write(int fd, const char *bytes, size_t n);
/* Reads until `n_lines` lines are there and NUL-terminates them. The caller knows how many are to
 * come, so nothing has to be kept for the next call. */
char *bench_read_lines(int fd, unsigned n_lines, char *buffer, size_t size);
/* The line after `line`, which must begin with `prefix`. */
char *bench_expect(char *line, const char *prefix);
/* The lease's id in "ok LEASE ..." or "waiting LEASE ...". */
enum { BENCH_LEASE_SIZE = 16 };
void bench_copy_lease(char out[static BENCH_LEASE_SIZE], const char *line);
