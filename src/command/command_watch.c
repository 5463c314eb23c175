/* command_watch.c - the request that follows what is held and waited for. */
#include "admission/followers.h"
#include "admission/server.h"
#include "conn/command_call.h"
#include "conn/conn.h"

#include <string.h>

void command_watch(struct call *call)
{
    const char *ended = call->request->keys[KEY_INDEX_ended];
    bool wants_ended = ended && strcmp(ended, "1") == 0;
    if (ended && !wants_ended && strcmp(ended, "0") != 0) {
        call_refuse(call, CODE_BAD_VALUE, "ended");
        return;
    }
    struct conn *conn = call->conn;
    conn->followed = followers_enter(&call->server->followers, conn, wants_ended);
    if (follower_has_news(&conn->followed->follower)) { /* else a database is asked first */
        conn_begin_long(conn, &conn->followed->follower.answer);
    }
}
