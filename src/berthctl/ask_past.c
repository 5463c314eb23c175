#include "berthctl/ask_past.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_LINE_SECONDS = 2, /* of berth-history, which a hung disk stops */
    ANSWER_SECONDS = 30, /* of its whole answer, which may have a million lines */
};

/* ---- the request ---- */

/* How long ago that was. */
static struct optional ago(const struct optional *when)
{
    uint64_t now = milliseconds(clock_wall_now());
    return (struct optional){when->is_given, now > when->number ? now - when->number : 0};
}

/* `is_sifted`: more is left out here than who answers can leave out. */
static void set_request(const struct inquiry *inquiry, bool is_sifted)
{
    const struct past_choice *choice = &inquiry->choice;
    struct ctl_request *request = &inquiry->call->request;
    call_set(inquiry->call, COMMAND_history, choice->names, choice->n_names);
    request->since = ago(&choice->since);
    request->until = ago(&choice->until);
    request->user = choice->uid;
    request->lease = choice->lease;
    request->limit = choice->limit;
    request->limit.is_given &= choice->limit.number > 0 && !is_sifted;
}

/* ---- berth-history ---- */

/* Where berthd says that it is; beside a berthd that does not answer. Its path is "" if it is
 * nowhere. False: berthd does not answer; after a message unless call->has_closed. */
static bool find_keeper(struct call *call, struct endpoint *keeper)
{
    char *words[MAX_WORDS];
    call_set(call, COMMAND_hello, NULL, 0);
    call->awaits_berthd = true;
    char *line = call_answer(call);
    call->awaits_berthd = false;
    size_t n = line ? words_split(line, words, MAX_WORDS) : 0;
    char *path = words_find(words, n, "history");
    bool is_named = path && percent_decode(path) && path[0] == '/';
    bool is_somewhere = line ? is_named && endpoint_choose(keeper, path)
                             : endpoint_of_history(&call->endpoint, keeper);
    keeper->path[0] = is_somewhere ? keeper->path[0] : '\0';
    return line;
}

/* NULL, or why there is no whole answer. */
static const char *take_answer(struct connection *connection, struct past *past)
{
    nanoseconds now = clock_now(), until = now + FIRST_LINE_SECONDS * NANOSECONDS_PER_SECOND;
    enum connection_line got;
    char *line;
    while ((got = connection_wait_line(connection, &line, until)) == CONNECTION_LINE) {
        bool is_refused = !past->begun && strncmp(line, "error ", strlen("error ")) == 0;
        enum answer_result result = past_take(past, line);
        if (result != ANSWER_MORE) {
            return result == ANSWER_END ? NULL
                : is_refused            ? "it refuses to"
                                        : "its answer makes no sense";
        }
        until = now + ANSWER_SECONDS * NANOSECONDS_PER_SECOND;
    }
    return got == CONNECTION_GARBAGE ? "its answer makes no sense"
        : clock_now() < until        ? "it has closed the connection"
                                     : "it takes too long";
}

/* The same. Who must not know what is asked is not asked: connection_open(). */
static const char *ask_keeper(const struct inquiry *inquiry, const struct endpoint *keeper,
    const struct ctl_request *request, struct past *past)
{
    struct connection *connection = memory_new(sizeof *connection);
    struct text line = TEXT_INIT;
    connection->fd = -1;
    const char *why = "it cannot be reached";
    past->only = &inquiry->choice;
    if (connection_open(connection, keeper) == 0 && request_print(request, &line) &&
        connection_send(connection, line.bytes, line.length)) {
        why = take_answer(connection, past);
    }
    text_deinit(&line);
    connection_close(connection);
    free(connection);
    if (why) {
        past_deinit(past);
    }
    return why;
}

static void say_who_answers(const char *why, const struct past *past)
{
    struct text since = TEXT_INIT;
    const struct optional *known = &past->sources[0].since;
    text_add(&since, known->is_given ? "complete from " : "which is empty");
    if (known->is_given) {
        text_add_datetime(&since, (int64_t)known->number, (int64_t)past->now);
        text_add(&since, " on");
    }
    message("berth-history does not answer (%s): this is from berthd's memory, %s", why,
        since.bytes);
    text_deinit(&since);
}

/* ---- this host ---- */

/* A lease of another host: its history has it, and perhaps its database. */
static bool is_elsewhere(const struct inquiry *inquiry)
{
    return inquiry->choice.lease && strchr(inquiry->choice.lease, '/');
}

/* False after a message. A refusal that names another host is kept in the call. */
static bool ask_berthd(struct inquiry *inquiry)
{
    struct call *call = inquiry->call;
    set_request(inquiry, inquiry->choice.failed || past_is_of_another_host(&inquiry->choice));
    inquiry->past.only = &inquiry->choice;
    call->is_silent = is_elsewhere(inquiry);
    bool is_read = call_take(call, past_take, &inquiry->past);
    call->is_silent = false;
    if (!is_read && is_elsewhere(inquiry) && call->code == CODE_UNKNOWN) {
        char nothing[] = "ok";
        return past_take(&inquiry->past, nothing) == ANSWER_MORE;
    }
    if (!is_read && call->refusal.length > 0) {
        message("%s", call->refusal.bytes);
    }
    return is_read;
}

/* `database` NULL: for this host's. */
static const char *ask_history(
    struct inquiry *inquiry, const char *database, bool wants_figures, struct past *past)
{
    const struct past_choice *choice = &inquiry->choice;
    set_request(inquiry, database ? choice->host != NULL : past_is_of_another_host(choice));
    struct ctl_request request = inquiry->call->request;
    request.failed = choice->failed;
    request.word = wants_figures ? "stats" : request.word;
    request.database = database;
    return ask_keeper(inquiry, &inquiry->keeper, &request, past);
}

/* *is_upp: berthd can be asked for the rest. */
static bool ask_host(struct inquiry *inquiry, bool *is_upp)
{
    struct call *call = inquiry->call;
    struct endpoint *keeper = &inquiry->keeper;
    bool is_up = find_keeper(call, keeper), is_asked = keeper->path[0] && !is_elsewhere(inquiry);
    const char *why = NULL;
    if (is_asked) {
        why = ask_history(inquiry, NULL, inquiry->wants_figures, &inquiry->past);
    }
    *is_upp = is_up;
    keeper->path[0] = why ? '\0' : keeper->path[0]; /* who does not answer is not asked again */
    if (is_asked && !why) {
        if (call->has_closed) {
            message("berthd cannot be reached: this is from berth-history alone, without what is "
                    "still held or waiting");
        }
        return true;
    }
    bool is_read = (is_up || call->has_closed) && ask_berthd(inquiry); /* else that was said */
    if (is_read && is_up && why) {
        say_who_answers(why, &inquiry->past);
    }
    return is_read;
}

/* ---- what goes on ---- */

/* False after a message. That a name is not known is kept in the call: the history may know it. */
static bool ask_status(struct inquiry *inquiry)
{
    struct call *call = inquiry->call;
    call_set(call, COMMAND_status, inquiry->choice.names, inquiry->choice.n_names);
    call->is_silent = true;
    bool is_read = call_take(call, status_take, &inquiry->status);
    bool is_known = is_read || call->refusal.length == 0 || call->code != CODE_UNKNOWN;
    call->is_silent = false;
    if (is_known && call->refusal.length > 0) {
        message("%s", call->refusal.bytes);
    }
    return is_read || !is_known;
}

/* ---- the databases ---- */

/* Berth-history, if it copies that one. */
static bool ask_copy(struct inquiry *inquiry, const char *database, struct past *past)
{
    bool wants_figures = inquiry->wants_figures;
    if (!inquiry->keeper.path[0] || ask_history(inquiry, database, wants_figures, past)) {
        return false;
    }
    if (past->sums.rows.n > 0 && !past_knows_as_long(&inquiry->past, &past->sources[0])) {
        past_deinit(past); /* this host's, which it knows for longer, are among the figures */
        if (ask_history(inquiry, database, false, past)) {
            return false;
        }
    }
    if (past_has(past, database)) {
        return true;
    }
    past_deinit(past);
    return false;
}

static bool ask_database_itself(struct inquiry *inquiry, const char *database, struct past *past)
{
    struct call *call = inquiry->call;
    *past = (struct past){.only = &inquiry->choice};
    set_request(inquiry, inquiry->choice.failed || inquiry->choice.host);
    call->request.database = database;
    call->code = CODE_NONE;
    call->is_silent = call->is_patient = true;
    bool is_read = call_take(call, past_take, past);
    call->is_silent = call->is_patient = false;
    if (is_read) {
        char **name = &past->sources[0].database;
        *name = *name ? *name : memory_string(database);
    }
    return is_read;
}

/* Without its answer, the host's is still one: a note says so, perhaps after a message. */
static void ask_database(struct inquiry *inquiry, const char *database)
{
    struct call *call = inquiry->call;
    struct past past = {0};
    if (ask_copy(inquiry, database, &past) || ask_database_itself(inquiry, database, &past)) {
        past_merge(&inquiry->past, &past, inquiry->choice.this_host);
    } else {
        if (call->refusal.length == 0) {
            connection_close(&call->connection); /* who knows where its answer ends */
        }
        text_add_safe(&inquiry->notes,
            "the fleet's database %s does not tell (%s): of its resources, this is this host's"
            " history alone\n",
            database, call->code == CODE_NONE ? "no answer" : code_table[call->code].word);
        text_deinit(&call->refusal);
    }
    past_deinit(&past);
}

/* Each once. */
static void ask_databases_of(struct inquiry *inquiry, const struct status_resource *resources,
    size_t n, const char ***askedp, size_t *n_askedp)
{
    for (size_t i = 0; i < n; i++) {
        const char *database = resources[i].database;
        if (database && words_index(database, *askedp, *n_askedp) == *n_askedp) {
            *askedp = memory_grow(*askedp, *n_askedp, sizeof **askedp);
            (*askedp)[(*n_askedp)++] = database;
            ask_database(inquiry, database);
        }
    }
}

static void ask_databases(struct inquiry *inquiry)
{
    const struct status *status = &inquiry->status;
    const char **asked = NULL;
    size_t n = 0;
    ask_databases_of(inquiry, status->resources, status->n_resources, &asked, &n);
    ask_databases_of(inquiry, status->templates, status->n_templates, &asked, &n);
    free(asked);
}

/* ---- all ---- */

static bool is_empty(const struct past *past)
{
    return past->n == 0 && past->n_actions == 0 && past->sums.rows.n == 0;
}

/* That a host is not there is known only of all that all databases have. */
static void note_another_host(struct inquiry *inquiry)
{
    const struct past_choice *choice = &inquiry->choice;
    bool is_of_some = choice->since.is_given || choice->until.is_given || choice->uid.is_given ||
        choice->lease || choice->failed || choice->n_names > 0;
    if (!is_of_some && inquiry->notes.length == 0 && is_empty(&inquiry->past)) {
        text_add(&inquiry->notes, "no host of that name is in this history\n");
    } else {
        text_add_safe(&inquiry->notes,
            "of %s only the fleet's resources are known here; its own: berthctl history on %s\n",
            choice->host, choice->host);
    }
}

/* The first refusal: what it says is said if nothing is found all the same. */
struct refusal {
    struct text text;
    int exit_status;
};

static void keep_refusal(struct refusal *refusal, struct call *call)
{
    if (refusal->text.length == 0) {
        *refusal = (struct refusal){call->refusal, call->exit_status};
    } else {
        text_deinit(&call->refusal);
    }
    call->refusal = (struct text)TEXT_INIT;
}

/* Asks for status after the host's history: a lease that ends in between is in neither, rather than
 * in both. */
bool inquire(struct inquiry *inquiry)
{
    struct call *call = inquiry->call;
    struct past *past = &inquiry->past;
    struct refusal refusal = {0};
    bool is_up;
    text_add(&inquiry->notes, "");
    if (!ask_host(inquiry, &is_up)) {
        return false;
    }
    keep_refusal(&refusal, call);
    inquiry->is_without_berthd = !is_up;
    bool is_read = !is_up || ask_status(inquiry);
    keep_refusal(&refusal, call);
    ask_databases(inquiry); /* of a status that has come */
    if (is_read && refusal.text.length > 0 && is_empty(past)) {
        message("%s", refusal.text.bytes);
        call->exit_status = refusal.exit_status;
        is_read = false;
    }
    text_deinit(&refusal.text);
    if (past_is_of_another_host(&inquiry->choice)) {
        note_another_host(inquiry);
    }
    if (inquiry->choice.limit.is_given && inquiry->choice.limit.number > 0) {
        past_cut(past, inquiry->choice.limit.number);
    }
    return is_read;
}

void inquiry_deinit(struct inquiry *inquiry)
{
    past_deinit(&inquiry->past);
    status_deinit(&inquiry->status);
    text_deinit(&inquiry->notes);
}
