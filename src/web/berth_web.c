/* berth_web.c - berth-web: command line, start, run. */
#include "config.h"

#include "base/memory.h"
#include "log/log.h"
#include "service/daemon_options.h"
#include "service/manager.h"
#include "web/web_serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sysexits.h>

struct web_options {
    struct daemon_options common;
    const char *socket, *listen; /* NULL: not given */
};

#define TO(set, member) set, offsetof(struct web_options, member)

static const struct option_row rows[] = {
    {'c', 1, "config", "FILE", TO(option_set_text, common.conf_path),
        "the configuration; else " SYSCONFDIR "/berth/berth-web.conf, if it\nis there"},
    {'S', 1, "socket", "PATH", TO(option_set_text, socket),
        "the socket of berthd; \"user\" is that of your own"},
    {'l', 1, "listen", "WHERE", TO(option_set_text, listen),
        "an address of loopback with a port, or the path of a Unix socket;\n"
        "else " WEB_LISTEN_DEFAULT},
    {0, 1, "check", NULL, TO(option_set_true, common.check_only), "only check the configuration"},
    {0, 1, "ready-fd", "N", TO(option_set_fd, common.ready_fd),
        "write where it serves to descriptor N when browsers can connect"},
    {'v', 1, "verbose", NULL, TO(option_set_true, common.verbose), "log more"},
    {'h', 1, "help", NULL, TO(option_set_true, common.help), "this text"},
    {0, 1, "version", NULL, TO(option_set_true, common.version), "berth-web's version"},
    {0},
};

static const struct daemon_usage usage = {
    .head =
        "usage: berth-web [-c FILE] [-S PATH] [-l ADDRESS:PORT|PATH] [--check] [--ready-fd N] [-v]\n"
        "\n"
        "Shows what berthd shows, and what has ended, as a web page for this host.\n",
    .rows = rows,
    .more = "More: man berth-web\n",
};

static struct web_options parse_options(char **argv)
{
    struct web_options options = {.common.ready_fd = -1};
    daemon_options_read(&options.common, &usage, argv);
    const char *wrong = options.listen ? web_listener_explain(options.listen) : NULL;
    if (wrong) {
        fprintf(stderr, "berth-web: --listen %s: %s\n", options.listen, wrong);
        exit(EX_USAGE);
    }
    return options;
}

/* Each connection is a descriptor. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* False (logged). */
static bool listen_at(struct web_listener *listener, const struct web_options *options,
    const struct web_conf *conf)
{
    bool is_there;
    const char *where = options->listen ? options->listen : conf->listen;
    if (!web_listener_take(listener, &is_there)) {
        return false;
    }
    if (is_there) {
        if (where) {
            log_warning("listen = %s is ignored: the service manager has made %s", where,
                listener->name);
        }
        return true;
    }
    return web_listener_open(listener, where ? where : WEB_LISTEN_DEFAULT);
}

/* Returns the exit status. */
static int berth_web_run(const struct web_options *options, const struct web_conf *conf)
{
    static struct web_listener listener;
    struct endpoint endpoint;
    if (!endpoint_choose(&endpoint, options->socket ? options->socket : conf->socket)) {
        log_error("the path of berthd's socket is empty or too long");
        return EX_CONFIG;
    }
    bool is_serving = listen_at(&listener, options, conf) &&
        web_serve(conf, &endpoint, &listener, options->common.ready_fd);
    web_listener_close(&listener);
    return is_serving ? EXIT_SUCCESS : EX_UNAVAILABLE;
}

/* Returns the exit status. */
static int say_right(void)
{
    return puts("OK") >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    (void)argc;
    log_program = "berth-web";
    struct web_options options = parse_options(argv);
    daemon_options_log(&options.common);
    struct web_conf conf;
    web_conf_init(&conf);
    int status = EX_CONFIG;
    if (web_conf_read(&conf, options.common.conf_path)) {
        allow_many_files();
        status = options.common.check_only ? say_right() : berth_web_run(&options, &conf);
    }
    if (status != EXIT_SUCCESS && !options.common.check_only) {
        manager_not_started(log_last_error());
    }
    web_conf_deinit(&conf);
    return status;
}
