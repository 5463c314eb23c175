/* echo.c - the least that a libuv server can do: it sends back what it gets. berthd's peer for
 * round trips and for the memory of a connection.
 *
 *     echo SOCKET READY-FD
 *
 * Ends on SIGTERM. */
#include "bench/bench.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

enum { BACKLOG = 4096 };

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char shared[64 * 1024];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(shared, sizeof shared);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    if (n > 0) {
        uv_buf_t answer = uv_buf_init(buffer->base, (unsigned)n);
        if (uv_try_write(stream, &answer, 1) != n) {
            bench_fail("the client does not read");
        }
    } else if (n < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
    }
}

static void on_connection(uv_stream_t *listening, int status)
{
    uv_pipe_t *pipe = calloc(1, sizeof *pipe);
    if (status < 0 || !pipe) {
        bench_fail("no connection");
    }
    uv_pipe_init(listening->loop, pipe, 0);
    if (uv_accept(listening, (uv_stream_t *)pipe) < 0) {
        bench_fail("uv_accept");
    }
    uv_read_start((uv_stream_t *)pipe, on_alloc, on_read);
}

int main(int argc, char **argv)
{
    static uv_pipe_t listening;
    if (argc != 3) {
        bench_fail("usage: echo SOCKET READY-FD");
    }
    signal(SIGPIPE, SIG_IGN);
    uv_pipe_init(uv_default_loop(), &listening, 0);
    if (uv_pipe_bind(&listening, argv[1]) < 0 ||
        uv_listen((uv_stream_t *)&listening, BACKLOG, on_connection) < 0) {
        bench_fail(argv[1]);
    }
    int ready_fd = (int)bench_number(argv[2]);
    bench_write(ready_fd, "ready\n", 6);
    close(ready_fd);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
