#include "history/berthd_link.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "client/random.h"
#include "log/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define LONGEST_PAUSE (2 * NANOSECONDS_PER_SECOND)
#define GOOD_FOR (5 * NANOSECONDS_PER_SECOND) /* what a user may see */
enum { PATIENCE_MS = 2000, RING_AGAIN_MS = 10000 };

static void on_berthd(uv_poll_t *poll, int status, int events);
static void on_time(uv_timer_t *timer);

/* ---- the connection ---- */

static void free_poll(uv_handle_t *poll)
{
    free(poll);
}

/* Each reason is said once, however often it is tried again. */
static void say_once(struct berthd_link *link, const char *why)
{
    if (link->said && strcmp(link->said, why) == 0) {
        return;
    }
    free(link->said);
    link->said = memory_string(why);
    if (why[0]) {
        log_warning("%s", why);
    } else {
        log_info("reading the history of the berthd at %s", link->endpoint.path);
    }
}

static void close_link(struct berthd_link *link)
{
    if (link->poll) {
        uv_close((uv_handle_t *)link->poll, free_poll);
        link->poll = NULL;
    }
    connection_close(&link->connection);
    sight_deinit(&link->incoming);
    link->asked = NULL;
    link->has_ring = false;
}

static void lose(struct berthd_link *link, const char *why)
{
    close_link(link);
    if (why) {
        say_once(link, why);
    }
    nanoseconds pause =
        backoff_next(&link->backoff, FIRST_PAUSE, LONGEST_PAUSE, random_bits());
    uv_timer_start(&link->timer, on_time, milliseconds(pause) + 1, 0);
    link->changed(link->context);
}

static void send_line(struct berthd_link *link, const char *line)
{
    /* If it cannot be sent, the end of the connection is there to be read. */
    connection_send(&link->connection, line, strlen(line));
    uv_timer_start(&link->timer, on_time, PATIENCE_MS, 0);
}

static void connect_to_berthd(struct berthd_link *link)
{
    char why[512];
    int error = connection_open(&link->connection, &link->endpoint);
    if (error != 0) {
        connection_explain(&link->endpoint, error, why, sizeof why);
        lose(link, why);
        return;
    }
    link->poll = memory_new(sizeof *link->poll);
    link->poll->data = link;
    if (uv_poll_init(link->loop, link->poll, link->connection.fd) != 0) {
        abort(); /* a socket can be polled */
    }
    uv_poll_start(link->poll, UV_READABLE, on_berthd);
    send_line(link, "ring\n");
}

static void on_time(uv_timer_t *timer)
{
    struct berthd_link *link = container_of(timer, struct berthd_link, timer);
    if (link->connection.fd < 0) {
        connect_to_berthd(link);
    } else if (link->has_ring && !link->asked) {
        link->has_ring = false; /* there was none: again */
        send_line(link, "ring\n");
    } else {
        lose(link, "berthd does not answer");
    }
}

void berthd_link_ask_ring(struct berthd_link *link)
{
    link->wants_ring = true;
    if (link->has_ring && !link->asked && !uv_is_active((uv_handle_t *)&link->timer)) {
        uv_timer_start(&link->timer, on_time, RING_AGAIN_MS, 0);
    }
}

/* ---- answers ---- */

static void ask_next(struct berthd_link *link);

/* After an answer. */
static void go_on(struct berthd_link *link)
{
    ask_next(link);
    if (link->wants_ring) {
        berthd_link_ask_ring(link);
    }
    link->changed(link->context);
}

static bool take_ring(struct berthd_link *link, char *line)
{
    struct answer answer;
    answer_parse(&answer, line);
    uv_timer_stop(&link->timer);
    link->has_ring = true;
    link->wants_ring = answer.kind != ANSWER_OK;
    if (answer.kind == ANSWER_OK && link->passed_fd >= 0) {
        drain_pass(link->drain, link->passed_fd);
        link->passed_fd = -1;
        backoff_reset(&link->backoff);
        say_once(link, "");
    } else if (answer.kind == ANSWER_ERROR) {
        struct text why = TEXT_INIT;
        const char *text = answer_why(&answer);
        text_add_format(&why, "berthd shows no history: %s", text ? text : answer.code_word);
        say_once(link, why.bytes);
        text_deinit(&why);
    } else {
        return false;
    }
    go_on(link);
    return true;
}

static bool take_sees(struct berthd_link *link, char *line)
{
    enum answer_result result = sight_take(&link->incoming, line);
    if (result == ANSWER_END) {
        struct known_sight *known = link->asked;
        sight_deinit(&known->sight);
        known->sight = link->incoming;
        known->at = clock_now();
        link->incoming = (struct sight){0};
        link->asked = NULL;
        uv_timer_stop(&link->timer);
        go_on(link);
    }
    return result != ANSWER_MALFORMED;
}

static void on_berthd(uv_poll_t *poll, int status, int events)
{
    struct berthd_link *link = poll->data;
    enum connection_line got;
    char *line;
    (void)status, (void)events;
    bool goes_on = connection_read_passed(&link->connection, &link->passed_fd);
    bool makes_sense = true;
    while (makes_sense && (got = connection_next(&link->connection, &line)) != CONNECTION_MORE) {
        makes_sense = got == CONNECTION_LINE &&
            (!link->has_ring   ? take_ring(link, line)
                    : link->asked ? take_sees(link, line)
                                  : false);
    }
    if (link->passed_fd >= 0) {
        close(link->passed_fd);
        link->passed_fd = -1;
    }
    if (!makes_sense) {
        lose(link, "the server does not speak the protocol of berthd");
    } else if (!goes_on) {
        lose(link, "berthd has closed the connection");
    }
}

/* ---- who may see what ---- */

static bool is_same_user(const struct sight_user *a, const struct sight_user *b)
{
    return a->uid == b->uid && a->groups && strcmp(a->groups, b->groups) == 0;
}

static void known_deinit(struct known_sight *known)
{
    free(known->user.groups);
    sight_deinit(&known->sight);
    *known = (struct known_sight){0};
}

/* Of that user, or else the place of the one who has not asked for longest. */
static struct known_sight *place_for(struct berthd_link *link, const struct sight_user *user)
{
    struct known_sight *oldest = NULL;
    for (size_t i = 0; i < MAX_SEEN_USERS; i++) {
        struct known_sight *known = &link->known[i];
        if (is_same_user(&known->user, user)) {
            return known;
        }
        bool is_older = !oldest || known->asked_at < oldest->asked_at;
        oldest = known != link->asked && is_older ? known : oldest;
    }
    known_deinit(oldest);
    oldest->user = (struct sight_user){user->uid, memory_string(user->groups)};
    return oldest;
}

static bool is_wanted(const struct known_sight *known, nanoseconds now)
{
    bool is_fresh = known->at > 0 && now - known->at < GOOD_FOR;
    return known->user.groups && !is_fresh &&
        now - known->asked_at < PATIENCE_MS * NANOSECONDS_PER_MILLISECOND;
}

static void ask_next(struct berthd_link *link)
{
    nanoseconds now = clock_now();
    for (size_t i = 0; link->has_ring && !link->asked && i < MAX_SEEN_USERS; i++) {
        struct known_sight *known = &link->known[i];
        if (is_wanted(known, now)) {
            struct text line = TEXT_INIT;
            text_add_format(&line, "sees user=%u%s%s\n", known->user.uid,
                known->user.groups[0] ? " groups=" : "", known->user.groups);
            link->asked = known;
            send_line(link, line.bytes);
            text_deinit(&line);
        }
    }
}

const struct sight *berthd_link_sight(
    struct berthd_link *link, const struct sight_user *user, bool *waitp)
{
    nanoseconds now = clock_now();
    struct known_sight *known = place_for(link, user);
    known->asked_at = now;
    if (known->at > 0 && now - known->at < GOOD_FOR) {
        *waitp = false;
        return &known->sight;
    }
    ask_next(link);
    *waitp = link->connection.fd >= 0;
    return NULL;
}

/* ---- life ---- */

void berthd_link_init(struct berthd_link *link, uv_loop_t *loop, const struct endpoint *endpoint,
    struct drain *drain, void (*changed)(void *context), void *context)
{
    *link = (struct berthd_link){.loop = loop,
        .endpoint = *endpoint,
        .connection = CONNECTION_INIT,
        .drain = drain,
        .changed = changed,
        .context = context,
        .passed_fd = -1};
    uv_timer_init(loop, &link->timer);
}

void berthd_link_start(struct berthd_link *link)
{
    connect_to_berthd(link);
}

void berthd_link_stop(struct berthd_link *link)
{
    close_link(link);
    uv_close((uv_handle_t *)&link->timer, NULL);
}

void berthd_link_deinit(struct berthd_link *link)
{
    for (size_t i = 0; i < MAX_SEEN_USERS; i++) {
        known_deinit(&link->known[i]);
    }
    free(link->said);
}
