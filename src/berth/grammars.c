#include "berth/options.h"

#include "base/words.h"
#include "client/message.h"

#include <string.h>

/* ---- NAME[:COUNT]... ---- */

/* berthctl and the protocol write NAME=COUNT. */
static void say_no_name(const char *word)
{
    uint64_t count;
    const char *equals = strchr(word, '=');
    if (equals && number_parse(equals + 1, UINT64_MAX, &count)) {
        message("%s: not a resource's name; did you mean %.*s:%s?", word, (int)(equals - word),
            word, equals + 1);
    } else {
        message("%s: not a resource's name", word);
    }
}

static bool take_wanted(struct options *options, const char *word)
{
    char name[NAME_BYTES + 1];
    const char *colon = strchr(word, ':');
    size_t n = colon ? (size_t)(colon - word) : strlen(word);
    uint64_t count = 1;

    if (n < sizeof name) {
        memcpy(name, word, n);
        name[n] = '\0';
    }
    if (n >= sizeof name || !name_is_valid(name)) {
        say_no_name(word);
        return false;
    }
    if (colon && !number_parse(colon + 1, UINT64_MAX, &count)) {
        message("%s: COUNT must be a number of units", word);
        return false;
    }
    if (options->n_wanted == OPTIONS_MAX_RESOURCES) {
        message("more than %d resources", OPTIONS_MAX_RESOURCES);
        return false;
    }
    options->wanted[options->n_wanted++] = (struct wanted){
        .name = word,
        .name_length = (int)n,
        .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX, /* berthd refuses it */
    };
    return true;
}

static bool take_all_wanted(struct options *options, char **words, int n)
{
    if (n == 0) {
        message("no NAME");
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!take_wanted(options, words[i])) {
            return false;
        }
    }
    return true;
}

static bool run_take_words(struct options *options, char **words, int n, int dashes)
{
    if (dashes == n) {
        message("no COMMAND");
        return false;
    }
    if (options->no_fork && options->tree) {
        message("--no-fork cannot be combined with --tree");
        return false;
    }
    options->command = words + dashes;
    return take_all_wanted(options, words, dashes);
}

static bool acquire_take_words(struct options *options, char **words, int n, int dashes)
{
    if (dashes > 0 && dashes < n) {
        message("acquire runs no COMMAND; did you mean `berth run`?");
        return false;
    }
    if (options->pid != 0 && options->ttl != NEVER) {
        message("--pid cannot be combined with --ttl");
        return false;
    }
    if (options->pid == 0 && options->ttl == NEVER) {
        message("how long should the lease last? Use --pid $$ (as long as the calling script), "
                "or --ttl DURATION");
        return false;
    }
    return take_all_wanted(options, words, n);
}

/* ---- LEASE or NAME ---- */

/* `hint` is NULL if the NAME alone may do. */
static bool grammars_take_lease(struct options *options, char **words, int n, const char *hint)
{
    uint64_t id;
    if (n != 1) {
        message(n == 0 ? "LEASE or NAME is required" : "more than one LEASE or NAME");
        return false;
    }
    bool by_name = options->holder || options->item;
    bool may_be_name = by_name || !hint; /* berthd knows */
    if (may_be_name ? !name_is_valid(words[0]) : !lease_id_parse(words[0], &id)) {
        message(may_be_name ? "%s: not a resource's name" : "%s: not a lease; for a NAME use %s",
            words[0], hint);
        return false;
    }
    options->lease = words[0];
    return true;
}

static bool release_take_words(struct options *options, char **words, int n, int dashes)
{
    (void)dashes;
    if (options->holder && options->item) {
        message("--holder and --item exclude each other");
        return false;
    }
    return grammars_take_lease(options, words, n, NULL);
}

static bool renew_take_words(struct options *options, char **words, int n, int dashes)
{
    (void)dashes;
    return grammars_take_lease(options, words, n, "--holder ID");
}

/* ---- the subcommands ---- */

const struct grammar grammar_run = {
    .in = IN_RUN,
    .usage = "berth run [OPTION]... NAME[:COUNT]... -- COMMAND [ARG]...",
    .summary = "Waits for units of every NAME, runs COMMAND while it holds them, and gives them\n"
               "back when COMMAND ends.",
    .needs_dashes = true,
    .take_words = run_take_words,
    .more_help =
        "COMMAND finds BERTH_LEASE, BERTH_SOCKET, BERTH_NAME, BERTH_TOKEN, BERTH_SLOT or "
        "BERTH_ITEM,\n"
        "and BERTH_COUNT in its environment; with several NAMEs these are those of the first, and\n"
        "BERTH_1_NAME, BERTH_1_TOKEN, ... BERTH_2_NAME, ... are in the order given.\n"
        "\n"
        "The exit status is COMMAND's own, or 64 usage, 69 berthd not reachable, 75 not acquired,\n"
        "77 not permitted, 78 unknown or impossible, 124 stopped because the lease was gone,\n"
        "126 cannot execute, 127 not found.\n",
};

const struct grammar grammar_acquire = {
    .in = IN_ACQUIRE,
    .usage = "berth acquire [OPTION]... --pid PID | --ttl DURATION NAME[:COUNT]...",
    .summary = "Takes units of every NAME for another process, and prints what berth run gives its "
               "COMMAND.",
    .take_words = acquire_take_words,
    .more_help =
        "It prints assignments for a shell, or for systemd's EnvironmentFile=:\n"
        "  found=$(berth acquire --pid $$ NAME) && eval \"$found\" && echo \"$BERTH_LEASE\"\n"
        "With --json: one object with version, lease, socket, and resources, a list of objects "
        "with\n"
        "name, token, count, and units, a list of slots (numbers) or items (strings).\n"
        "\n"
        "The exit status is 0, or 64 usage, 69 berthd not reachable, or lease given back "
        "because\n"
        "it could not be printed or berthd cannot see PID, 75 not acquired, 77 not permitted,\n"
        "78 unknown or impossible.\n",
};

const struct grammar grammar_release = {
    .in = IN_RELEASE,
    .usage = "berth release LEASE | NAME [--holder ID | --item ITEM]",
    .summary = "Gives a lease back before its job has ended. It is not an error if the lease is\n"
               "already free. For a lock, NAME is enough; for anything else, say whose lease it\n"
               "is, or which unit.",
    .take_words = release_take_words,
    .more_help = "",
};

const struct grammar grammar_renew = {
    .in = IN_RENEW,
    .usage = "berth renew LEASE | NAME --holder ID [--ttl DURATION]",
    .summary =
        "Restarts the ttl of a lease; if it has none, checks whether the lease is held.",
    .take_words = renew_take_words,
    .more_help =
        "The exit status is 0, or 1 if the lease is lost, 64 usage, 69 berthd not reachable,\n"
        "77 not permitted, 78 unknown, or a ttl for a lease that has none.\n",
};
