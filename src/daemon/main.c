/* main.c - berthd: command line, start, run, tear down. */
#include "config.h"

#include "admission/activation.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "conf/conf.h"
#include "daemon/serve.h"
#include "database/connect_check.h"
#include "log/log.h"
#include "service/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct options {
    const char *conf_path; /* NULL: the default */
    int ready_fd; /* -1: none */
    bool check_only, connects;
    bool verbose;
};

static const char usage[] =
    "usage: berthd [-c FILE] [--check [--connect]] [--ready-fd N] [-v]\n"
    "\n"
    "Grants local jobs leases on the semaphores, locks and pools that its configuration defines.\n"
    "\n"
    "  -c, --config FILE   the configuration; else " SYSCONFDIR "/berth/berth.conf, or for an\n"
    "                      ordinary user $XDG_CONFIG_HOME/berth/berth.conf\n"
    "      --check         only check the configuration, and exit\n"
    "      --connect       with --check: try each database of the file as well\n"
    "      --ready-fd N    write a line to descriptor N when clients can connect\n"
    "  -v, --verbose       log more\n"
    "  -h, --help\n"
    "      --version\n"
    "\n"
    "More: man berthd, man berth.conf\n";

enum { OPTION_CHECK = 256, OPTION_CONNECT, OPTION_READY_FD, OPTION_VERSION };

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"connect", no_argument, NULL, OPTION_CONNECT},
    {"ready-fd", required_argument, NULL, OPTION_READY_FD},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void exit_with_usage(void)
{
    fputs(usage, stderr);
    exit(EX_USAGE);
}

static int parse_fd(const char *text)
{
    uint64_t fd;
    if (!number_parse(text, INT32_MAX, &fd)) {
        exit_with_usage();
    }
    return (int)fd;
}

static struct options parse_options(int argc, char **argv)
{
    struct options options = {.ready_fd = -1};
    int option;
    while ((option = getopt_long(argc, argv, "c:hv", long_options, NULL)) != -1) {
        switch (option) {
        case 'c':
            options.conf_path = optarg;
            break;
        case 'v':
            options.verbose = true;
            break;
        case OPTION_CHECK:
            options.check_only = true;
            break;
        case OPTION_CONNECT:
            options.connects = true;
            break;
        case OPTION_READY_FD:
            options.ready_fd = parse_fd(optarg);
            break;
        case OPTION_VERSION:
            puts("berthd " PACKAGE_VERSION);
            exit(EXIT_SUCCESS);
        case 'h':
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        default:
            exit_with_usage();
        }
    }
    if (optind != argc) {
        fprintf(stderr, "berthd: unexpected argument: %s\n", argv[optind]);
        exit_with_usage();
    }
    if (options.connects && !options.check_only) {
        fputs("berthd: --connect needs --check\n", stderr);
        exit_with_usage();
    }
    return options;
}

/* The caller frees it. */
static char *default_conf_path(void)
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int n;
    if (geteuid() == 0 || (!base && !home)) {
        n = asprintf(&path, SYSCONFDIR "/berth/berth.conf");
    } else if (base && base[0] == '/') {
        n = asprintf(&path, "%s/berth/berth.conf", base);
    } else {
        n = asprintf(&path, "%s/.config/berth/berth.conf", home);
    }
    if (n < 0) {
        abort();
    }
    return path;
}

/* An ordinary user's daemon with the user's own file cannot listen where the host's does. The
 * caller frees the path. */
static char *socket_path(const struct options *options, const struct conf *conf)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool own_file = !options->conf_path && geteuid() != 0;
    char *path;
    if (!own_file || strcmp(conf->socket, CONF_DEFAULT_SOCKET) != 0) {
        return memory_string(conf->socket);
    }
    int n = runtime && runtime[0] == '/'
        ? asprintf(&path, "%s/berth/berth.sock", runtime)
        : asprintf(&path, "/run/user/%u/berth/berth.sock", (unsigned)geteuid());
    if (n < 0) {
        abort();
    }
    return path;
}

/* The start waits for name services: without this, the log would not say why it takes long. */
static void say_if_slow(nanoseconds began)
{
    nanoseconds took = clock_now() - began;
    if (took >= NANOSECONDS_PER_SECOND) {
        log_warning(
            "reading the configuration took %.1f s; names of users and groups are looked up",
            (double)took / (double)NANOSECONDS_PER_SECOND);
    }
}

/* NULL, after reporting every error. */
static struct conf *load(const struct options *options)
{
    struct conf_errors errors = CONF_ERRORS_INIT;
    char *path = options->conf_path ? memory_string(options->conf_path) : default_conf_path();
    nanoseconds began = clock_now();
    struct conf *conf = conf_load(path, NULL, NULL, &errors);
    say_if_slow(began);
    for (size_t i = 0; i < errors.n; i++) {
        log_error("%s", errors.messages[i]);
    }
    if (errors.n > 0 && !options->check_only) {
        manager_not_started(errors.messages[0]);
    }
    conf_errors_deinit(&errors);
    free(path);
    return conf;
}

/* False (logged) if there is one that must not be served. */
static bool take_socket(
    struct inherited *inherited, const struct options *options, const struct conf *conf)
{
    if (!activation_take(inherited)) {
        return false;
    }
    if (inherited->fd >= 0 && inherited->fd == options->ready_fd) {
        log_error(
            "--ready-fd %d: that is the socket passed by the service manager", options->ready_fd);
        return false;
    }
    if (inherited->fd >= 0) {
        activation_say_ignored(inherited, conf);
    }
    return true;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* False: it cannot be written. */
static bool say_right(const struct conf *conf)
{
    printf("OK: %zu resource%s", conf->n_definitions, plural(conf->n_definitions));
    if (conf->n_databases > 0) {
        printf(", %zu database%s", conf->n_databases, plural(conf->n_databases));
    }
    printf("\n");
    return fflush(stdout) == 0;
}

/* Returns the exit status. */
static int check(const struct conf *conf, bool connects)
{
    int exit_status = say_right(conf) ? EXIT_SUCCESS : EXIT_FAILURE;
    return exit_status == EXIT_SUCCESS && connects ? connect_check(conf, stdout) : exit_status;
}

/* Takes the configuration over, and leaves the inherited socket to the next run. False: berthd
 * cannot serve. If the run is to begin again, *confp is what it begins with; else NULL. */
static bool main_run(
    struct conf **confp, const struct options *options, const struct inherited *inherited)
{
    static struct serving serving;
    struct inherited own = *inherited;
    own.fd = own.fd < 0 ? -1 : fcntl(inherited->fd, F_DUPFD_CLOEXEC, 0);
    if (own.fd < 0 && inherited->fd >= 0) {
        log_error("cannot start: %s", strerror(errno));
        *confp = conf_free(*confp);
        return false;
    }
    char *socket = socket_path(options, *confp);
    bool is_serving = serve_init(&serving, *confp, &own, socket);
    if (is_serving) {
        serve_run(&serving, options->ready_fd);
    } else {
        manager_not_started(log_last_error());
    }
    serve_deinit(&serving);
    free(socket);
    *confp = serving.begins_again ? serving.server.conf : NULL;
    return is_serving;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    if (log_init(options.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, !options.check_only)) {
        log_divert(manager_log);
    }
    struct conf *conf = load(&options);
    if (!conf) {
        return EX_CONFIG;
    }
    if (options.check_only) {
        int exit_status = check(conf, options.connects);
        conf_free(conf);
        return exit_status;
    }
    struct inherited inherited;
    if (!take_socket(&inherited, &options, conf)) {
        manager_not_started(log_last_error());
        conf_free(conf);
        return EX_CONFIG;
    }
    bool has_served;
    do {
        has_served = main_run(&conf, &options, &inherited);
        options.ready_fd = -1;
    } while (conf);
    return has_served ? EXIT_SUCCESS : EX_UNAVAILABLE;
}
