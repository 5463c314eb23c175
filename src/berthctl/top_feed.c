#include "berthctl/top_feed.h"

#include "base/words.h"
#include "client/random.h"
#include "view/printable.h"
#include "view/users.h"
#include "wire/protocol.h"

#include <string.h>

#define FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define LONGEST_PAUSE (2 * NANOSECONDS_PER_SECOND)

static void say(struct top_feed *feed, const char *escaped)
{
    text_deinit(&feed->trouble);
    text_add(&feed->trouble, escaped);
}

static void lose(struct top_feed *feed, const char *why, nanoseconds now)
{
    connection_close(&feed->connection);
    text_deinit(&feed->batch);
    live_forget(&feed->live);
    say(feed, why);
    feed->lost_at = earlier(feed->lost_at, now);
    feed->retry_at = now + backoff_next(&feed->backoff, FIRST_PAUSE, LONGEST_PAUSE, random_bits());
    feed->has_changed = true;
}

static int open_and_ask(struct top_feed *feed)
{
    static const char request[] = "watch\n";
    int error = connection_open(&feed->connection, feed->endpoint);
    if (error == 0) {
        /* A failure to write is the end of the connection, which is seen next. */
        connection_send(&feed->connection, request, strlen(request));
        feed->retry_at = NEVER;
    }
    return error;
}

int top_feed_begin(struct top_feed *feed, const struct endpoint *endpoint, nanoseconds now)
{
    *feed = (struct top_feed){
        .endpoint = endpoint, .connection = CONNECTION_INIT, .lost_at = NEVER, .retry_at = now};
    live_init(&feed->live);
    live_name_users(&feed->live, user_name);
    return open_and_ask(feed);
}

void top_feed_end(struct top_feed *feed)
{
    connection_close(&feed->connection);
    text_deinit(&feed->batch);
    text_deinit(&feed->trouble);
    live_deinit(&feed->live);
}

/* ---- lines ---- */

static bool begins_with(const char *line, const char *word)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\0');
}

/* `error CODE TEXT` in place of the first batch. */
static void take_error(struct top_feed *feed, char *line, nanoseconds now)
{
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    enum code code = n > 1 ? code_find(words[1]) : CODE_NONE;
    struct text said = TEXT_INIT;
    text_add_escaped(&said, n > 2 && percent_decode(words[2]) ? words[2] : "it refuses");
    if (code == CODE_UNKNOWN_COMMAND) {
        text_add(&said, "; this berthd is older than berthctl");
    }
    lose(feed, said.bytes, now);
    feed->refused = code == CODE_BUSY ? CODE_NONE : code;
    text_deinit(&said);
}

/* All lines of a batch at once: so the copy is always whole. False: they make no sense. */
static bool take_batch(struct top_feed *feed, nanoseconds now)
{
    char *rest = feed->batch.bytes, *line;
    enum live_result result = LIVE_MORE;
    while (result == LIVE_MORE && (line = strsep(&rest, "\n"))) {
        result = live_take(&feed->live, line, now);
    }
    text_deinit(&feed->batch);
    feed->lost_at = NEVER;
    feed->has_changed = true;
    backoff_reset(&feed->backoff);
    return result == LIVE_END;
}

/* False: the connection is closed. */
static bool take_line(struct top_feed *feed, char *line, nanoseconds now)
{
    if (feed->batch.length == 0 && begins_with(line, "error")) {
        take_error(feed, line, now);
        return false;
    }
    text_add(&feed->batch, line);
    text_add(&feed->batch, "\n");
    if (begins_with(line, "end") && !take_batch(feed, now)) {
        lose(feed, "the server does not speak this protocol", now);
        return false;
    }
    return true;
}

void top_feed_read(struct top_feed *feed, nanoseconds now)
{
    char *line;
    enum connection_line got;
    bool goes_on = connection_read(&feed->connection);
    while ((got = connection_next(&feed->connection, &line)) == CONNECTION_LINE) {
        if (!take_line(feed, line, now)) {
            return;
        }
    }
    if (got == CONNECTION_GARBAGE) {
        lose(feed, "the server does not speak this protocol", now);
    } else if (!goes_on) {
        lose(feed, "waiting until it is back", now);
    }
}

/* ---- again ---- */

nanoseconds top_feed_due(const struct top_feed *feed)
{
    return feed->connection.fd < 0 ? feed->retry_at : NEVER;
}

void top_feed_retry(struct top_feed *feed, nanoseconds now)
{
    char why[512];
    int error = open_and_ask(feed);
    if (error != 0) {
        struct text said = TEXT_INIT;
        connection_explain(feed->endpoint, error, why, sizeof why);
        text_add_escaped(&said, why);
        lose(feed, said.bytes, now);
        text_deinit(&said);
    }
}

const struct status *top_feed_picture(struct top_feed *feed, nanoseconds now)
{
    feed->has_changed = false;
    return feed->live.serial > 0 ? live_status(&feed->live, earlier(now, feed->lost_at)) : NULL;
}
