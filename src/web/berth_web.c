/* berth_web.c - berth-web: command line, start, run. */
#include "config.h"

#include "base/memory.h"
#include "base/words.h"
#include "log/log.h"
#include "service/manager.h"
#include "web/web_serve.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sysexits.h>

struct web_options {
    const char *conf_path, *socket, *listen; /* NULL: not given */
    int ready_fd; /* -1: none */
    bool check_only, verbose;
};

static const char usage[] =
    "usage: berth-web [-c FILE] [-S PATH] [-l ADDRESS:PORT|PATH] [--check] [--ready-fd N] [-v]\n"
    "\n"
    "Shows what berthd shows, and what has ended, as a web page for this host.\n"
    "\n"
    "  -c, --config FILE   the configuration; else " SYSCONFDIR "/berth/berth-web.conf, if it\n"
    "                      is there\n"
    "  -S, --socket PATH   the socket of berthd; \"user\" is that of your own\n"
    "  -l, --listen WHERE  an address of loopback with a port, or the path of a Unix socket;\n"
    "                      else " WEB_LISTEN_DEFAULT "\n"
    "      --check         only check the configuration\n"
    "      --ready-fd N    write where it serves to descriptor N when browsers can connect\n"
    "  -v, --verbose       log more\n"
    "  -h, --help\n"
    "      --version\n"
    "\n"
    "More: man berth-web\n";

enum { WEB_OPTION_CHECK = 256, WEB_OPTION_READY_FD, WEB_OPTION_VERSION };

static const struct option long_options[] = {
    {"check", no_argument, NULL, WEB_OPTION_CHECK},
    {"config", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {"listen", required_argument, NULL, 'l'},
    {"ready-fd", required_argument, NULL, WEB_OPTION_READY_FD},
    {"socket", required_argument, NULL, 'S'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, WEB_OPTION_VERSION},
    {0},
};

static void exit_with_usage(void)
{
    fputs(usage, stderr);
    exit(EX_USAGE);
}

static void check_listen(const char *where)
{
    const char *wrong = web_listener_explain(where);
    if (wrong) {
        fprintf(stderr, "berth-web: --listen %s: %s\n", where, wrong);
        exit(EX_USAGE);
    }
}

static void take_option(struct web_options *options, int option)
{
    uint64_t fd;
    switch (option) {
    case 'c':
        options->conf_path = optarg;
        break;
    case 'S':
        options->socket = optarg;
        break;
    case 'l':
        options->listen = optarg;
        check_listen(optarg);
        break;
    case 'v':
        options->verbose = true;
        break;
    case WEB_OPTION_CHECK:
        options->check_only = true;
        break;
    case WEB_OPTION_READY_FD:
        if (!number_parse(optarg, INT32_MAX, &fd)) {
            exit_with_usage();
        }
        options->ready_fd = (int)fd;
        break;
    case WEB_OPTION_VERSION:
        puts("berth-web " PACKAGE_VERSION);
        exit(EXIT_SUCCESS);
    case 'h':
        fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        exit_with_usage();
    }
}

static struct web_options parse_options(int argc, char **argv)
{
    struct web_options options = {.ready_fd = -1};
    int option;
    while ((option = getopt_long(argc, argv, "c:hl:S:v", long_options, NULL)) != -1) {
        take_option(&options, option);
    }
    if (optind != argc) {
        fprintf(stderr, "berth-web: unexpected argument: %s\n", argv[optind]);
        exit_with_usage();
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
        web_serve(conf, &endpoint, &listener, options->ready_fd);
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
    log_program = "berth-web";
    struct web_options options = parse_options(argc, argv);
    if (log_init(options.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, !options.check_only)) {
        log_divert(manager_log);
    }
    struct web_conf conf;
    web_conf_init(&conf);
    int status = EX_CONFIG;
    if (web_conf_read(&conf, options.conf_path)) {
        allow_many_files();
        status = options.check_only ? say_right() : berth_web_run(&options, &conf);
    }
    if (status != EXIT_SUCCESS && !options.check_only) {
        manager_not_started(log_last_error());
    }
    web_conf_deinit(&conf);
    return status;
}
