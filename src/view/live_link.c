#include "view/live_link.h"

#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <errno.h>
#include <string.h>

#define FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define LONGEST_PAUSE (2 * NANOSECONDS_PER_SECOND)
#define LOOK_AGAIN (20 * NANOSECONDS_PER_MILLISECOND) /* while berthd's queue is full */
enum { PATIENCE_SECONDS = 5 };

void live_link_init(
    struct live_link *link, const struct endpoint *endpoint, const char *request)
{
    *link = (struct live_link){.endpoint = *endpoint,
        .connection = CONNECTION_INIT,
        .request = request,
        .lost_at = NEVER};
    live_init(&link->live);
    text_add(&link->why, "");
}

void live_link_close(struct live_link *link)
{
    connection_close(&link->connection);
    text_deinit(&link->batch);
    live_forget(&link->live);
    link->is_kept = false;
    link->due = NEVER;
}

void live_link_deinit(struct live_link *link)
{
    live_link_close(link);
    text_deinit(&link->why);
    live_deinit(&link->live);
}

/* Tries again after a pause. .why has been said. */
static void lose(struct live_link *link, enum live_loss loss, nanoseconds now)
{
    live_link_close(link);
    link->loss = loss;
    link->lost_at = earlier(link->lost_at, now);
    link->deadline = 0;
    link->due = now + backoff_next(&link->backoff, FIRST_PAUSE, LONGEST_PAUSE, random_bits());
    link->has_changed = true;
}

static void live_link_say(struct live_link *link, const char *why)
{
    text_deinit(&link->why);
    text_add(&link->why, why);
}

/* ---- lines ---- */

/* `error CODE TEXT` in place of the first batch: the connection is lost. */
static enum answer_result take_error(struct live_link *link, char *line)
{
    struct answer answer;
    answer_parse(&answer, line);
    const char *why = answer_why(&answer);
    if (why) {
        link->code = answer.code;
        live_link_say(link, why);
        text_add_format(&link->why, " (%s)", answer.code_word);
        lose(link, LIVE_REFUSED, link->now);
    }
    return why ? ANSWER_END : ANSWER_MALFORMED;
}

/* False: they make no sense. */
static bool take_batch(struct live_link *link)
{
    char *rest = link->batch.bytes, *line;
    enum live_result result = LIVE_MORE;
    while (result == LIVE_MORE && (line = strsep(&rest, "\n"))) {
        result = live_take(&link->live, line, link->now);
    }
    text_deinit(&link->batch);
    if (result != LIVE_END) {
        return false;
    }
    if (!link->is_kept) {
        link->is_kept = true;
        link->connections++;
        link->loss = LIVE_KEPT;
        link->lost_at = NEVER;
        live_link_say(link, "");
        backoff_reset(&link->backoff);
    }
    link->has_changed = true;
    return true;
}

static enum answer_result live_link_take_line(void *object, char *line)
{
    struct live_link *link = object;
    size_t n = strcspn(line, " ");
    bool is_first = !link->is_kept && link->batch.length == 0;
    if (is_first && n == 5 && strncmp(line, "error", n) == 0) {
        return take_error(link, line);
    }
    link->due = NEVER;
    text_add(&link->batch, line);
    text_add(&link->batch, "\n");
    bool is_end = n == 3 && strncmp(line, "end", n) == 0;
    return is_end && !take_batch(link) ? ANSWER_MALFORMED : ANSWER_MORE;
}

void live_link_read(struct live_link *link, nanoseconds now)
{
    link->now = now;
    enum connection_taken taken = connection_take(&link->connection, live_link_take_line, link);
    if (taken == TAKEN_NONSENSE) {
        text_deinit(&link->why);
        text_add_format(
            &link->why, "the server at %s does not speak this protocol", link->endpoint.path);
        lose(link, LIVE_NONSENSE, now);
    } else if (taken == TAKEN_CLOSED) {
        live_link_say(link, "berthd has closed the connection");
        lose(link, LIVE_AWAY, now);
    }
}

/* ---- connecting ---- */

static void explain(struct live_link *link, int error)
{
    char why[512];
    connection_explain(&link->endpoint, error, why, sizeof why);
    live_link_say(link, why);
}

void live_link_act(struct live_link *link, nanoseconds now)
{
    if (link->connection.fd >= 0) {
        text_deinit(&link->why);
        text_add_format(
            &link->why, "berthd has not answered for %d seconds", PATIENCE_SECONDS);
        lose(link, LIVE_AWAY, now);
        return;
    }
    if (link->deadline == 0) {
        link->deadline = now + PATIENCE_SECONDS * NANOSECONDS_PER_SECOND;
    }
    int error = connection_open(&link->connection, &link->endpoint);
    if (error == 0) {
        /* A failure to write is the end of the connection, which is read next. */
        connection_send(&link->connection, link->request, strlen(link->request));
        link->due = link->deadline;
    } else if (error == EAGAIN && now < link->deadline) {
        link->due = now + LOOK_AGAIN;
    } else {
        explain(link, error);
        lose(link, LIVE_AWAY, now);
    }
}

int live_link_complain(const struct live_link *link, const char *command)
{
    bool is_refused = link->loss == LIVE_REFUSED;
    message("%s%s%s", is_refused ? command : "", is_refused ? ": " : "", link->why.bytes);
    return is_refused && link->code != CODE_NONE ? code_table[link->code].exit_status : STATUS_DOWN;
}
