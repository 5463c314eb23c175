/* test_wait_report.c - what berth tells while it waits, and how often: in a log, and on a terminal
 * (berth/wait_report.h, client/live_line.h). */
#include "client_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

TestSuite(wait_report, .init = stage_setup, .fini = scratch_end);

#define MINUTE (60 * S)
#define expect_said(text) cr_expect_str_eq(stage_said(), (text))

/* It has asked at T, and waits. */
static void queued(const char *answer)
{
    stage_begin();
    cr_assert_eq(stage_step(T), ACQUISITION_GOES_ON);
    cr_assert_eq(strncmp(stage_line(), "acquire r:1", 11), 0);
    cr_assert_eq(stage_hear(answer, T), ACQUISITION_GOES_ON);
    cr_assert_eq(stage.acquisition.state, ACQUISITION_QUEUED);
}

/* `stop`: why nothing is granted at present, or "". */
static void answer(const char *stop, int position, nanoseconds now)
{
    char text[512], stops[128] = "";
    if (stop[0]) {
        snprintf(stops, sizeof stops, "stops %s\n", stop);
    }
    snprintf(text, sizeof text,
        "ok is=waiting lease=1 position=%d\nbrief r%s%s;%%20place%%20%d%%20in%%20the%%20queue\n"
        "%sbecause x\nend\n",
        position, stop[0] ? ":%20" : "", stop, position, stops);
    cr_assert_eq(stage_hear(text, now), ACQUISITION_GOES_ON);
}

/* Lets berth ask when it wants to. Returns the time. */
static nanoseconds asked(void)
{
    nanoseconds now = acquisition_deadline(&stage.acquisition);
    cr_assert_neq(now, NEVER);
    cr_assert_eq(stage_step(now - 1), ACQUISITION_GOES_ON);
    cr_assert_str_eq(stage_line(), "");
    cr_assert_eq(stage_step(now), ACQUISITION_GOES_ON);
    cr_assert_str_eq(stage_line(), "why lease=1");
    return now;
}

/* The same, and answers. */
static nanoseconds told(const char *stop, int position)
{
    nanoseconds now = asked();
    answer(stop, position, now);
    return now;
}

static void grant(nanoseconds now)
{
    cr_expect_eq(stage_hear("* granted 1 slot=r,5,0\n", now), ACQUISITION_GRANTED);
}

/* ---- in a log ---- */

Test(wait_report, a_line_when_the_place_changes)
{
    queued("waiting 1 position=9\n");
    cr_expect_eq(told("", 9), T + S);
    expect_said("berth: waiting for r; place 9 in the queue\n");
    told("", 9);
    expect_said("");
    told("", 7);
    expect_said("berth: waiting for r; place 7 in the queue\n");
    told("", 8); /* somebody with a bigger priority */
    expect_said("berth: waiting for r; place 8 in the queue\n");
}

Test(wait_report, at_most_one_line_a_minute)
{
    queued("waiting 1 position=999\n");
    nanoseconds before = told("", 999);
    for (int place = 998; place > 900; place--) {
        nanoseconds now = told("", place);
        cr_expect_geq(now, before + MINUTE);
        cr_expect_leq(now, before + MINUTE + MINUTE / 4);
        before = now;
    }
}

/* Each of these questions costs the database. */
Test(wait_report, more_seldom_in_a_fleet)
{
    queued("pending 1\n* waiting 1 position=9\n");
    nanoseconds before = told("", 9);
    stage_said();
    nanoseconds now = told("", 8);
    cr_expect_geq(now, before + 5 * MINUTE);
    expect_said("berth: waiting for r; place 8 in the queue\n");
}

/* Jobs that were started together do not all ask in the same second. */
Test(wait_report, the_questions_of_many_are_spread)
{
    nanoseconds first = NEVER, last = 0;
    queued("waiting 1 position=1\n");
    nanoseconds before = told("", 1);
    for (int i = 0; i < 100; i++) {
        nanoseconds now = told("", 1);
        first = earlier(first, now - before);
        last = later(last, now - before);
        before = now;
    }
    cr_expect_gt(last - first, 5 * S);
}

Test(wait_report, a_lost_connection_brings_no_questions_forward)
{
    queued("waiting 1 position=9\n");
    nanoseconds now = told("", 9);
    nanoseconds next = acquisition_deadline(&stage.acquisition);
    stage_hang_up();
    cr_assert_eq(stage_step(now), ACQUISITION_GOES_ON);
    now = acquisition_deadline(&stage.acquisition);
    cr_assert_eq(stage_step(now), ACQUISITION_GOES_ON);
    cr_assert_eq(strncmp(stage_line(), "reclaim 1", 9), 0);
    cr_assert_eq(stage_hear("waiting 1 position=9\n", now), ACQUISITION_GOES_ON);
    cr_expect_eq(acquisition_deadline(&stage.acquisition), next);
    expect_said("berth: waiting for r; place 9 in the queue\n");
    told("", 9);
    expect_said("");
}

Test(wait_report, a_pause_that_begins_and_ends)
{
    queued("waiting 1 position=1\n");
    told("", 1);
    expect_said("berth: waiting for r; place 1 in the queue\n");
    told("paused%20by%20ada:%20new%20disks", 1);
    expect_said("berth: waiting for r: paused by ada: new disks; place 1 in the queue\n");
    told("paused%20by%20ada:%20new%20disks", 1);
    expect_said("");
    told("", 1);
    expect_said("berth: waiting for r; place 1 in the queue\n");
}

Test(wait_report, a_drain_that_begins)
{
    queued("waiting 1 position=1\n");
    told("", 1);
    stage_said();
    cr_assert_eq(
        stage_hear("ok is=waiting lease=1 position=1\n"
                   "brief r;%20place%201%20in%20the%20queue;%20this%20host%20is%20being%20drained\n"
                   "stops drain;%20\nend\n",
            asked()),
        ACQUISITION_GOES_ON);
    expect_said("berth: waiting for r; place 1 in the queue; this host is being drained\n");
}

/* Its seconds count down: that is no news. */
Test(wait_report, a_grace_is_told_once)
{
    queued("waiting 1 position=1\n");
    for (int left = 90; left > 0; left -= 80) {
        char text[256];
        snprintf(text, sizeof text,
            "ok is=waiting lease=1 position=1\n"
            "brief r;%%20place%%201%%20in%%20the%%20queue;%%20nothing%%20for%%20%ds\n"
            "stops grace;%%20\nend\n",
            left);
        cr_assert_eq(stage_hear(text, asked()), ACQUISITION_GOES_ON);
        expect_said(
            left < 90 ? "" : "berth: waiting for r; place 1 in the queue; nothing for 90s\n");
    }
}

Test(wait_report, a_refused_question_is_asked_again)
{
    queued("waiting 1 position=1\n");
    cr_assert_eq(stage_hear("error unknown x\n", asked()), ACQUISITION_GOES_ON);
    expect_said("");
    told("", 3);
    expect_said("berth: waiting for r; place 3 in the queue\n");
}

/* ---- at the grant ---- */

Test(wait_report, got_it)
{
    stage.options.wanted[1] = (struct wanted){"gpus", 4, 1, NULL};
    stage.options.n_wanted = 2;
    queued("waiting 1 position=9\n");
    told("", 9);
    stage_said();
    cr_expect_eq(
        stage_hear("* granted 1 slot=r,5,0 item=gpus,6,gpu1\n", T + 372 * S), ACQUISITION_GRANTED);
    expect_said("berth: got r, gpus after 6m12s\n");
}

Test(wait_report, nothing_at_the_grant_to_who_has_read_nothing)
{
    queued("waiting 1 position=9\n");
    grant(T + S - 1);
    expect_said("");
}

Test(wait_report, quiet)
{
    stage.options.quiet = true;
    queued("waiting 1 position=9\n");
    cr_expect_eq(acquisition_deadline(&stage.acquisition), NEVER);
    grant(T + 372 * S);
    expect_said("");
}

/* ---- on a terminal ---- */

static int terminal;

/* stderr is our terminal, we are in its foreground. */
static void on_terminal(const char *kind, unsigned short columns)
{
    struct termios raw;
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    int inside;
    setsid();
    cr_assert_eq(openpty(&terminal, &inside, NULL, NULL, &size), 0);
    tcgetattr(inside, &raw);
    cfmakeraw(&raw);
    tcsetattr(inside, TCSANOW, &raw);
    cr_assert_eq(ioctl(inside, TIOCSCTTY, 0), 0);
    cr_assert_eq(dup2(inside, STDERR_FILENO), STDERR_FILENO);
    setenv("TERM", kind, 1);
    queued("waiting 1 position=9\n");
}

/* The terminal shows this, and nothing more. */
static void expect_shown(const char *expected)
{
    char text[1024] = "";
    size_t n = 0;
    struct pollfd polled = {.fd = terminal, .events = POLLIN};
    /* What has been written arrives in its order, but not at once: first a mark. */
    cr_assert_eq(write(STDERR_FILENO, "|", 1), 1);
    while (n < sizeof text - 1 && !strchr(text, '|') && poll(&polled, 1, 60 * 1000) == 1) {
        ssize_t more = read(terminal, text + n, sizeof text - 1 - n);
        n += more > 0 ? (size_t)more : 0;
        text[n] = '\0';
    }
    text[strcspn(text, "|")] = '\0';
    cr_expect_str_eq(text, expected);
}

#define FIRST "berth: waiting for r; place 9 in the queue\n"
#define GONE "\r\033[K"

/* The place from berthd every five seconds, the time every second. */
Test(wait_report, a_rewritten_line)
{
    on_terminal("xterm", 80);
    cr_expect_eq(told("", 9), T + S);
    expect_shown(FIRST "\rberth: waited 1s; place 9 in the queue\033[K");
    for (int second = 2; second < 6; second++) {
        char expected[128];
        cr_expect_eq(acquisition_deadline(&stage.acquisition), T + second * S);
        stage_step(T + second * S);
        snprintf(
            expected, sizeof expected, "\rberth: waited %ds; place 9 in the queue\033[K", second);
        expect_shown(expected);
    }
    cr_expect_str_eq(stage_line(), "");
    stage_step(T + 6 * S);
    cr_expect_str_eq(stage_line(), "why lease=1");
    answer("", 7, T + 6 * S);
    expect_shown("\rberth: waited 6s; place 9 in the queue\033[K"
                 "\rberth: waited 6s; place 7 in the queue\033[K");
    grant(T + 372 * S);
    expect_shown(GONE "berth: got r after 6m12s\n");
}

Test(wait_report, a_pause_stays_on_the_terminal)
{
    on_terminal("xterm", 80);
    told("", 9);
    expect_shown(FIRST "\rberth: waited 1s; place 9 in the queue\033[K");
    stage_step(T + 6 * S);
    answer("paused%20by%20ada:%20disks", 9, T + 6 * S);
    expect_shown("\rberth: waited 6s; place 9 in the queue\033[K" GONE
                 "berth: waiting for r: paused by ada: disks; place 9 in the queue\n"
                 "\rberth: waited 6s; place 9 in the queue\033[K");
}

Test(wait_report, an_event_tells_the_place)
{
    on_terminal("xterm", 80);
    told("", 9);
    stage_hear("* waiting 1 position=4\n* waiting 2 position=3\n* waiting 1\n", T + 2 * S);
    expect_shown(FIRST "\rberth: waited 1s; place 9 in the queue\033[K"
                       "\rberth: waited 2s; place 4 in the queue\033[K");
}

Test(wait_report, cut_to_the_terminal)
{
    on_terminal("xterm", 20);
    told("", 9);
    expect_shown(FIRST "\rberth: waited 1s; p\033[K");
    ioctl(STDERR_FILENO, TIOCSWINSZ, &(struct winsize){.ws_col = 24});
    stage_step(T + 2 * S);
    expect_shown("\rberth: waited 2s; place\033[K");
}

Test(wait_report, gone_with_the_connection)
{
    on_terminal("xterm", 80);
    told("", 9);
    stage_no_berthd();
    stage_step(T + 2 * S - 1);
    expect_shown(FIRST "\rberth: waited 1s; place 9 in the queue\033[K" GONE);
}

Test(wait_report, a_terminal_that_cannot_erase)
{
    on_terminal("dumb", 80);
    told("", 9);
    cr_expect_geq(told("", 7), T + MINUTE);
    expect_shown(FIRST "berth: waiting for r; place 7 in the queue\n");
}

/* A stopped terminal (^S) must not keep a granted lease from its job. */
Test(wait_report, a_stopped_terminal, .timeout = 20)
{
    on_terminal("xterm", 80);
    told("", 9);
    expect_shown(FIRST "\rberth: waited 1s; place 9 in the queue\033[K");
    tcflow(STDERR_FILENO, TCOOFF);
    stage_step(T + 2 * S);
    grant(T + 3 * S);
    tcflow(STDERR_FILENO, TCOON);
    expect_shown("");
}
