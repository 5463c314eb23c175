#include "redis/tls_load.h"

#include "base/memory.h"
#include "conf/redis_url.h"
#include "redis/one_line.h"

#include <assert.h>
#include <stdlib.h>

struct tls_load {
    uv_work_t work;
    struct database files; /* copies: a reload may change the database meanwhile */
    tls_load_done *done;
    void *context;
    bool is_over;
    struct tls_context *tls;
    char why[ONE_LINE_BYTES];
};

static size_t n_reading;

static void tls_load_on_work(uv_work_t *work)
{
    struct tls_load *load = container_of(work, struct tls_load, work);
    load->tls = tls_context_new(&load->files, load->why, sizeof load->why);
}

static void on_read(uv_work_t *work, int status)
{
    struct tls_load *load = container_of(work, struct tls_load, work);
    (void)status; /* cancelled: the load is over */
    n_reading--;
    if (load->is_over) {
        tls_context_unref(load->tls);
    } else {
        load->done(load->context, load->tls, load->tls ? NULL : load->why);
    }
    free(load->files.ca_file);
    free(load->files.cert_file);
    free(load->files.key_file);
    free(load->files.server_name);
    free(load);
}

struct tls_load *tls_load_begin(
    uv_loop_t *loop, const struct database *database, tls_load_done *done, void *context)
{
    struct tls_load *load = memory_new(sizeof *load);
    load->files = (struct database){
        .ca_file = memory_string(database->ca_file),
        .cert_file = memory_string(database->cert_file),
        .key_file = memory_string(database->key_file),
        .server_name = memory_string(database->server_name),
        .tls_min_version = database->tls_min_version,
    };
    load->done = done;
    load->context = context;
    n_reading++;
    int error = uv_queue_work(loop, &load->work, tls_load_on_work, on_read);
    assert(error == 0);
    (void)error;
    return load;
}

struct tls_load *tls_load_cancel(struct tls_load *load)
{
    if (load) {
        load->is_over = true;
        uv_cancel((uv_req_t *)&load->work);
    }
    return NULL;
}

size_t tls_load_n_reading(void)
{
    return n_reading;
}
