/* What a url of [redis] says, and what is wrong with a bad one. */
#include "conf/redis_url.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(redis_url, .timeout = 20);

/* As one line: scheme, hosts, path, user, password, master, db. */
static void describe(const struct redis_url *url, char *out, size_t size)
{
    static const char *const schemes[] = {
        [REDIS_TCP] = "tcp", [REDIS_UNIX] = "unix", [REDIS_SENTINEL] = "sentinel"};
    FILE *file = fmemopen(out, size, "w");
    fprintf(file, "%s%s", url->is_tls ? "tls " : "", schemes[url->scheme]);
    for (size_t i = 0; i < url->n_hosts; i++) {
        fprintf(file, " %s,%d", url->hosts[i].host, url->hosts[i].port);
    }
    const struct {
        const char *word, *text;
    } texts[] = {{"path", url->path}, {"user", url->user}, {"password", url->password},
        {"master", url->master}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text) {
            fprintf(file, " %s=%s", texts[i].word, texts[i].text);
        }
    }
    fprintf(file, " db=%u", url->db);
    fclose(file);
}

static const struct {
    const char *text, *expected;
} good[] = {
    {"redis://h", "tcp h,6379 db=0"},
    {"redis://h/", "tcp h,6379 db=0"},
    {"redis://h:1/2", "tcp h,1 db=2"},
    {"redis://h:65535/2147483647", "tcp h,65535 db=2147483647"},
    {"REDIS://h_1.example-2.org", "tcp h_1.example-2.org,6379 db=0"},
    {"redis://127.0.0.1:6380", "tcp 127.0.0.1,6380 db=0"},
    {"redis://[::1]", "tcp ::1,6379 db=0"},
    {"redis://[::1]:7/3", "tcp ::1,7 db=3"},
    {"redis://[fe80::1%25eth0]:7", "tcp fe80::1%eth0,7 db=0"},
    {"redis://a,b:7,[::1]:8", "tcp a,6379 b,7 ::1,8 db=0"},
    {"redis://u:p@a,b/", "tcp a,6379 b,6379 user=u password=p db=0"},
    {"redis://u:p@h", "tcp h,6379 user=u password=p db=0"},
    {"redis://:p@[::1]:7", "tcp ::1,7 password=p db=0"},
    {"redis://u@h", "tcp h,6379 user=u db=0"},
    {"redis://u:@h", "tcp h,6379 user=u db=0"},
    {"redis://:@h", "tcp h,6379 db=0"},
    {"redis://@h", "tcp h,6379 db=0"},
    {"redis://u%3a1:a:b%40%2F%25=;#?\"@h/1", "tcp h,6379 user=u:1 password=a:b@/%=;#?\" db=1"},
    {"redis://u:\xc3\xa4%c3%a4@h", "tcp h,6379 user=u password=\xc3\xa4\xc3\xa4 db=0"},
    {"unix:///run/redis.sock", "unix path=/run/redis.sock db=0"},
    {"unix:///run/redis.sock?db=4", "unix path=/run/redis.sock db=4"},
    {"unix://u:p@/a@b:c,d", "unix path=/a@b:c,d user=u password=p db=0"},
    {"unix://:p%2f@/a%20b%3F%25", "unix path=/a b?% password=p/ db=0"},
    {"sentinel://a", "sentinel a,26379 master=mymaster db=0"},
    {"sentinel://a/", "sentinel a,26379 master=mymaster db=0"},
    {"rediss://h", "tls tcp h,6379 db=0"},
    {"Rediss://:p@[::1]:6380/1", "tls tcp ::1,6380 password=p db=1"},
    {"sentinels://a,b:1/m", "tls sentinel a,26379 b,1 master=m db=0"},
    {"sentinel://a//3", "sentinel a,26379 master=mymaster db=3"},
    {"sentinel://a,b:1,[::1]:2/m", "sentinel a,26379 b,1 ::1,2 master=m db=0"},
    {"sentinel://u:p@a,b/my%2Fmaster/3",
        "sentinel a,26379 b,26379 user=u password=p master=my/master db=3"},
    {"sentinel://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16/m/0",
        "sentinel 1,26379 2,26379 3,26379 4,26379 5,26379 6,26379 7,26379 8,26379 9,26379 10,26379 "
        "11,26379 12,26379 13,26379 14,26379 15,26379 16,26379 master=m db=0"},
};

Test(redis_url, what_it_says)
{
    char text[1024];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct redis_url url;
        const char *wrong = redis_url_parse(good[i].text, &url);
        cr_expect_null(wrong, "%s: %s", good[i].text, wrong);
        if (!wrong) {
            describe(&url, text, sizeof text);
            cr_expect_str_eq(text, good[i].expected);
        }
        redis_url_deinit(&url);
    }
}

#define SCHEME                                                                                     \
    "must begin with redis://, unix:// or sentinel://, or for TLS with rediss:// or sentinels://"
#define ESCAPE                                                                                     \
    "a % in it is not followed by two hexadecimal digits other than 00 (write a % itself as "      \
    "%25)"
#define PORT "a port is a number from 1 to 65535"
#define DB "the database is a number, from 0"
#define QUESTION "the number of the database follows a slash, as in redis://HOST/2"
#define HOST "a host is not a name or an address"
#define NO_HOST "a host name is empty"
#define BRACKETS "the text in brackets is not an IPv6 address"
#define AT "write an @ in the user or password as %40"
#define SLASHES                                                                                    \
    "an absolute path is expected, with three slashes: unix:///PATH (write a / in a user or "    \
    "password as %2F)"
#define QUERY "only ?db=N may follow the path (write a ? of the path as %3F)"
#define CONTROL "it encodes a control character"

static const struct {
    const char *text, *expected;
} bad[] = {
    {"", SCHEME},
    {"h:6379", SCHEME},
    {"redis:h", SCHEME},
    {"/run/redis.sock", SCHEME},
    {"http://h", SCHEME},
    {"redis+unix://h", SCHEME},
    {"rediss://", NO_HOST},
    {"rediss:///run/redis.sock", NO_HOST},
    {"unixs:///run/redis.sock", SCHEME},
    {"redis://", NO_HOST},
    {"redis://:6379", NO_HOST},
    {"redis:///0", NO_HOST},
    {"redis://u:p@", NO_HOST},
    {"redis://a b", HOST},
    {"redis://a,", NO_HOST},
    {"redis://a b,c", HOST},
    {"redis://a,b/0,c", DB},
    {"redis://a?b", QUESTION},
    {"redis://h:1?db=2", QUESTION},
    {"redis://h/?db=2", QUESTION},
    {"sentinel://h/m?db=2", QUESTION},
    {"redis://a%41", HOST},
    {"redis://\xc3\xa4", HOST},
    {"redis://h:", PORT},
    {"redis://h:0", PORT},
    {"redis://h:65536", PORT},
    {"redis://h:06379", PORT},
    {"redis://h:+1", PORT},
    {"redis://h:x", PORT},
    {"redis://h:18446744073709551617", PORT},
    {"redis://h/x", DB},
    {"redis://h/-1", DB},
    {"redis://h/0/1", DB},
    {"redis://h/2147483648", DB},
    {"redis://h/0?x=y", QUESTION},
    {"redis://u:a/b@h", PORT},
    {"redis://u:p@q@h", AT},
    {"redis://u:%@h", ESCAPE},
    {"redis://u:%4@h", ESCAPE},
    {"redis://u:%zz@h", ESCAPE},
    {"redis://u%00v:p@h", ESCAPE},
    {"redis://u:%00@h", ESCAPE},
    {"redis://u:%0a@h", CONTROL},
    {"redis://u%7f:x@h", CONTROL},
    {"redis://h\n", "it has a control character"},
    {"redis://::1", "it has too many colons; write an IPv6 address in brackets: [::1]:6379"},
    {"redis://[::1", "a ] is missing after an IPv6 address"},
    {"redis://[::1]7", "only :PORT may follow an IPv6 address"},
    {"redis://[::1]:", PORT},
    {"redis://[]", BRACKETS},
    {"redis://[h]", BRACKETS},
    {"redis://[127.0.0.1]", BRACKETS},
    {"redis://[::1%25]", BRACKETS},
    {"redis://[::1%25a b]", BRACKETS},
    {"redis://[::1%]", BRACKETS},
    {"unix://", "there is no path"},
    {"unix://p@", "there is no path"},
    {"unix://run/redis.sock", SLASHES},
    {"unix://:a/b@/run/redis.sock", SLASHES},
    {"unix:///", "the path is that of a directory, not of a socket"},
    {"unix:///run/", "the path is that of a directory, not of a socket"},
    {"unix:///a?b=1", QUERY},
    {"unix:///a?", QUERY},
    {"unix:///a?db=", DB},
    {"unix:///a?db=x", DB},
    {"unix:///a%00", ESCAPE},
    {"unix:///a%0a", CONTROL},
    {"unix://u:p:%@/a", ESCAPE},
    {"sentinel://", NO_HOST},
    {"sentinel:///m", NO_HOST},
    {"sentinel://a,", NO_HOST},
    {"sentinel://a,,b", NO_HOST},
    {"sentinel://a:1,b:0", PORT},
    {"sentinel://a/m/x", DB},
    {"sentinel://a/m/1/2", DB},
    {"sentinel://a/%", ESCAPE},
    {"sentinel://a/%1f", CONTROL},
    {"sentinel://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "it has more than 16 hosts"},
    {"redis://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "it has more than 16 hosts"},
};

Test(redis_url, what_is_wrong)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct redis_url url;
        const char *wrong = redis_url_parse(bad[i].text, &url);
        cr_expect(wrong && strcmp(wrong, bad[i].expected) == 0, "%s: %s", bad[i].text, wrong);
        redis_url_deinit(&url);
    }
}

static const char *parse_filled(const char *before, char c, size_t n, const char *after)
{
    char text[1024];
    struct redis_url url;
    size_t length = strlen(before);
    memcpy(text, before, length);
    memset(text + length, c, n);
    strcpy(text + length + n, after);
    const char *wrong = redis_url_parse(text, &url);
    redis_url_deinit(&url);
    return wrong;
}

Test(redis_url, lengths_end_where_they_say)
{
    cr_expect_null(parse_filled("unix:///", 'x', 106, ""));
    cr_expect_null(parse_filled("unix:///", 'x', 105, "%20?db=1"));
    cr_expect_str_eq(
        parse_filled("unix:///", 'x', 107, ""), "the path of a Unix socket has at most 107 bytes");
    cr_expect_null(parse_filled("redis://", 'h', 253, ":1"));
    cr_expect_str_eq(parse_filled("redis://", 'h', 254, ":1"), HOST);
}
