/* link_probe.c - a link to Redis and nothing else, for test_link.py: prints what the link reports,
 * does what stdin says, and leaves nothing open at the end of stdin.
 *
 *   link_probe unix=PATH | host=HOST:PORT ... [master=NAME] [user=] [password=] [password-file=]
 *              [sentinel-user=] [sentinel-password-file=] [db=] [cluster=yes]
 *              [prefix=] [timeout=MILLISECONDS]
 *              [acknowledge=] [client-name=]
 *              [tls=yes] [ca-file=] [cert-file=] [key-file=] [server-name=]
 *              [tls-min-version=1.2|1.3]
 *   stdin:   call SCRIPT TAG [ARG]...   reset   stop (itself, by SIGSTOP)   close
 *   stdout:  ready RUN_ID ADDRESS WARNING   lacks WORDS   down 0|1 WHY   message TEXT
 *            reply TAG REPLY   closed */
#include "base/memory.h"
#include "redis/link.h"
#include "wire/linebuf.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe {
    uv_loop_t loop;
    uv_pipe_t input;
    struct linebuf lines;
    struct database database;
    struct link_options options;
    struct link *link;
};

/* ---- what the link reports ---- */

static void print_reply(const struct resp *reply)
{
    static const char marks[] = {
        [RESP_NIL] = '_', [RESP_STATUS] = '+', [RESP_ERROR] = '-', [RESP_STRING] = '$'};
    if (reply->type == RESP_INTEGER) {
        printf("%lld", (long long)reply->integer);
    } else if (reply->type != RESP_ARRAY) {
        printf("%c%s", marks[reply->type], reply->text);
    } else {
        for (size_t i = 0; i < reply->n; i++) {
            fputs(i ? "," : "[", stdout);
            print_reply(&reply->elements[i]);
        }
        fputs(reply->n ? "]" : "[]", stdout);
    }
}

static void on_ready(void *context, const struct link_info *info)
{
    (void)context;
    printf("ready %s %s %s\n", info->run_id, info->address, info->warning);
    if (info->lacks[0]) {
        printf("lacks %s\n", info->lacks);
    }
    fflush(stdout);
}

static void on_reply(void *context, uint64_t tag, const struct resp *reply)
{
    (void)context;
    printf("reply %llu ", (unsigned long long)tag);
    print_reply(reply);
    putchar('\n');
    fflush(stdout);
}

static void on_message(void *context, const char *text, size_t length)
{
    (void)context;
    printf("message %.*s\n", (int)length, text);
    fflush(stdout);
}

static void on_down(void *context, const char *why, bool refused)
{
    (void)context;
    printf("down %d %s\n", refused, why);
    fflush(stdout);
}

static const struct link_events events = {on_ready, on_reply, on_message, on_down};

/* ---- what it is to do ---- */

static void run_call(struct probe *probe, size_t argc, char *argv[])
{
    size_t lengths[64];
    for (size_t i = 0; i < N_SCRIPTS && argc >= 3; i++) {
        if (strcmp(script_words[i], argv[1]) == 0) {
            for (size_t j = 3; j < argc; j++) {
                lengths[j - 3] = strlen(argv[j]);
            }
            link_call(probe->link,
                &(struct script_call){.script = (enum script)i,
                    .layout = script_sets[0].layout,
                    .argc = argc - 3,
                    .argv = (const char *const *)argv + 3,
                    .lengths = lengths,
                    .tag = strtoull(argv[2], NULL, 10)});
        }
    }
}

static void stop(struct probe *probe)
{
    if (probe->link) {
        link_close(probe->link);
        probe->link = NULL;
        uv_close((uv_handle_t *)&probe->input, NULL);
    }
}

static void run_line(struct probe *probe, char *line)
{
    char *argv[64], *rest = line;
    size_t argc = 0;
    while (argc < 64 && (argv[argc] = strsep(&rest, " "))) {
        argc++;
    }
    if (!probe->link) {
        return;
    } else if (strcmp(argv[0], "call") == 0) {
        run_call(probe, argc, argv);
    } else if (strcmp(argv[0], "reset") == 0) {
        link_fail(probe->link, "asked for");
    } else if (strcmp(argv[0], "stop") == 0) {
        raise(SIGSTOP);
    } else if (strcmp(argv[0], "close") == 0) {
        stop(probe);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[65536];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct probe *probe = container_of(stream, struct probe, input);
    char *line;
    size_t length;
    if (n < 0) {
        stop(probe);
        return;
    }
    linebuf_feed(&probe->lines, buffer->base, (size_t)n);
    while (linebuf_next(&probe->lines, &line, &length) == LINE_OK) {
        run_line(probe, line);
    }
    linebuf_keep(&probe->lines);
}

/* ---- beginning ---- */

static void take_host(struct redis_url *url, char *value)
{
    char *colon = strrchr(value, ':');
    *colon = '\0';
    url->hosts[url->n_hosts++] = (struct redis_host){value, (uint16_t)atoi(colon + 1)};
    if (url->scheme != REDIS_SENTINEL) {
        url->scheme = REDIS_TCP;
    }
}

static void acknowledge(struct database *database, const char *word)
{
    for (enum fault i = 0; i < N_FAULTS; i++) {
        database->acknowledged |= (fault_set)(strcmp(fault_words[i], word) == 0) << i;
    }
}

/* False: it is none of those. */
static bool take_tls_option(struct database *database, const char *key, char *value)
{
    const struct {
        const char *key;
        char **textp;
    } files[] = {
        {"ca-file", &database->ca_file},
        {"cert-file", &database->cert_file},
        {"key-file", &database->key_file},
        {"server-name", &database->server_name},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!strcmp(key, files[i].key)) {
            *files[i].textp = value;
            return true;
        }
    }
    if (!strcmp(key, "tls-min-version")) {
        database->tls_min_version = strcmp(value, "1.3") == 0 ? TLS_MIN_1_3 : TLS_MIN_1_2;
        return true;
    }
    database->url.is_tls = database->url.is_tls || !strcmp(key, "tls");
    return !strcmp(key, "tls");
}

static void take_option(struct probe *probe, char *option)
{
    struct redis_url *url = &probe->database.url;
    char *value = option, *key = strsep(&value, "=");
    if (take_tls_option(&probe->database, key, value)) {
        return;
    }
    if (!strcmp(key, "unix")) {
        url->scheme = REDIS_UNIX;
        url->path = value;
    } else if (!strcmp(key, "host")) {
        take_host(url, value);
    } else if (!strcmp(key, "master")) {
        url->scheme = REDIS_SENTINEL;
        url->master = value;
    } else if (!strcmp(key, "user")) {
        url->user = value;
    } else if (!strcmp(key, "password")) {
        url->password = value;
    } else if (!strcmp(key, "password-file")) {
        probe->database.password_file = value;
    } else if (!strcmp(key, "sentinel-user")) {
        probe->database.sentinel_user = value;
    } else if (!strcmp(key, "sentinel-password-file")) {
        probe->database.sentinel_password_file = value;
    } else if (!strcmp(key, "acknowledge")) {
        acknowledge(&probe->database, value);
    } else if (!strcmp(key, "client-name")) {
        probe->options.client_name = value;
    } else if (!strcmp(key, "db")) {
        url->db = (uint32_t)atoi(value);
    } else if (!strcmp(key, "cluster")) {
        probe->database.is_cluster = !strcmp(value, "yes");
    } else if (!strcmp(key, "prefix")) {
        probe->database.prefix = value;
    } else if (!strcmp(key, "timeout")) {
        probe->options.timeout = atoi(value) * INT64_C(1000000);
    } else {
        abort();
    }
}

int main(int argc, char *argv[])
{
    struct probe probe = {
        .database = {.name = "default", .prefix = "berth"},
        .options = {.session = "0123456789abcdef", .timeout = 10 * NANOSECONDS_PER_SECOND},
    };
    for (int i = 1; i < argc; i++) {
        take_option(&probe, argv[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    probe.options.database = &probe.database;
    uv_loop_init(&probe.loop);
    uv_pipe_init(&probe.loop, &probe.input, 0);
    uv_pipe_open(&probe.input, 0);
    uv_read_start((uv_stream_t *)&probe.input, on_alloc, on_input);
    probe.link = link_new(&probe.loop, &probe.options, &events, &probe);
    uv_run(&probe.loop, UV_RUN_DEFAULT);
    linebuf_deinit(&probe.lines);
    if (uv_loop_close(&probe.loop) != 0) {
        abort();
    }
    puts("closed");
    return 0;
}
