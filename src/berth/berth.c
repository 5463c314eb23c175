/* berth.c - the program `berth`: finds the subcommand. */
#include "config.h"

#include "base/closest_match.h"
#include "berth/options.h"
#include "berth/subcommands.h"
#include "client/descriptors.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "wire/protocol.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *word;
    const struct grammar *grammar;
    int (*run)(const struct options *options);
} commands[] = {
    {"run", &grammar_run, command_run},
    {"acquire", &grammar_acquire, command_acquire},
    {"renew", &grammar_renew, command_renew},
    {"release", &grammar_release, command_release},
};

enum { N_COMMANDS_HERE = sizeof commands / sizeof commands[0] };

static int print_help(void)
{
    printf(
        "Usage:\n"
        "  berth run [OPTION]... NAME[:COUNT]... -- COMMAND [ARG]...\n"
        "  berth acquire [OPTION]... --pid PID | --ttl DURATION NAME[:COUNT]...\n"
        "  berth renew LEASE | NAME --holder ID [--ttl DURATION]\n"
        "  berth release LEASE | NAME [--holder ID | --item ITEM]\n"
        "  berth help [COMMAND]\n"
        "\n"
        "Runs a job under a lease from berthd, or takes a lease for another process. Every command\n"
        "has a --help.\n"
        "berthctl status shows what is held and waited for. More: man berth\n");
    return 0;
}

static int print_version(void)
{
    printf("berth %s\n", PACKAGE_VERSION);
    return 0;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    static struct options options;
    if (!options_parse(&options, command->grammar, argc, argv)) {
        return STATUS_USAGE;
    }
    if (options.help) {
        options_print_help(command->grammar);
        return 0;
    }
    return command->run(&options);
}

/* berthctl shows and changes what berth uses. */
static bool is_of_operators(const char *word)
{
    static const enum command_index of_everybody[] = {COMMAND_status, COMMAND_wait, COMMAND_why,
        COMMAND_history, COMMAND_hosts, COMMAND_watch, COMMAND_revoke, COMMAND_drop,
        COMMAND_metrics};
    bool is_found = false;
    for (size_t i = 0; i < sizeof of_everybody / sizeof of_everybody[0]; i++) {
        is_found = is_found || strcmp(word, command_table[of_everybody[i]].word) == 0;
    }
    for (size_t i = 0; i < N_COMMANDS && !is_found; i++) {
        enum right right = command_table[i].right;
        is_found = (right == RIGHT_RESOURCE_ADMIN || right == RIGHT_DAEMON_ADMIN) &&
            strcmp(word, command_table[i].word) == 0;
    }
    return is_found;
}

static int refuse_command(const char *word)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    for (size_t i = 0; i < N_COMMANDS_HERE; i++) {
        closest_match_try(&nearest, commands[i].word);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (is_of_operators(command_table[i].word)) {
            closest_match_try(&nearest, command_table[i].word);
        }
    }
    if (nearest.best) {
        message("no such command: %s; did you mean %s %s?", word,
            is_of_operators(nearest.best) ? "berthctl" : "berth", nearest.best);
    } else {
        message("no such command: %s; see berth --help", word);
    }
    return STATUS_USAGE;
}

/* `word` is a subcommand, or NULL. */
static int help(const char *word)
{
    for (size_t i = 0; word && i < N_COMMANDS_HERE; i++) {
        if (strcmp(word, commands[i].word) == 0) {
            options_print_help(commands[i].grammar);
            return 0;
        }
    }
    return word ? refuse_command(word) : print_help();
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    stdio_fill_closed();
    if (strcmp(word, "help") == 0) {
        return help(argc > 2 ? argv[2] : NULL);
    }
    for (size_t i = 0; i < N_COMMANDS_HERE; i++) {
        if (strcmp(word, commands[i].word) == 0) {
            return run_command(&commands[i], argc - 1, argv + 1);
        }
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return print_help();
    }
    if (strcmp(word, "--version") == 0) {
        return print_version();
    }
    if (argc > 1) {
        return refuse_command(word);
    }
    message("no command; see berth --help");
    return STATUS_USAGE;
}
