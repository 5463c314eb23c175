/* flood_user.c - one hostile user: as many connections and waiters as the bounds allow, and
 * requests without end.
 *
 *     flood_user SOCKET UID KIND CONNECTIONS WAITERS
 *
 * KIND is a word of the table below. Prints "flooding" once it has begun, and goes on until it is
 * killed. */
#include "bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME "theirs"

enum { BLOCK_BYTES = 32 * 1024 };

struct flooder {
    const char *socket;
    unsigned n, n_waiters;
    int *fds;
    size_t *sent; /* of the block, by each connection */
    char block[BLOCK_BYTES];
    size_t length;
    bool is_deaf;
};

static void notify(void)
{
    if (write(STDOUT_FILENO, "flooding\n", 9) != 9) {
        bench_fail_errno("write");
    }
}

/* ---- over many connections ---- */

static void flooder_connect(struct flooder *flooder)
{
    static const char line[] = "acquire " NAME "\n"; /* the first connection holds it */
    for (unsigned i = 0; i < flooder->n; i++) {
        flooder->fds[i] = bench_connect(flooder->socket);
        if (i <= flooder->n_waiters) {
            bench_write(flooder->fds[i], line, sizeof line - 1);
        }
    }
}

/* Sends as much as it can without waiting. */
static void send_some(struct flooder *flooder, unsigned i)
{
    size_t *sentp = &flooder->sent[i];
    ssize_t n;
    do {
        n = send(flooder->fds[i], flooder->block + *sentp, flooder->length - *sentp,
            MSG_DONTWAIT | MSG_NOSIGNAL);
        *sentp = n > 0 ? (*sentp + (size_t)n) % flooder->length : *sentp;
    } while (n > 0 && *sentp == 0 && flooder->length == BLOCK_BYTES);
    if (n < 0 && errno != EAGAIN) { /* berthd has closed the connection */
        close(flooder->fds[i]);
        flooder->fds[i] = bench_connect(flooder->socket);
        *sentp = 0;
    }
}

static void flood_requests(struct flooder *flooder)
{
    static char answers[64 * 1024];
    flooder_connect(flooder);
    for (unsigned round = 0;; round++) {
        for (unsigned i = 0; i < flooder->n; i++) {
            send_some(flooder, i);
            while (!flooder->is_deaf &&
                recv(flooder->fds[i], answers, sizeof answers, MSG_DONTWAIT) > 0) {
            }
        }
        if (round == 0) {
            notify();
        }
    }
}

static void set_lines(struct flooder *flooder, const char *lines)
{
    size_t n = strlen(lines);
    flooder->length = BLOCK_BYTES / n * n;
    for (size_t at = 0; at < flooder->length; at += n) {
        memcpy(flooder->block + at, lines, n);
    }
}

/* ---- kinds ---- */

static void spin(struct flooder *flooder, const char *lines)
{
    (void)flooder, (void)lines;
    notify();
    for (volatile unsigned n = 0;; n++) {
    }
}

static void flood(struct flooder *flooder, const char *lines)
{
    set_lines(flooder, lines);
    flood_requests(flooder);
}

static void flood_deaf(struct flooder *flooder, const char *lines)
{
    flooder->is_deaf = true;
    flood(flooder, lines);
}

/* A byte at a time. */
static void drip(struct flooder *flooder, const char *lines)
{
    flooder->block[0] = lines[0];
    flooder->length = 1;
    flood_requests(flooder);
}

static void come_and_go(struct flooder *flooder, const char *lines)
{
    for (unsigned n = 0;; n++) {
        int fd = bench_connect(flooder->socket);
        (void)!send(fd, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL);
        close(fd);
        if (n == flooder->n) {
            notify();
        }
    }
}

static const struct kind {
    const char *word;
    void (*run)(struct flooder *flooder, const char *lines);
    const char *lines;
} kinds[] = {
    {"spin", spin, ""}, /* leaves berthd alone */
    {"ping", flood, "ping\n"},
    {"status", flood, "status\n"},
    {"deaf", flood_deaf, "status\n"}, /* reads no answer */
    {"cancel", flood, "acquire " NAME " once=a\ncancel once=a\n"},
    {"nonsense", flood, "\x01 = %zz nonsense=nonsense\n"},
    {"drip", drip, "x"},
    {"connect", come_and_go, ""},
    {"last-words", come_and_go, "acquire " NAME "\n"},
};

static const struct kind *kind_find(const char *word)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].word, word) == 0) {
            return &kinds[i];
        }
    }
    bench_fail("no such kind of flood");
}

int main(int argc, char **argv)
{
    static struct flooder flooder;
    if (argc != 6) {
        bench_fail("usage: flood_user SOCKET UID KIND CONNECTIONS WAITERS");
    }
    const struct kind *kind = kind_find(argv[3]);
    flooder.socket = argv[1];
    flooder.n = bench_number(argv[4]);
    flooder.n_waiters = bench_number(argv[5]);
    flooder.fds = calloc(flooder.n, sizeof flooder.fds[0]);
    flooder.sent = calloc(flooder.n, sizeof flooder.sent[0]);
    if (!flooder.fds || !flooder.sent) {
        bench_fail("out of memory");
    }
    struct rlimit files = {flooder.n + 64, flooder.n + 64};
    if (setrlimit(RLIMIT_NOFILE, &files) < 0) {
        bench_fail_errno("setrlimit");
    }
    bench_become(bench_number(argv[2]));
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed parent cannot end us */
    kind->run(&flooder, kind->lines);
    return 0;
}
