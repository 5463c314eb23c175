#include "command/named_database.h"

#include "admission/server.h"
#include "record/fleet_names.h"
#include "status/answer_lines.h"

static void answer_which(struct call *call, enum code code, const char *what)
{
    struct text why = TEXT_INIT;
    text_add(&why, what);
    for (size_t i = 1; i <= call->server->databases.n; i++) {
        text_add(&why, i == 1 ? ": " : ", ");
        text_add(&why, fleet_name_of(&call->server->databases, (uint8_t)i));
    }
    answer_error_saying(call->out, code, why.bytes);
    text_deinit(&why);
}

uint8_t named_database(struct call *call, uint8_t usual)
{
    const char *word = call->request->keys[KEY_INDEX_database];
    uint8_t database = word ? fleet_find(&call->server->databases, word) : 0;
    size_t n = call->server->databases.n;
    if (n == 0) {
        answer_error_saying(
            call->out, CODE_UNKNOWN, "this host's configuration has no [redis] section");
    } else if (word && database == 0) {
        answer_which(call, CODE_UNKNOWN, "the file of this host has no such database; it has");
    } else if (!word && usual != 0) {
        database = usual;
    } else if (!word && n == 1) {
        database = 1;
    } else if (!word) {
        answer_which(call, CODE_BAD_VALUE, "say which database");
    }
    return database;
}
