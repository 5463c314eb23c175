/* command_past.c - `history database=D`: the request. */
#include "admission/server.h"
#include "base/words.h"
#include "command/fleet_past.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"

#include <stdio.h>
#include <string.h>

/* Of that many milliseconds ago; none: `usual`. */
static bool take_instant(
    const struct call *call, const char *word, nanoseconds usual, nanoseconds *instantp)
{
    uint64_t ms = 0;
    bool is_good = !word || number_parse(word, NEVER / 1000000, &ms);
    nanoseconds span = (nanoseconds)ms * NANOSECONDS_PER_MILLISECOND;
    *instantp = word ? later(call->now - span, LONG_AGO) : usual;
    return is_good;
}

/* As SESSION/LEASE; a lease without a session is this host's. */
static bool take_lease(
    const struct call *call, uint8_t database, const char *word, struct past_filter *filter)
{
    uint64_t id;
    const char *own = fleet_session_id(call->server->fleet, database);
    if (word && lease_id_parse(word, &id)) {
        snprintf(filter->key, sizeof filter->key, "%s/%s", own, word);
    } else if (word && fleet_key_parse(word, &id)) {
        snprintf(filter->key, sizeof filter->key, "%s", word);
    }
    return !word || filter->key[0];
}

const char *past_take_keys(const struct call *call, struct past_filter *filter)
{
    const char *const *keys = call->request->keys;
    const char *user = keys[KEY_INDEX_user], *limit = keys[KEY_INDEX_limit];
    uint64_t uid = 0;
    *filter = (struct past_filter){.has_user = user != NULL};
    const char *wrong =
        !take_instant(call, keys[KEY_INDEX_since], LONG_AGO, &filter->since) ? "since"
        : !take_instant(call, keys[KEY_INDEX_until], NEVER, &filter->until)  ? "until"
        : user && !number_parse(user, UINT32_MAX, &uid)                      ? "user"
        : limit && !number_parse(limit, UINT32_MAX, &filter->limit)          ? "limit"
                                                                             : NULL;
    filter->user = (uint32_t)uid;
    return wrong;
}

/* Which key has no good value; NULL: none. */
static const char *take_filter(
    const struct call *call, uint8_t database, struct past_filter *filter)
{
    const char *const *keys = call->request->keys;
    const char *after = keys[KEY_INDEX_after], *wrong = past_take_keys(call, filter);
    uint64_t ms, number;
    if (!wrong && !take_lease(call, database, keys[KEY_INDEX_lease], filter)) {
        return "lease";
    } else if (!wrong && after && !stream_id_parse(after, &ms, &number)) {
        return "after";
    }
    snprintf(filter->after, sizeof filter->after, "%s", !wrong && after ? after : "");
    return wrong;
}

void past_history(struct call *call)
{
    const struct request *request = call->request;
    struct past_filter filter;
    uint8_t database = remote_named_database(call, 0);
    if (database == 0) {
        return;
    }
    const char *wrong = take_filter(call, database, &filter);
    if (wrong) {
        call_refuse(call, CODE_BAD_VALUE, wrong);
    } else if ((!filter.after[0] || call_keeps_history(call)) && call_check_asked_names(call)) {
        asked_names_init(&filter.asked, request->arguments, request->n_arguments);
        past_begin(call, database, &filter);
    }
}
