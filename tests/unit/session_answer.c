/* session_answer.c - the link, and the database at its other end. */
#include "session_world.h"

#include "base/memory.h"
#include "base/words.h"
#include "fleet/session_text.h"
#include "resp_text.h"
#include "tests/core_check.h"

static uint64_t unanswered[4096];
static size_t first_unanswered, n_sent;

void forget_unanswered(void)
{
    first_unanswered = n_sent;
}

/* ---- the link ---- */

void connect_link(void)
{
    session_connected(session, now);
}

void break_link(const char *why)
{
    forget_unanswered();
    session_disconnected(session, why, now);
    carry_out();
}

void reconnect(void)
{
    break_link("gone");
    connect_link();
}

const char *reset_wanted(void)
{
    const char *why = session_wants_reset(session);
    return why ? why : "";
}

char last_reached[48] = "";
unsigned last_layout;

const char *next_call(void)
{
    struct script_call call;
    struct text out = TEXT_INIT;
    char layouts[24];
    if (!session_next_call(session, now, &call)) {
        return "nothing";
    }
    cr_assert(call.argc >= CALL_HEAD);
    snprintf(layouts, sizeof layouts, "%u-%u", world_layouts.from, world_layouts.to);
    cr_assert_str_eq(call.argv[0], layouts);
    cr_assert_str_eq(call.argv[2], session_id(session));
    text_add(&out, script_words[call.script]);
    /* The last argument of a renewal is about the news, which has its own tests. */
    size_t n_shown = call.argc - (call.script == SCRIPT_RENEW);
    for (size_t i = CALL_HEAD; i < n_shown; i++) {
        cr_assert_eq(strlen(call.argv[i]), call.lengths[i]);
        text_add(&out, " ");
        add_word(&out, call.argv[i]);
    }
    unanswered[n_sent++] = call.tag;
    last_layout = call.layout;
    snprintf(last_reached, sizeof last_reached, "%s", call.argv[1]);
    char *at = strrchr(last_reached, '-');
    cr_assert_eq(strtoll(at + 1, NULL, 10), now / NANOSECONDS_PER_MILLISECOND);
    *at = '\0';
    return keep(&out);
}

static uint64_t last_sequence;

const char *reached(uint64_t event)
{
    struct text out = TEXT_INIT;
    text_add_format(&out, "%ju-%ju", (uintmax_t)last_sequence, (uintmax_t)event);
    return keep(&out);
}

void others_call(uint64_t n)
{
    last_sequence += n;
}

/* The number of the call follows its times, if it has any. */
static void number_reply(struct resp *reply)
{
    static struct resp numbered[1024];
    static char digits[24];
    enum { N_BEFORE = 3 };
    if (reply->type != RESP_ARRAY || reply->n < N_BEFORE ||
        strcmp(reply->elements[0].text, "hello") == 0) {
        return;
    }
    snprintf(digits, sizeof digits, "%ju", (uintmax_t)++last_sequence);
    cr_assert_lt(reply->n, sizeof numbered / sizeof numbered[0]);
    memcpy(numbered, reply->elements, N_BEFORE * sizeof numbered[0]);
    numbered[N_BEFORE] =
        (struct resp){.type = RESP_STRING, .text = digits, .length = strlen(digits)};
    memcpy(numbered + N_BEFORE + 1, reply->elements + N_BEFORE,
        (reply->n - N_BEFORE) * sizeof numbered[0]);
    reply->elements = numbered;
    reply->n++;
}

static void answer_tag(uint64_t tag, const char *text)
{
    struct text with_ids = TEXT_INIT;
    bool is_list = *text != '-';
    text_add(&with_ids, is_list ? "[ " : "");
    add_with_ids(&with_ids, text, strlen(text));
    text_add(&with_ids, is_list ? " ]" : "");
    struct resp reply = *resp_of(with_ids.bytes);
    text_deinit(&with_ids);
    number_reply(&reply);
    session_reply(session, tag, &reply, now, &world_effects);
    carry_out();
    core_check(core);
}

void answer(const char *text)
{
    cr_assert(first_unanswered < n_sent);
    answer_tag(unanswered[first_unanswered++], text);
}

void answer_next(const char *text)
{
    cr_assert_str_neq(next_call(), "nothing");
    answer(text);
}

void answer_later(size_t n, const char *text)
{
    cr_assert(first_unanswered + n < n_sent);
    uint64_t tag = unanswered[first_unanswered + n];
    memmove(unanswered + first_unanswered + 1, unanswered + first_unanswered, n * sizeof tag);
    first_unanswered++;
    answer_tag(tag, text);
}

void message(const char *text)
{
    struct text bytes = TEXT_INIT;
    add_with_ids(&bytes, text, strlen(text));
    session_message(session, bytes.bytes, bytes.length, now, &world_effects);
    text_deinit(&bytes);
    carry_out();
    core_check(core);
}

void hear(unsigned newest, const char *rows)
{
    struct text text = TEXT_INIT;
    text_add_format(&text, "news %u 0", newest);
    message(text.bytes);
    CALL_BEGINS("hello news ");
    text.length = 0;
    text_add_format(&text, "ok -1 0 %u 0 %s", newest, rows);
    answer(text.bytes);
    text_deinit(&text);
}

/* The word at *textp, without its quotes. */
static bool take_word(const char **textp, char *word, size_t size)
{
    const char *text = *textp + strspn(*textp, " ");
    bool is_quoted = *text == '\'';
    text += is_quoted;
    size_t n = strcspn(text, is_quoted ? "'" : " ");
    snprintf(word, size, "%.*s", (int)n, text);
    *textp = text + n + is_quoted;
    return n > 0 || is_quoted;
}

/* Adds the claims of a listed lease, N of them, as answers have them. */
static void add_claims(struct text *out, const char **callp, unsigned long n)
{
    char words[6][512]; /* NAME DEFINITION COUNT LIMIT TOKEN UNITS */
    for (unsigned long i = 0; i < n; i++) {
        for (size_t k = 0; k < 6; k++) {
            take_word(callp, words[k], sizeof words[k]);
        }
        text_add_format(
            out, "%s%s %s %s %s", i > 0 ? "|" : "", words[0], words[2], words[4], words[5]);
    }
}

/* Every definition is stored, every lease is as it was listed. */
static void answer_hello(const char *call)
{
    struct text out = TEXT_INIT;
    char words[10][512], phase[16];
    call += strlen("hello");
    take_word(&call, phase, sizeof phase);
    text_add(&out, "ok -1 0");
    if (strcmp(phase, "end") == 0) {
        text_add(&out, " ''");
    } else if (strcmp(phase, "news") == 0) {
        text_add(&out, " 0 0");
    } else if (strcmp(phase, "change") == 0) {
        text_add(&out, " 0");
    } else if (strcmp(phase, "define") == 0) {
        while (take_word(&call, words[0], sizeof words[0])) {
            take_word(&call, words[1], sizeof words[0]);
            take_word(&call, words[2], sizeof words[0]);
            text_add_format(&out, " '%s' stored '%s'", words[0], words[2]);
        }
    } else if (strcmp(phase, "lease") == 0) {
        while (take_word(&call, words[0], sizeof words[0])) {
            for (int i = 1; i < 10; i++) {
                take_word(&call, words[i], sizeof words[0]);
            }
            text_add_format(&out, " '%s' %s '%s' '", words[0], words[1], words[3]);
            add_claims(&out, &call, strtoul(words[9], NULL, 10));
            text_add(&out, "'");
            take_word(&call, words[0], sizeof words[0]); /* HELDFOR */
        }
    }
    answer(out.bytes);
    text_deinit(&out);
}

/* The answer to the first call of a hello. */
static void answer_begin(const char *rest)
{
    char begun[128];
    CALL_BEGINS("hello begin");
    snprintf(begun, sizeof begun, "ok -1 0 '%ju' %s", (uintmax_t)view()->incarnation, rest);
    answer(begun);
}

void begin_hello(const char *rest)
{
    answer_begin(rest);
    CALL_ANSWERED("hello news 0", "ok -1 0 0 0");
    CALL_BEGINS("hello define ");
    answer("ok -1 0");
}

void say_hello(const char *rest)
{
    answer_begin(rest);
    while (view()->state == SESSION_LISTING) {
        const char *call = next_call();
        cr_assert(strncmp(call, "hello ", 6) == 0, "%s", call);
        answer_hello(call);
    }
}

void go_up(void)
{
    connect_link();
    say_hello("30000 '0' 1 1");
}

void go_up_and_send_two_calls(void)
{
    go_up();
    redefine(5, 1000, 2);
    CALL_BEGINS("hello define ");
    message("news 9 0");
    CALL("hello news 0");
}
