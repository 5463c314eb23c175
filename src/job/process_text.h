/* process_text.h - parses files of /proc/PID: stat, status, cgroup, cmdline; and /proc/locks. Pure:
 * process.c reads them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_stat {
    uint64_t started; /* clock ticks since boot */
    int32_t parent; /* 0: none that we can see */
    int32_t group; /* likewise */
    uint32_t n_threads;
    char state; /* a letter of proc(5) */
};

struct process_status {
    int32_t pid, leader; /* they differ for a thread of `leader` */
    uint32_t real_uid, saved_uid;
    uint32_t n_namespaces; /* PID namespaces, from that of /proc to its own; 0 if not given */
};

/* False if the text is malformed; then `*out` is unspecified. */
bool process_stat_parse(const char *text, struct process_stat *out);
bool process_status_parse(const char *text, struct process_status *out);

/* A zombie is dead, unless its main thread has ended and other threads run on. */
bool process_stat_is_alive(const struct process_stat *stat);

/* The path in the unified hierarchy, or else in systemd's; NULL if there is none but the root.
 * Changes the text, and returns a part of it. */
const char *process_cgroup_find(char *text);
/* The arguments in `text`, which has a NUL behind each, with spaces between them. `text` has room
 * for one more byte. `is_cut`: there are more bytes than these, which are at least 3 and get "..."
 * for their end. NULL if there are no arguments. */
const char *process_args_join(char *text, size_t length, bool is_cut);

/* In the text of /proc/locks: who has the lock of the file for which the process waits in flock(2);
 * -1 if the text does not have it, 0 if the process does not wait so. */
int32_t process_locks_find(const char *text, int32_t pid);
