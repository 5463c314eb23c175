#include "bench/redis.h"

#include "bench/bench.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_DEPTH = 256,
    COMMAND_SIZE = 2048,
    ANSWERS_SIZE = 1 << 20,
    ID_BYTES = 8,
    MAX_WORDS = 64,
};

static const char session[] = "00000000deadbeef";

struct redis {
    int fd;
    char layouts[24];
    const char *prefix;
    char incarnation[24];
    unsigned next_id, oldest_id;
    /* with ID_BYTES of zeros in place of the id */
    char acquire[COMMAND_SIZE], release[COMMAND_SIZE];
    size_t acquire_length, release_length, acquire_id, release_id;
    char batch[MAX_DEPTH * COMMAND_SIZE];
    char answers[ANSWERS_SIZE + 1];
};

/* ---- RESP ---- */

static char *add_word(char *out, const char *word, size_t n)
{
    out += sprintf(out, "$%zu\r\n", n);
    memcpy(out, word, n);
    return (char *)memcpy(out + n, "\r\n", 2) + 2;
}

static size_t command_of(char *out, size_t n, const char *const words[])
{
    char *at = out + sprintf(out, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++) {
        at = add_word(at, words[i], strlen(words[i]));
    }
    return (size_t)(at - out);
}

/* Where the value at `at` ends; NULL if it is incomplete. */
static const char *end_of_value(const char *at, const char *end)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));
    if (!line) {
        return NULL;
    }
    long n = strtol(at + 1, NULL, 10);
    line++;
    if (*at == '$') {
        return n < 0 ? line : end - line >= n + 2 ? line + n + 2 : NULL;
    }
    for (long i = 0; *at == '*' && i < n && line; i++) {
        line = end_of_value(line, end);
    }
    return line;
}

/* Reads `n` answers into redis->answers; the server sends no others. */
static void read_answers(struct redis *redis, unsigned n)
{
    size_t length = 0;
    const char *at = redis->answers;
    while (n > 0) {
        ssize_t now = read(redis->fd, redis->answers + length, ANSWERS_SIZE - length);
        if (now <= 0) {
            bench_fail("Redis has closed the connection, or answers too much");
        }
        length += (size_t)now;
        redis->answers[length] = '\0';
        for (const char *next; n > 0 && (next = end_of_value(at, redis->answers + length));) {
            at = next;
            n--;
        }
    }
}

static char *ask(struct redis *redis, size_t n, const char *const words[])
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        length += strlen(words[i]) + 32;
    }
    char *bytes = malloc(length + 32);
    if (!bytes) {
        bench_fail("out of memory");
    }
    bench_write(redis->fd, bytes, command_of(bytes, n, words));
    free(bytes);
    read_answers(redis, 1);
    if (redis->answers[0] == '-') {
        bench_fail(redis->answers);
    }
    return redis->answers;
}

/* ---- scripts ---- */

struct words {
    size_t n;
    const char *words[MAX_WORDS];
    char keys[N_SCRIPT_KEYS][SCRIPT_KEY_BYTES];
};

/* "FCALL function N KEYS LAYOUTS SEQUENCE SESSION INCARNATION" and the words that follow, up to a
 * NULL. */
static void words_init(struct words *words, const struct redis *redis, enum script script, ...)
{
    va_list more;
    size_t n = 0;
    words->words[n++] = "FCALL";
    words->words[n++] = script_sets[0].functions[script];
    words->words[n++] = SCRIPT_KEYS_WORD;
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        snprintf(words->keys[i], SCRIPT_KEY_BYTES, "{%s}:%s", redis->prefix, script_key_words[i]);
        words->words[n++] = words->keys[i];
    }
    words->words[n++] = redis->layouts;
    words->words[n++] = "0-0";
    words->words[n++] = session;
    words->words[n++] = redis->incarnation;
    va_start(more, script);
    for (const char *word; (word = va_arg(more, const char *));) {
        words->words[n++] = word;
    }
    va_end(more);
    words->n = n;
}

#define call(redis, ...)                                                                           \
    do {                                                                                           \
        struct words words_;                                                                       \
        words_init(&words_, redis, __VA_ARGS__, (char *)NULL);                                     \
        expect_ok(ask(redis, words_.n, words_.words));                                             \
    } while (0)

static void expect_ok(const char *answer)
{
    const char *word = strchr(answer, '$');
    if (!word || strncmp(word, "$2\r\nok\r\n", 8) != 0) {
        bench_fail(answer);
    }
}

/* The nth bulk string or integer of an array's text, counted from 0: up to its CR. */
static void element(char *out, size_t size, const char *answer, unsigned n)
{
    const char *end = answer + strlen(answer);
    const char *at = strchr(answer, '\n') + 1;
    while (n-- > 0) {
        at = end_of_value(at, end);
    }
    at = *at == '$' ? strchr(at, '\n') + 1 : at + 1;
    snprintf(out, size, "%.*s", (int)strcspn(at, "\r"), at);
}

static const char nothing_library[] =
    "#!lua name=nothing\nredis.register_function('nothing', function() return 0 end)";
static const char call_nothing[] = "*3\r\n$5\r\nFCALL\r\n$7\r\nnothing\r\n$1\r\n0\r\n";

static void load_library(struct redis *redis)
{
    ask(redis, 4, (const char *const[]){"FUNCTION", "LOAD", "REPLACE", nothing_library});
    ask(redis, 4,
        (const char *const[]){"FUNCTION", "LOAD", "REPLACE", script_sets[0].library});
}

/* An earlier run may have left the session behind: then this is its next incarnation. */
static void say_hello(struct redis *redis)
{
    char is_new[8] = "0", last[sizeof redis->incarnation] = "0";
    for (int i = 0; i < 2 && strcmp(is_new, "1") != 0; i++) {
        snprintf(redis->incarnation, sizeof redis->incarnation, "%lld", atoll(last) + 1);
        call(redis, SCRIPT_HELLO, "begin", "30000", "1000", "bare", "0", "0", "30000");
        element(last, sizeof last, redis->answers, 4);
        element(is_new, sizeof is_new, redis->answers, 7);
    }
    call(redis, SCRIPT_HELLO, "end", "");
}

/* The place of the id's zeros in `command`. */
static size_t place_of_id(const char *command, size_t length)
{
    const char *at = memmem(command, length, "\r\n00000000\r\n", ID_BYTES + 4);
    return at ? (size_t)(at - command) + 2 : 0;
}

static void make_commands(struct redis *redis, const char *name)
{
    struct words words;
    words_init(&words, redis, SCRIPT_ACQUIRE, "00000000", "0", "0", "0", "1000", "1000", "",
        "pid=1 uid=1000 program=job", "", "1", name, name, "1", "1000", (char *)NULL);
    redis->acquire_length = command_of(redis->acquire, words.n, words.words);
    redis->acquire_id = place_of_id(redis->acquire, redis->acquire_length);
    words_init(&words, redis, SCRIPT_RELEASE, "00000000", (char *)NULL);
    redis->release_length = command_of(redis->release, words.n, words.words);
    redis->release_id = place_of_id(redis->release, redis->release_length);
}

struct redis *redis_new(const char *socket, const char *prefix, const char *name)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (!redis || strlen(prefix) > 32 || strlen(name) > 64) {
        bench_fail("out of memory, or a name that is too long");
    }
    redis->fd = bench_connect(socket);
    redis->prefix = prefix;
    const struct layouts layouts = script_layouts;
    snprintf(redis->layouts, sizeof redis->layouts, "%u-%u", layouts.from, layouts.to);
    redis->next_id = redis->oldest_id = 1;
    load_library(redis);
    say_hello(redis);
    make_commands(redis, name);
    return redis;
}

void redis_renew(struct redis *redis)
{
    call(redis, SCRIPT_RENEW, "0");
}

/* Sends the command `depth` times, each time with the next id from `*id` on. */
static void send_batch(struct redis *redis, const char *command, size_t length, size_t place,
    unsigned depth, unsigned *id)
{
    char *out = redis->batch;
    if (depth > MAX_DEPTH) {
        bench_fail("the depth is too large");
    }
    for (unsigned i = 0; i < depth; i++) {
        char digits[ID_BYTES + 1];
        snprintf(digits, sizeof digits, "%08u", (*id)++ % 100000000);
        memcpy(out, command, length);
        memcpy(out + place, digits, ID_BYTES);
        out += length;
    }
    bench_write(redis->fd, redis->batch, (size_t)(out - redis->batch));
    read_answers(redis, depth);
}

void redis_acquire(struct redis *redis, unsigned depth)
{
    send_batch(
        redis, redis->acquire, redis->acquire_length, redis->acquire_id, depth, &redis->next_id);
    const char *answer = redis->answers;
    for (unsigned i = 0; i < depth; i++) {
        answer = strstr(answer, "$7\r\ngranted\r\n");
        if (!answer) {
            bench_fail(redis->answers);
        }
        answer++;
    }
}

void redis_release(struct redis *redis, unsigned depth)
{
    send_batch(
        redis, redis->release, redis->release_length, redis->release_id, depth, &redis->oldest_id);
    expect_ok(redis->answers);
}

void redis_nothing(struct redis *redis, unsigned depth)
{
    const size_t length = sizeof call_nothing - 1;
    for (unsigned i = 0; i < depth; i++) {
        memcpy(redis->batch + i * length, call_nothing, length);
    }
    bench_write(redis->fd, redis->batch, depth * length);
    read_answers(redis, depth);
}
