/* main.c - berthd: command line, start, run, tear down. */
#include "config.h"

#include "base/clock.h"
#include "base/memory.h"
#include "conf/conf.h"
#include "daemon/serve.h"
#include "database/connect_check.h"
#include "log/log.h"
#include "service/daemon_options.h"
#include "service/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct options {
    struct daemon_options common;
    bool connects;
};

#define TO(set, member) set, offsetof(struct options, member)

static const struct option_row rows[] = {
    {'c', 1, "config", "FILE", TO(option_set_text, common.conf_path),
        "the configuration; else " SYSCONFDIR "/berth/berth.conf, or for an\n"
        "ordinary user $XDG_CONFIG_HOME/berth/berth.conf"},
    {0, 1, "check", NULL, TO(option_set_true, common.check_only),
        "only check the configuration, and exit"},
    {0, 1, "connect", NULL, TO(option_set_true, connects),
        "with --check: try each database of the file as well"},
    DAEMON_OPTION_ROWS("berthd", "write a line to descriptor N when clients can connect"),
};

static const struct daemon_usage usage = {
    .head =
        "usage: berthd [-c FILE] [--check [--connect]] [--ready-fd N] [-v]\n"
        "\n"
        "Grants local jobs leases on the semaphores, locks and pools that its configuration defines.\n",
    .rows = rows,
    .more = "More: man berthd, man berth.conf\n",
};

static struct options parse_options(char **argv)
{
    struct options options = {.common.ready_fd = -1};
    daemon_options_read(&options.common, &usage, argv);
    if (options.connects && !options.common.check_only) {
        daemon_options_refuse(&usage, "--connect needs --check");
    }
    return options;
}

/* The caller frees it. */
static char *default_conf_path(void)
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    struct text path = TEXT_INIT;
    if (geteuid() == 0 || (!base && !home)) {
        text_add(&path, SYSCONFDIR "/berth/berth.conf");
    } else if (base && base[0] == '/') {
        text_add_format(&path, "%s/berth/berth.conf", base);
    } else {
        text_add_format(&path, "%s/.config/berth/berth.conf", home);
    }
    return text_take(&path);
}

/* An ordinary user's daemon with the user's own file cannot listen where the host's does. The
 * caller frees the path. */
static char *socket_path(const struct options *options, const struct conf *conf)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool own_file = !options->common.conf_path && geteuid() != 0;
    struct text path = TEXT_INIT;
    if (!own_file || strcmp(conf->socket, CONF_DEFAULT_SOCKET) != 0) {
        return memory_string(conf->socket);
    }
    if (runtime && runtime[0] == '/') {
        text_add_format(&path, "%s/berth/berth.sock", runtime);
    } else {
        text_add_format(&path, "/run/user/%u/berth/berth.sock", (unsigned)geteuid());
    }
    return text_take(&path);
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
    const char *chosen = options->common.conf_path;
    char *path = chosen ? memory_string(chosen) : default_conf_path();
    nanoseconds began = clock_now();
    struct conf *conf = conf_load(path, NULL, NULL, &errors);
    say_if_slow(began);
    for (size_t i = 0; i < errors.n; i++) {
        log_error("%s", errors.messages[i]);
    }
    if (errors.n > 0 && !options->common.check_only) {
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
    if (!inherited_take(inherited)) {
        return false;
    }
    if (inherited->fd >= 0 && inherited->fd == options->common.ready_fd) {
        log_error(
            "--ready-fd %d: that is the socket passed by the service manager", inherited->fd);
        return false;
    }
    if (inherited->fd >= 0) {
        inherited_say_ignored(inherited, conf);
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
        serve_run(&serving, options->common.ready_fd);
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
    (void)argc;
    struct options options = parse_options(argv);
    daemon_options_log(&options.common);
    struct conf *conf = load(&options);
    if (!conf) {
        return EX_CONFIG;
    }
    if (options.common.check_only) {
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
        options.common.ready_fd = -1;
    } while (conf);
    return has_served ? EXIT_SUCCESS : EX_UNAVAILABLE;
}
