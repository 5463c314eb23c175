/* top.c - `berthctl top`: the loop between berthd, the keys, the signals and the screen.
 *
 * Signals are blocked and read as a descriptor, so that each finds the terminal in a known state.
 */
#include "top/top.h"

#include "config.h"

#include "client/exit_status.h"
#include "client/message.h"
#include "top/top_internal.h"
#include "view/live_link.h"
#include "view/users.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int refuse(const char *why)
{
    message("top: %s", why);
    return STATUS_USAGE;
}

#ifdef HAVE_NCURSES

/* At least between two screens; and so many times as long as the last one has taken, so that a
 * large picture that changes all the time costs a tenth of a processor. */
#define FRAME (50 * NANOSECONDS_PER_MILLISECOND)
enum { SPARE_TIME = 9, HOST_BYTES = 256 };

struct session {
    struct top top;
    struct live_link link;
    struct top_ask ask;
    struct top_processes processes;
    char host[HOST_BYTES];
    sigset_t signals;
    int signal_fd;
    int ended_by; /* a signal; 0: none */
    bool is_dirty; /* the screen shows something old */
    nanoseconds drawn_at, tick_at, spare; /* .spare: after .drawn_at nothing is drawn */
};

/* ---- the screen ---- */

/* The rows are those of the picture as it is. */
static void update(struct session *session, nanoseconds now)
{
    struct top *top = &session->top;
    struct live_link *link = &session->link;
    link->has_changed = false;
    top->status =
        link->live.serial > 0 ? live_status(&link->live, earlier(now, link->lost_at)) : NULL;
    if (top->is_stale && link->loss == LIVE_KEPT) {
        text_deinit(&top->message); /* which may have said so */
    }
    top->is_stale = link->loss != LIVE_KEPT;
    text_deinit(&top->trouble);
    text_add_escaped(&top->trouble, link->why.bytes);
    if (!top->is_stale) {
        time_t seconds = clock_wall_now() / NANOSECONDS_PER_SECOND;
        struct tm local;
        localtime_r(&seconds, &local);
        strftime(top->clock, sizeof top->clock, "%H:%M:%S", &local);
    }
    session->processes.now = now;
    top_update(top);
}

static void draw(struct session *session, nanoseconds now)
{
    struct top_screen screen;
    update(session, now);
    top_screen_make(&screen, &session->top);
    draw_screen(&screen, session->top.draws_again);
    top_screen_deinit(&screen);
    session->top.draws_again = false;
    session->is_dirty = false;
    session->drawn_at = clock_now();
    session->spare = later(FRAME, (session->drawn_at - now) * SPARE_TIME);
    session->tick_at = session->drawn_at + NANOSECONDS_PER_SECOND; /* ages have grown */
}

static void resize(struct session *session)
{
    draw_size(&session->top.width, &session->top.height);
    session->top.draws_again = true;
    session->is_dirty = true;
}

/* ---- signals ---- */

/* Stops as if the signal were not caught. Who continues us may have used the terminal. */
static void stop(struct session *session)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    draw_pause();
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stops, NULL); /* here */
    sigprocmask(SIG_BLOCK, &stops, NULL);
    draw_resume();
    resize(session);
}

static void take_signal(struct session *session)
{
    struct signalfd_siginfo info;
    if (read(session->signal_fd, &info, sizeof info) != sizeof info) {
        return;
    }
    switch (info.ssi_signo) {
    case SIGWINCH:
    case SIGCONT:
        resize(session);
        break;
    case SIGTSTP:
        stop(session);
        break;
    case SIGINT:
        session->top.quits = true;
        break;
    default:
        session->ended_by = (int)info.ssi_signo;
    }
}

/* Only while there is something on the terminal that has to be taken away first. */
static bool catch_signals(struct session *session)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigemptyset(&session->signals);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        sigaddset(&session->signals, caught[i]);
    }
    sigprocmask(SIG_BLOCK, &session->signals, NULL);
    session->signal_fd = signalfd(-1, &session->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return session->signal_fd >= 0;
}

/* ---- the loop ---- */

static void take_keys(struct session *session, nanoseconds now)
{
    uint32_t key;
    if (session->link.has_changed) {
        update(session, now);
    }
    while (!session->top.quits && (key = draw_key()) != 0) {
        top_type(&session->top, key);
        session->is_dirty = true;
    }
    top_ask_send(&session->ask, &session->top, now);
}

static nanoseconds next_due(const struct session *session)
{
    nanoseconds screen = session->is_dirty || session->link.has_changed
        ? session->drawn_at + session->spare
        : session->tick_at;
    nanoseconds peers = earlier(session->link.due, top_ask_due(&session->ask));
    return earlier(screen, peers);
}

static void act_on_time(struct session *session)
{
    nanoseconds now = clock_now();
    if (session->link.due <= now) {
        live_link_act(&session->link, now);
    }
    if (top_ask_due(&session->ask) <= now) {
        top_ask_give_up(&session->ask, &session->top);
        session->is_dirty = true;
    }
    bool has_news = session->is_dirty || session->link.has_changed;
    if (session->tick_at <= now || (has_news && session->drawn_at + session->spare <= now)) {
        draw(session, now);
    }
}

enum { KEYS, SIGNALS, LINK, ASK, N_SOURCES };

static void wait_for_something(struct session *session)
{
    struct pollfd sources[N_SOURCES] = {
        [KEYS] = {.fd = STDIN_FILENO, .events = POLLIN},
        [SIGNALS] = {.fd = session->signal_fd, .events = POLLIN},
        [LINK] = {.fd = session->link.connection.fd, .events = POLLIN}, /* or -1 */
        [ASK] = {.fd = session->ask.connection.fd, .events = POLLIN},
    };
    if (poll_until(sources, N_SOURCES, next_due(session)) <= 0) {
        return;
    }
    if (sources[SIGNALS].revents) {
        take_signal(session);
    }
    if (sources[LINK].revents) {
        live_link_read(&session->link, clock_now());
    }
    if (sources[ASK].revents) {
        top_ask_read(&session->ask, &session->top);
        session->is_dirty = true;
    }
    if (sources[KEYS].revents & POLLIN) {
        take_keys(session, clock_now());
    }
    if (sources[KEYS].revents & (POLLHUP | POLLERR | POLLNVAL)) {
        session->top.quits = true; /* nobody is there */
    }
}

/* For good. */
static bool top_is_refused(const struct live_link *link)
{
    return link->loss == LIVE_REFUSED && link->code != CODE_BUSY;
}

static void loop(struct session *session)
{
    resize(session);
    while (!session->top.quits && session->ended_by == 0 && !top_is_refused(&session->link)) {
        act_on_time(session);
        wait_for_something(session);
    }
}

/* ---- begin and end ---- */

static void top_end(struct session *session)
{
    top_ask_end(&session->ask);
    live_link_deinit(&session->link);
    top_deinit(&session->top);
    close(session->signal_fd);
    if (session->ended_by != 0) {
        signal(session->ended_by, SIG_DFL);
        raise(session->ended_by);
    }
    sigprocmask(SIG_UNBLOCK, &session->signals, NULL);
}

static int show(struct session *session)
{
    const char *why = draw_begin();
    int exit_status;
    if (why) {
        exit_status = refuse(why);
    } else {
        signal(SIGTSTP, SIG_DFL); /* ncurses has a handler of its own */
        loop(session);
        draw_end();
        exit_status = top_is_refused(&session->link) ? live_link_complain(&session->link, "top")
                                                     : EXIT_SUCCESS;
    }
    top_end(session);
    return exit_status;
}

int top_run(const struct endpoint *endpoint, const struct status_filter *choice)
{
    static struct session session;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        return refuse("it needs a terminal; without one, use berthctl status or berthctl watch");
    }
    live_link_init(&session.link, endpoint, "watch\n");
    live_link_act(&session.link, clock_now());
    if (session.link.loss != LIVE_KEPT) {
        int exit_status = live_link_complain(&session.link, "top");
        live_link_deinit(&session.link);
        return exit_status;
    }
    session.top = (struct top){0};
    session.top.choice = (struct top_choice){
        .only = *choice, .process_of = top_process_of, .context = &session.processes};
    session.ask = (struct top_ask){
        .endpoint = endpoint, .connection = CONNECTION_INIT, .deadline = NEVER};
    gethostname(session.host, sizeof session.host - 1);
    session.top.host = session.host;
    if (!catch_signals(&session)) {
        message("top: %m");
        return EXIT_FAILURE;
    }
    return show(&session);
}

#else

int top_run(const struct endpoint *endpoint, const struct status_filter *choice)
{
    (void)endpoint, (void)choice;
    return refuse(
        "this berthctl was built without ncurses (see berthctl status, and berthctl watch)");
}

#endif
