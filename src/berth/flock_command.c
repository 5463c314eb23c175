/* flock_command.c - `berth flock`: the command line of flock(1) for `berth run`, with a lease named
 * after the file and its user, and the file's own lock. */
#include "base/utf8.h"
#include "base/words.h"
#include "berth/file_lock.h"
#include "berth/options.h"
#include "client/message.h"

#include <inttypes.h>
#include <limits.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

enum { DEFAULT_CONFLICT_STATUS = 1 };

static bool is_for_shell(const char *word)
{
    return strcmp(word, "-c") == 0 || strcmp(word, "--command") == 0;
}

/* `words`: -c and a line, in whose place comes what the shell needs. */
static char **shell_command(char **words)
{
    static char minus_c[] = "-c", default_shell[] = _PATH_BSHELL;
    static char *command[4];
    char *shell = getenv("SHELL");
    command[0] = shell && shell[0] ? shell : default_shell;
    command[1] = minus_c;
    command[2] = words[1];
    return command;
}

bool flock_take_words(struct options *options, char **words, int n, int dashes)
{
    (void)dashes;
    if (n < 2 || options->unlock_file) {
        message("FILE and COMMAND are required; for a file descriptor, and for -u, use flock(1)");
        return false;
    }
    if (options->no_fork && options->given_lock.is_closed) {
        message("--no-fork cannot be combined with --close");
        return false;
    }
    if (is_for_shell(words[1]) && n != 3) {
        message("%s needs exactly one argument", words[1]);
        return false;
    }
    options->given_lock.path = words[0];
    options->command = is_for_shell(words[1]) ? shell_command(words + 1) : words + 1;
    return true;
}

/* A user's own name for the file: nobody else may use it, so nobody waits for who cannot open the
 * file. False: it is gone. */
static bool name_lease(struct options *options, const struct file_lock *lock)
{
    static char name[NAME_BYTES + 1], path[PATH_MAX];
    struct stat status;
    if (fstat(lock->fd, &status) != 0) {
        return false;
    }
    int length = snprintf(name, sizeof name, "flock/%lu-%ju-%ju", (unsigned long)geteuid(),
        (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    options->wanted[0] = (struct wanted){
        .name = name,
        .name_length = length,
        .count = 1,
        .how = lock->is_shared ? "shared" : NULL,
    };
    options->n_wanted = 1;
    if (!realpath(lock->path, path)) {
        snprintf(path, sizeof path, "%s", lock->path);
    }
    path[utf8_cut(path, REASON_BYTES)] = '\0';
    options->reason = path;
    return true;
}

int command_flock(const struct options *given)
{
    static struct options options; /* large */
    struct file_lock *lock = &options.given_lock;
    options = *given;
    options.if_down = IF_DOWN_RUN;
    options.quiet = !options.verbose;
    if (options.conflict_status < 0) {
        options.conflict_status = DEFAULT_CONFLICT_STATUS;
    }
    lock->is_verbose = options.verbose;
    lock->until = options.wait == NEVER ? NEVER : clock_now() + options.wait;
    lock->conflict_status = options.conflict_status;
    int status = file_lock_open(lock);
    if (status != 0) {
        return status;
    }
    if (!name_lease(&options, lock)) {
        return EX_OSERR;
    }
    options.file_lock = lock;
    return command_run(&options);
}
