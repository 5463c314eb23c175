/* command_info.c - requests that only look: hello, ping, version. */
#include "config.h"

#include "admission/server.h"
#include "base/history_socket.h"
#include "base/memory.h"
#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "status/answer_lines.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where past leases are kept for longer, by somebody to be trusted as much as we are. */
static void add_history(const struct server *server, struct text *out)
{
    char path[PATH_MAX];
    struct stat status;
    if (path_of_history_socket(server->listener.path, path, sizeof path) &&
        lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        (status.st_uid == 0 || status.st_uid == geteuid())) {
        text_add_key(out, "history", path);
    }
}

void command_hello(struct call *call)
{
    const char *proto = call->request->keys[KEY_INDEX_proto];
    const char *program = call->request->keys[KEY_INDEX_program];
    uint64_t version;
    if (proto && (!number_parse(proto, UINT32_MAX, &version) || version != PROTOCOL_VERSION)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "this daemon speaks proto=1");
        return;
    }
    if (program) {
        free(call->conn->program);
        call->conn->program = memory_string(program);
    }
    text_add(call->out, "ok");
    text_add_number_key(call->out, "proto", PROTOCOL_VERSION);
    text_add_key(call->out, "version", PACKAGE_VERSION);
    text_add_number_key(call->out, "pid", (uint64_t)getpid());
    add_history(call->server, call->out);
    text_add(call->out, "\n");
}

void command_ping(struct call *call)
{
    call_ok(call);
}

void command_version(struct call *call)
{
    text_add(call->out, "ok");
    text_add_key(call->out, "version", PACKAGE_VERSION);
    text_add_number_key(call->out, "proto", PROTOCOL_VERSION);
    text_add_number_key(call->out, "pid", (uint64_t)getpid());
    text_add_number_key(
        call->out, "uptime", (uint64_t)(call->now - call->server->started_at) / 1000000);
    text_add(call->out, "\n");
}
