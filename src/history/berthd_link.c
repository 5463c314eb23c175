#include "history/berthd_link.h"

#include "client/random.h"
#include "log/log.h"

#include <string.h>
#include <unistd.h>

#define FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define LONGEST_PAUSE (2 * NANOSECONDS_PER_SECOND)
#define MOMENT (100 * NANOSECONDS_PER_MILLISECOND) /* in which berthd usually answers */
#define PATIENCE (2 * NANOSECONDS_PER_SECOND)
#define SIGHT_PATIENCE (700 * NANOSECONDS_PER_MILLISECOND)
#define GLANCE (10 * NANOSECONDS_PER_MILLISECOND)
#define RING_AGAIN (10 * NANOSECONDS_PER_SECOND)

/* Each reason is said once, however often it is tried again. */
static void say_once(struct berthd_link *link, const char *why)
{
    if (!link->said.bytes || strcmp(link->said.bytes, why) != 0) {
        text_deinit(&link->said);
        text_add(&link->said, why);
        log_message(why[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s%s",
            why[0] ? why : "reading the history of the berthd at ",
            why[0] ? "" : link->endpoint.path);
    }
}

static void lose(struct berthd_link *link, const char *why, nanoseconds now)
{
    connection_close(&link->connection);
    say_once(link, why);
    link->has_answered = false;
    link->act_at = now + backoff_next(&link->backoff, FIRST_PAUSE, LONGEST_PAUSE, random_bits());
}

static void ask_ring(struct berthd_link *link, nanoseconds now)
{
    struct pollfd answer = {.fd = link->connection.fd, .events = POLLIN};
    /* If it cannot be sent, the end of the connection is there to be read. */
    connection_send(&link->connection, "ring\n", strlen("ring\n"));
    poll_until(&answer, 1, now + MOMENT);
    link->has_answered = false;
    link->act_at = now + PATIENCE;
}

static void act(struct berthd_link *link, nanoseconds now)
{
    char why[512];
    if (link->connection.fd >= 0 && !link->has_answered) {
        lose(link, "berthd does not answer", now);
        return;
    }
    int error = link->connection.fd < 0 ? connection_open(&link->connection, &link->endpoint) : 0;
    if (error != 0) {
        connection_explain(&link->endpoint, error, why, sizeof why);
        lose(link, why, now);
    } else {
        ask_ring(link, now);
    }
}

/* The answer to `ring`; takes the descriptor over. */
static void take_ring(struct berthd_link *link, char *line, int fd, nanoseconds now)
{
    struct answer answer;
    answer_parse(&answer, line);
    link->has_answered = true;
    link->act_at = NEVER;
    if (answer.kind == ANSWER_OK && fd >= 0) {
        drain_pass(link->drain, fd);
        backoff_reset(&link->backoff);
        say_once(link, "");
        return;
    }
    const char *why = answer.kind == ANSWER_ERROR ? answer_why(&answer) : NULL;
    say_once(link, why ? why : "the server does not speak the protocol of berthd");
    link->drain->had_no_ring = true;
    link->act_at = now + RING_AGAIN;
    if (fd >= 0) {
        close(fd);
    }
}

void berthd_link_look(struct berthd_link *link, nanoseconds now)
{
    char *line;
    int fd = -1;
    bool is_wanted = link->drain->is_lost && link->has_answered && link->act_at == NEVER;
    link->act_at = is_wanted ? now + RING_AGAIN : link->act_at;
    if (now >= link->act_at) {
        act(link, now);
    }
    if (link->connection.fd < 0) {
        return;
    }
    bool goes_on = connection_read_passed(&link->connection, &fd);
    enum connection_line got = connection_next(&link->connection, &line);
    if (got == CONNECTION_LINE && !link->has_answered) {
        take_ring(link, line, fd, now);
    } else if (got != CONNECTION_MORE) {
        lose(link, "the server does not speak the protocol of berthd", now);
    } else if (!goes_on) {
        lose(link, "berthd has closed the connection", now);
    }
}

bool berthd_link_await_ring(struct berthd_link *link)
{
    nanoseconds now = clock_now();
    struct pollfd answer = {.fd = link->connection.fd, .events = POLLIN};
    bool is_awaited = !link->drain->reader.head && answer.fd >= 0 && !link->has_answered;
    if (is_awaited) {
        poll_until(&answer, 1, now + GLANCE);
        berthd_link_look(link, now);
    }
    return is_awaited;
}

bool berthd_link_ask_sight(
    struct berthd_link *link, uint32_t uid, const char *groups, struct sight *sight)
{
    char *line;
    struct text request = TEXT_INIT;
    nanoseconds now = clock_now();
    enum answer_result result = ANSWER_MORE;
    if (link->connection.fd < 0 || !link->has_answered) {
        return false;
    }
    text_add_format(
        &request, "sees user=%u%s%s\n", uid, groups[0] ? " groups=" : "", groups);
    connection_send(&link->connection, request.bytes, request.length);
    text_deinit(&request);
    while (result == ANSWER_MORE &&
        connection_wait_line(&link->connection, &line, now + SIGHT_PATIENCE) == CONNECTION_LINE) {
        result = sight_take(sight, line);
    }
    if (result != ANSWER_END) {
        lose(link, "berthd does not say what users may see", clock_now());
    }
    return result == ANSWER_END;
}

void berthd_link_init(
    struct berthd_link *link, const struct endpoint *endpoint, struct drain *drain)
{
    *link = (struct berthd_link){
        .endpoint = *endpoint, .connection = CONNECTION_INIT, .drain = drain};
}

void berthd_link_deinit(struct berthd_link *link)
{
    connection_close(&link->connection);
    text_deinit(&link->said);
}
