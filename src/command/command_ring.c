/* command_ring.c - what a program needs that keeps the history for longer: `ring`, the file of past
 * leases and waits. */
#include "admission/server.h"
#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "record/history.h"
#include "status/answer_lines.h"

#include <inttypes.h>

void command_ring(struct call *call)
{
    const struct history_ring *ring = &call->server->history->ring;
    int fd = history_ring_reader_fd(ring);
    if (fd < 0) {
        answer_error_saying(call->out, CODE_UNKNOWN, "there is no history that others can read");
        return;
    }
    text_add_format(call->out, "ok ring=%016" PRIx64, ring->id);
    text_add_number_key(call->out, "layout", HISTORY_LAYOUT);
    text_add_number_key(call->out, "size", HISTORY_HEAD_BYTES + ring->size);
    text_add(call->out, "\n");
    conn_pass_descriptor(call->conn, fd);
}
