#include "berth/wait_report.h"

#include "base/words.h"
#include "berth/explain.h"
#include "client/live_line.h"
#include "client/message.h"
#include "client/random.h"

#include <stdio.h>
#include <string.h>

/* A shorter wait is not worth a message. */
#define TELL_AFTER NANOSECONDS_PER_SECOND
/* Between an answer and the next question: where each can become another line in a log, and where
 * somebody looks at a terminal. 10 000 jobs that were started together must not all ask in the same
 * second of each minute. */
#define ASK_EVERY (60 * NANOSECONDS_PER_SECOND)
#define ASK_SPREAD (15 * NANOSECONDS_PER_SECOND)
#define ASK_EVERY_ON_TERMINAL (5 * NANOSECONDS_PER_SECOND)
/* The place in a fleet's queue costs its database a look at that queue, for each host. */
enum { MORE_SELDOM_IN_A_FLEET = 5 };

/* ---- an answer to `why` ---- */

/* Takes the first line, `ok`. */
static void take_state(struct wait_message *wait_message, const struct answer *answer)
{
    const char *is = words_find(answer->words, answer->n_words, "is");
    wait_message->is_busy = is && strcmp(is, "busy") == 0;
    words_find_number(answer->words, answer->n_words, "position", &wait_message->position);
}

static void take_text(char *out, size_t size, const struct answer *answer)
{
    if (answer->n_words > 1) {
        snprintf(out, size, "%s", message_decoded(answer->words[1]));
    }
}

enum wait_message_state wait_message_take(
    struct wait_message *wait_message, const struct answer *answer)
{
    const char *word = answer->n_words > 0 ? answer->words[0] : "";
    if (answer->kind == ANSWER_ERROR) {
        return WAIT_MESSAGE_NONE;
    }
    if (strcmp(word, "end") == 0) {
        return wait_message->line[0] ? WAIT_MESSAGE_COMPLETE : WAIT_MESSAGE_NONE;
    }
    if (strcmp(word, "ok") == 0) {
        take_state(wait_message, answer);
    } else if (strcmp(word, "brief") == 0) {
        take_text(wait_message->line, sizeof wait_message->line, answer);
    } else if (strcmp(word, "stops") == 0) {
        take_text(wait_message->stops, sizeof wait_message->stops, answer);
    }
    return WAIT_MESSAGE_GOES_ON;
}

/* ---- when it is asked for, and told ---- */

void wait_report_init(
    struct wait_report *wait_report, const struct options *options, nanoseconds now)
{
    wait_report->options = options;
    wait_report->started_at = now;
    wait_report->due_at = NEVER;
    wait_report->ask_at = NEVER;
    wait_report->draw_at = NEVER;
}

void wait_report_queued(
    struct wait_report *wait_report, bool is_fleet, bool must_tell, nanoseconds now)
{
    wait_report->was_asked = false;
    wait_report->is_fleet = is_fleet;
    if (wait_report->options->quiet) {
        return;
    }
    if (wait_report->due_at == NEVER) {
        wait_report->due_at = now + TELL_AFTER;
    }
    if (must_tell) {
        wait_report->must_tell = true;
        wait_report->due_at = now;
    }
    wait_report->ask_at = wait_report->due_at;
}

void wait_report_interrupted(struct wait_report *wait_report)
{
    wait_report->was_asked = false;
    wait_report->ask_at = wait_report->draw_at = NEVER;
    live_line_clear();
}

nanoseconds wait_report_deadline(const struct wait_report *wait_report)
{
    return earlier(wait_report->ask_at, wait_report->draw_at);
}

/* Once a second; when berth is in the background, in vain. */
static void draw(struct wait_report *wait_report, nanoseconds now)
{
    char text[128] = "", age[32];
    if (!live_line_has_terminal()) {
        wait_report->draw_at = NEVER;
        return;
    }
    age_format(age, sizeof age, milliseconds(now - wait_report->started_at));
    append(text, sizeof text, "waited %s", age);
    if (wait_report->position > 0) {
        append(text, sizeof text, "; place %llu in the queue",
            (unsigned long long)wait_report->position);
    }
    live_line_show(text);
    nanoseconds waited = now - wait_report->started_at;
    wait_report->draw_at = now + NANOSECONDS_PER_SECOND - waited % NANOSECONDS_PER_SECOND;
}

bool wait_report_step(struct wait_report *wait_report, nanoseconds now)
{
    if (now >= wait_report->draw_at) {
        draw(wait_report, now);
    }
    if (now < wait_report->ask_at) {
        return false;
    }
    wait_report->ask_at = NEVER;
    wait_report->was_asked = true;
    wait_report->wait_message = (struct wait_message){0};
    return true;
}

static void wait_report_tell(struct wait_report *wait_report)
{
    const struct wait_message *wait_message = &wait_report->wait_message;
    if (stderr_would_block()) {
        return;
    }
    message("waiting for %s", wait_message->line);
    wait_report->must_tell = false;
    wait_report->was_told = true;
    wait_report->told_position = wait_message->position;
    memcpy(wait_report->told_stops, wait_message->stops, sizeof wait_report->told_stops);
}

/* The terminal shows the place anyhow. */
static bool is_news(const struct wait_report *wait_report, bool is_on_terminal)
{
    const struct wait_message *wait_message = &wait_report->wait_message;
    bool has_moved = wait_report->told_position != wait_message->position;
    return !wait_report->was_told || wait_report->must_tell || (has_moved && !is_on_terminal) ||
        strcmp(wait_report->told_stops, wait_message->stops) != 0;
}

static nanoseconds ask_next_after(const struct wait_report *wait_report, bool is_on_terminal)
{
    nanoseconds pause = is_on_terminal
        ? ASK_EVERY_ON_TERMINAL
        : ASK_EVERY + (nanoseconds)(random_bits() % (uint64_t)ASK_SPREAD);
    return wait_report->is_fleet ? pause * MORE_SELDOM_IN_A_FLEET : pause;
}

void wait_report_take(struct wait_report *wait_report, const struct answer *answer, nanoseconds now)
{
    enum wait_message_state state = wait_report->was_asked
        ? wait_message_take(&wait_report->wait_message, answer)
        : WAIT_MESSAGE_GOES_ON;
    if (state == WAIT_MESSAGE_GOES_ON) {
        return;
    }
    bool is_on_terminal = live_line_is_possible();
    wait_report->was_asked = false;
    wait_report->due_at = now + ask_next_after(wait_report, is_on_terminal);
    wait_report->ask_at = wait_report->due_at;
    if (state == WAIT_MESSAGE_NONE) {
        return;
    }
    wait_report->position = wait_report->wait_message.position;
    if (is_news(wait_report, is_on_terminal)) {
        wait_report_tell(wait_report);
    }
    draw(wait_report, now);
}

void wait_report_granted(struct wait_report *wait_report, nanoseconds now)
{
    char names[256] = "", waited[32];
    if (!wait_report->was_told || stderr_would_block()) {
        return;
    }
    append_wanted(names, sizeof names, wait_report->options);
    age_format(waited, sizeof waited, milliseconds(now - wait_report->started_at));
    message("got %s after %s", names, waited);
}
