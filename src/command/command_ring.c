/* command_ring.c - what a program needs that keeps the history for longer: `ring`, the file of past
 * leases and waits; `sees`, what a user may see of them. */
#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "record/history.h"
#include "status/answer_lines.h"
#include "status/long_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- sees ---- */

struct sees_answer {
    struct long_answer answer;
    struct server *server;
    struct credentials who;
    gid_t *gids; /* of .who; owned */
};

static bool may_see(const struct sees_answer *sees, const struct rights *rights)
{
    return rights_see(&sees->who, &sees->server->admins, rights);
}

/* False: that line says all. */
static bool add_head(const struct sees_answer *sees, struct text *out)
{
    static const struct rights none;
    bool sees_all = may_see(sees, &none);
    text_add(out, "ok");
    text_add_number_key(out, "all", sees_all);
    text_add(out, "\n");
    return !sees_all;
}

/* One that is as if it did not exist has no line, unless a template would be taken for it. */
static void add_definition(
    const struct sees_answer *sees, const struct definition *definition, struct text *out)
{
    char above[NAME_BYTES + 1];
    bool sees_it = may_see(sees, &definition->rights);
    bool is_below_one = template_name_above(definition->name, above) &&
        core_find_definition(sees->server->core, above);
    if (definition->shows_to_owner_only || sees_it || is_below_one) {
        text_add(out, "definition ");
        text_add(out, definition->name);
        text_add_number_key(out, "hides", definition->shows_to_owner_only);
        text_add_number_key(out, "sees", sees_it);
        text_add(out, "\n");
    }
}

static bool command_sees_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct sees_answer *sees = container_of(answer, struct sees_answer, answer);
    (void)enough; /* one piece: a reload between two could hide a definition from both */
    bool has_more = add_head(sees, out);
    for (size_t i = 0; has_more && i < moment->n_definitions; i++) {
        add_definition(sees, &moment->definitions[i], out);
    }
    return false;
}

static void free_answer(struct long_answer *answer)
{
    struct sees_answer *sees = container_of(answer, struct sees_answer, answer);
    free(sees->gids);
    free(sees);
}

static const struct long_answer_kind sees_kind = {
    .more = command_sees_make_piece, .free = free_answer};

/* "G,G,...". False: it is none. */
static bool read_groups(const char *text, struct sees_answer *sees)
{
    char *copy = memory_string(text), *next = copy;
    bool is_good = true;
    for (char *word; is_good && (word = strsep(&next, ",")) != NULL;) {
        uint64_t gid = 0;
        is_good = number_parse(word, UINT32_MAX, &gid);
        sees->gids = memory_grow(sees->gids, sees->who.n_gids, sizeof *sees->gids);
        sees->gids[sees->who.n_gids++] = (gid_t)gid;
    }
    sees->who.gids = sees->gids;
    free(copy);
    return is_good;
}

void command_sees(struct call *call)
{
    const char *user = call->request->keys[KEY_INDEX_user];
    const char *groups = call->request->keys[KEY_INDEX_groups];
    uint64_t uid = 0;
    struct sees_answer *sees = memory_new(sizeof *sees);
    *sees = (struct sees_answer){.answer = {.kind = &sees_kind}, .server = call->server};
    const char *wrong = !user || !number_parse(user, UINT32_MAX, &uid) ? "user"
        : groups && !read_groups(groups, sees)                         ? "groups"
                                                                       : NULL;
    if (wrong) {
        call_refuse(call, CODE_BAD_VALUE, wrong);
        free_answer(&sees->answer);
        return;
    }
    sees->who.uid = (uid_t)uid;
    conn_begin_long(call->conn, &sees->answer);
}
