/* [redis] sections, and resources of scope = fleet: what arrives, what does not fit, and what only
 * a restart changes. */
#include "config.h"

#include "base/text.h"
#include "conf_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(conf_fleet, .init = conf_test_init, .fini = scratch_end, .timeout = 20);

#define SECOND NANOSECONDS_PER_SECOND
#define REDIS "[redis]\nurl = redis://h\n"
#define SENTINEL "[redis]\nurl = sentinel://h/m\n"
#define LAG                                                                                        \
    "failover-lag must be at most 0.94 ttl: raise the ttl, or lower failover-lag and the "         \
    "servers' min-replicas-max-lag"
#define TLS "[redis]\nurl = rediss://h\n"

/* ---- what arrives ---- */

Test(conf_fleet, defaults)
{
    struct conf *conf = load_good(REDIS "[lock a]\nscope = fleet\n[lock b]\n");
    cr_assert_eq(conf->n_databases, 1);
    const struct database *database = &conf->databases[0];
    cr_expect_str_eq(database->name, "default");
    cr_expect_str_eq(database->url_text, "redis://h");
    cr_expect_eq(database->url.scheme, REDIS_TCP);
    cr_expect_str_eq(database->url.hosts[0].host, "h");
    cr_expect_null(database->password_file);
    cr_expect_null(database->sentinel_password_file);
    cr_expect_null(database->sentinel_user);
    cr_expect_eq(database->acknowledged, 0);
    cr_expect_str_eq(database->prefix, "berth");
    cr_expect_not(database->is_cluster);
    cr_expect_eq(database->ttl, 30 * SECOND);
    cr_expect_eq(database->failover_lag, 13 * SECOND);
    cr_expect_eq(database->history, 10000);
    cr_expect_eq(database->generation, 0);
    cr_expect_eq(conf->definitions[0].database, 1);
    cr_expect_eq(conf->definitions[1].database, 0);
    conf_free(conf);
}

#ifdef HAVE_OPENSSL
Test(conf_fleet, each_key_of_tls_arrives)
{
    struct conf *conf = load_good(
        TLS "[redis b]\nurl = sentinels://h\nca-file = /ca\ncert-file = credential:c\n"
            "key-file = /k\nserver-name = redis.example.org\ntls-min-version = 1.3\n");
    const struct database *plain = &conf->databases[0], *all = &conf->databases[1];
    cr_expect(plain->url.is_tls && all->url.is_tls);
    cr_expect(!plain->ca_file && !plain->cert_file && !plain->key_file && !plain->server_name);
    cr_expect_eq(plain->tls_min_version, TLS_MIN_1_2);
    cr_expect_str_eq(all->ca_file, "/ca");
    cr_expect_str_eq(all->cert_file, "credential:c");
    cr_expect_str_eq(all->key_file, "/k");
    cr_expect_str_eq(all->server_name, "redis.example.org");
    cr_expect_eq(all->tls_min_version, TLS_MIN_1_3);
    conf_free(conf);
}

/* Without another url, they do nothing and change nothing. */
Test(conf_fleet, a_reload_changes_the_keys_of_tls)
{
    struct conf_errors changes = CONF_ERRORS_INIT;
    struct conf *running = load_good(TLS "ca-file = /old\nserver-name = old\n");
    struct conf *loaded = reload_good(running,
        TLS "ca-file = /new\ncert-file = /c\nkey-file = /k\ntls-min-version = 1.3\n");
    const struct database *database = &running->databases[0];
    conf_fixed_changes(running, loaded, &changes);
    cr_expect_eq(changes.n, 0);
    conf_keep_fixed(running, loaded);
    cr_expect_eq(&loaded->databases[0], database); /* it has moved there */
    cr_expect_str_eq(database->ca_file, "/new");
    cr_expect_str_eq(database->cert_file, "/c");
    cr_expect_str_eq(database->key_file, "/k");
    cr_expect_null(database->server_name);
    cr_expect_eq(database->tls_min_version, TLS_MIN_1_3);
    conf_free(running);
    running = loaded;
    loaded = reload_good(running, REDIS);
    conf_keep_fixed(running, loaded);
    cr_expect_str_eq(loaded->databases[0].ca_file, "/new");
    conf_free(running);
    conf_free(loaded);
}
#endif

Test(conf_fleet, each_key_arrives)
{
    struct conf *conf = load_good("[lock a/*]\nscope = fleet\nredis = x@1\n"
                                  "[redis]\nurl = unix:///s\n"
                                  "[redis x@1]\n"
                                  "url = sentinel://u@s1:1,\n  s2,\n\ts3/m/4\n"
                                  "ttl = 6\n"
                                  "failover-lag = 0\n"
                                  "history = 1000000\n"
                                  "password-file = credential:redis.pw\n"
                                  "sentinel-password-file = /etc/pw\n"
                                  "sentinel-user = su\n"
                                  "acknowledge = persistence no-info\n"
                                  "prefix = a.b_C-9\n"
                                  "generation = 9007199254740991\n"
                                  "[pool p]\nitems = i\nscope = fleet\nredis = default\n");
    cr_assert_eq(conf->n_databases, 2);
    const struct database *database = &conf->databases[1];
    cr_expect_str_eq(database->name, "x@1");
    cr_expect_str_eq(database->url_text, "sentinel://u@s1:1,s2,s3/m/4");
    cr_expect_eq(database->url.n_hosts, 3);
    cr_expect_str_eq(database->url.master, "m");
    cr_expect_str_eq(database->url.user, "u");
    cr_expect_eq(database->url.db, 4);
    cr_expect_eq(database->ttl, 6 * SECOND);
    cr_expect_eq(database->failover_lag, 0);
    cr_expect_eq(database->history, 1000000);
    cr_expect_str_eq(database->password_file, "credential:redis.pw");
    cr_expect_str_eq(database->sentinel_password_file, "/etc/pw");
    cr_expect_str_eq(database->sentinel_user, "su");
    cr_expect_eq(database->acknowledged, 1U << FAULT_no_info | 1U << FAULT_persistence);
    cr_expect_str_eq(database->prefix, "a.b_C-9");
    cr_expect_eq(database->generation, UINT64_C(9007199254740991));
    cr_expect_eq(conf->definitions[0].database, 2);
    cr_expect_eq(conf->definitions[1].database, 1);
    conf_free(conf);
}

Test(conf_fleet, a_database_that_nobody_uses_and_one_that_comes_later)
{
    write_text("more", REDIS "[redis spare]\nurl = redis://h/1\n");
    expect_errors("[daemon]\ninclude = more\n[lock a]\nscope = fleet\n", "");
}

Test(conf_fleet, a_quarter_of_the_ttl_is_left_for_killing)
{
    static const struct {
        const char *ttl;
        nanoseconds kill_after;
    } rows[] = {{"6s", 3 * SECOND / 2}, {"30s", 15 * SECOND / 2}, {"40s", 10 * SECOND},
        {"1h", 10 * SECOND}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, REDIS "ttl = %s\n[lock a]\nscope = fleet\n", rows[i].ttl);
        struct conf *conf = load_good(text);
        cr_expect_eq(conf->definitions[0].kill_after, rows[i].kill_after, "%s", rows[i].ttl);
        conf_free(conf);
    }
}

/* ---- sections ---- */

#define NAME_RULE                                                                                  \
    "not a valid name: 1 to 128 bytes of A-Z a-z 0-9 . _ @ + -, beginning with a letter or digit"
#define URL_FORM                                                                                   \
    "expected a URL: redis://HOST, unix:///PATH or sentinel://HOST,HOST/MASTER; with TLS "         \
    "rediss:// or sentinels://"
#define SENTINELS "[redis]\nurl = sentinels://h\n"
#define NO_TLS "is only for a url of rediss:// or sentinels://"
#ifdef HAVE_OPENSSL
#define IS_BUILT ""
#else
#define IS_BUILT "t.conf:2: [redis] url: this berthd was built without TLS"
#endif
#define SEVERAL                                                                                    \
    "has several hosts, which needs cluster = yes (or sentinel://, if they are sentinels)"
#define NODES "with cluster = yes it is redis://HOST:PORT,HOST:PORT: some nodes of the cluster"
#define SECRET_FORM "not an absolute path of at most 140 bytes, or credential:NAME"

struct text_and_errors {
    const char *text, *expected;
};

static const struct text_and_errors sections[] = {
    {"[redis a/b]\n", "t.conf:1: [redis a/b]: " NAME_RULE},
    {"[redis -a]\n", "t.conf:1: [redis -a]: " NAME_RULE},
    {"[redis a/*]\n", "t.conf:1: [redis a/*]: " NAME_RULE},
    {"[redis a b]\nurl = redis://h\n", "t.conf:1: [redis a b]: has more than one name"},
    {REDIS "[redis default]\nurl = redis://g\n",
        "t.conf:3: [redis default]: this database appears twice, first in line 1"},
    {REDIS REDIS, "t.conf:3: [redis]: this database appears twice, first in line 1"},
    {"[redys]\n",
        "t.conf:1: [redys]: unknown kind of section (did you mean redis?); there are "
        "[daemon], [redis NAME], [semaphore NAME], [lock NAME] and [pool NAME]"},
    {"[redis]\nttl = 7s\n",
        "t.conf:1: [redis] url: is missing (redis://HOST:PORT/DB, unix:///PATH or "
        "sentinel://HOST,HOST,HOST/MASTER, with TLS rediss:// or sentinels://; may continue on "
        "indented lines)"},
    {"[redis]\nurl =\n", "t.conf:2: [redis] url: has no value; " URL_FORM},
    {"[redis]\nulr = redis://:secret@h\n", "t.conf:2: [redis] ulr: unknown key; did you mean url?"},
    {"[redis]\nurl = redis://h\ndb = 2\n",
        "t.conf:3: [redis] db: unknown key; host, port, user, password and database are parts "
        "of url"},
    /* TLS */
    {TLS, IS_BUILT},
    {SENTINELS, IS_BUILT},
    {TLS "ca-file = /ca\ncert-file = credential:c\nkey-file = credential:k\nserver-name = ::1\n"
         "tls-min-version = 1.3\n",
        IS_BUILT},
    {REDIS "ca-file = /ca\n", "t.conf:3: [redis] ca-file: " NO_TLS},
    {REDIS "cert-file = /c\nkey-file = /k\n",
        "t.conf:3: [redis] cert-file: " NO_TLS "\nt.conf:4: [redis] key-file: " NO_TLS},
#ifdef HAVE_OPENSSL
    {TLS "cert-file = /c\n", "t.conf:3: [redis] cert-file: needs key-file as well"},
    {TLS "key-file = /k\n", "t.conf:3: [redis] key-file: needs cert-file as well"},
    {TLS "tls-min-version = 1.1\n", "t.conf:3: [redis] tls-min-version: \"1.1\" is not 1.2 or 1.3"},
    {TLS "server-name = .h\n",
        "t.conf:3: [redis] server-name: \".h\" is not the name of a host, or an address"},
    {TLS "server-name = h*\n",
        "t.conf:3: [redis] server-name: \"h*\" is not the name of a host, or an address"},
    {TLS "ca-file = hush.pem\n", "t.conf:3: [redis] ca-file: " SECRET_FORM},
#endif
    {REDIS "server-name = h\n", "t.conf:3: [redis] server-name: " NO_TLS},
    {REDIS "tls-min-version = 1.2\n", "t.conf:3: [redis] tls-min-version: " NO_TLS},
    {REDIS "limit = 1\n",
        "t.conf:3: [redis] limit: is not allowed in this kind of section; it belongs in "
        "[semaphore] or "
        "[lock]"},
    {"[lock a]\nttl = 5s\n",
        "t.conf:2: [lock a] ttl: is not allowed in this kind of section; it belongs in [redis]"},
    /* two */
    {REDIS "[redis b]\nurl = redis://h\n",
        "t.conf:4: [redis b] url: is the same as that of [redis], and so is the prefix: they would "
        "be one database"},
    {REDIS "[redis b]\nprefix = b\nurl = redis://h\n[redis c]\nurl = redis://\n h\nprefix = b\n",
        "t.conf:7: [redis c] url: is the same as that of [redis b], and so is the prefix: they "
        "would be one database"},
    {REDIS "[redis b]\nurl = redis://h\nprefix = b\n", ""},
    /* clusters */
    {"[redis]\nurl = redis://a,b\n", "t.conf:2: [redis] url: " SEVERAL},
    {"[redis]\nurl = redis://a,b\ncluster = no\n", "t.conf:2: [redis] url: " SEVERAL},
    {"[redis]\ncluster = yes\nurl = redis://u:p@a,\n b:7000,\n c\n", ""},
    {"[redis]\nurl = redis://a/0\ncluster = yes\n", ""},
    {"[redis]\nurl = redis://a/1\ncluster = yes\n",
        "t.conf:2: [redis] url: a Redis Cluster has only database 0; give each database of Berth "
        "a prefix of its own"},
    {"[redis]\nurl = unix:///s\ncluster = yes\n", "t.conf:2: [redis] url: " NODES},
    {"[redis]\nurl = sentinel://a\ncluster = yes\n", "t.conf:2: [redis] url: " NODES},
    {REDIS "cluster = maybe\n", "t.conf:3: [redis] cluster: \"maybe\" is not no or yes"},
    /* passwords */
    {"[redis]\nurl = redis://u@h\n",
        "t.conf:2: [redis] url: has a user, but neither a password nor a password-file"},
    {"[redis]\nurl = redis://u@h\npassword-file = /x\n", ""},
    {"[redis]\nurl = redis://:secret@h\npassword-file = /x\n",
        "t.conf:3: [redis] password-file: the url has a password already"},
    {REDIS "sentinel-password-file = /x\n",
        "t.conf:3: [redis] sentinel-password-file: is only for a url of sentinel:// or "
        "sentinels://"},
    {REDIS "sentinel-user = u\n",
        "t.conf:3: [redis] sentinel-user: needs a sentinel-password-file"},
    {REDIS "acknowledge = no-info none\n",
        "t.conf:3: [redis] acknowledge: \"none\" is not no-info, eviction or persistence"},
    {REDIS "password-file = secret\n", "t.conf:3: [redis] password-file: " SECRET_FORM},
    {REDIS "password-file = credential:\n", "t.conf:3: [redis] password-file: " SECRET_FORM},
    {REDIS "password-file = credential:..\n", "t.conf:3: [redis] password-file: " SECRET_FORM},
    {REDIS "password-file = credential:a/b\n", "t.conf:3: [redis] password-file: " SECRET_FORM},
    {REDIS "password-file = /x/\n", "t.conf:3: [redis] password-file: " SECRET_FORM},
    /* ranges */
    {REDIS "ttl = 5.999s\n",
        "t.conf:3: [redis] ttl: \"5.999s\" is not a duration from 6s to 1h, such as 30s or 5m (a "
        "plain number is seconds)"},
    {REDIS "ttl = 1h\nfailover-lag = 1h\ngeneration = 0\n", ""},
    {SENTINEL "ttl = 30s\nfailover-lag = 28.2s\n", ""},
    {SENTINEL "ttl = 30s\nfailover-lag = 28.3s\n", "t.conf:3: [redis] ttl: " LAG},
    {SENTINEL "failover-lag = 29s\n", "t.conf:3: [redis] failover-lag: " LAG},
    {SENTINEL "ttl = 13s\n", "t.conf:3: [redis] ttl: " LAG},
    {REDIS "failover-lag = 61m\n",
        "t.conf:3: [redis] failover-lag: \"61m\" is not a duration from 0s to 1h, such as 250ms, "
        "30s or 5m (a plain number is seconds)"},
    {REDIS "history = 0\n", ""},
    {REDIS "history = 1000001\n",
        "t.conf:3: [redis] history: \"1000001\" is not a number from 0 to 1000000"},
    {REDIS "generation = 9007199254740992\n",
        "t.conf:3: [redis] generation: \"9007199254740992\" is not a number from 0 to "
        "9007199254740991"},
    {REDIS "prefix = 1234567890123456789012345678901234567890\n", ""},
    {REDIS "prefix = 12345678901234567890123456789012345678901\n",
        "t.conf:3: [redis] prefix: \"12345678901234567890123456789012345678901\" is not 1 to 40 "
        "bytes of A-Z a-z 0-9 . _ -"},
    {REDIS "prefix = {a}\n",
        "t.conf:3: [redis] prefix: \"{a}\" is not 1 to 40 bytes of A-Z a-z 0-9 . _ -"},
};

static void expect_each(const struct text_and_errors rows[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        expect_errors(rows[i].text, rows[i].expected);
    }
}

Test(conf_fleet, sections)
{
    expect_each(sections, sizeof sections / sizeof sections[0]);
}

Test(conf_fleet, eight_databases_and_no_more)
{
    char text[1024] = "";
    for (char c = 'a'; c < 'a' + MAX_DATABASES; c++) {
        snprintf(text + strlen(text), 64, "[redis %c]\nurl = redis://%c\n", c, c);
    }
    expect_errors(text, "");
    strcat(text, "[redis z]\nurl = junk\n");
    expect_errors(text, "t.conf:17: [redis z]: there are more than 8 sections of this kind");
}

/* A password is written in so many wrong places. */
Test(conf_fleet, passwords_are_never_shown)
{
    static const char *const texts[] = {
        "[redis]\nurl = redis://u:hunter2@h:x\n",
        "[redis]\nurl = redis://u:hunter2@h q\n",
        "[redis]\nurl = redis://u:my hunter2@h\n",
        "[redis]\nurl = redis://u:x#hunter2@h/x\n",
        "[redis]\nurl = redis://u:x #hunter2@h/x\n",
        "[redis]\nurl = redis://u:%hunter2@h\n",
        "[redis]\nurl = hunter2\n",
        "[redis]\nurl redis://u:hunter2@h\n",
        "[redis]\nurl = x\n  redis://u:\"hunter2@h\n",
        "[redis]\nredis://u:hunter2@h\n",
        "[redis]\nURL = redis://u:hunter2@h\n",
        "[redis] url = redis://u:a]b\"hunter2@h\n",
        "[redis redis://u:hunter2@h]\n",
        "[redis://u:hunter2@h]\n",
        "[redis]\nurl = redis://h\npassword = hunter2\n",
        "[redis]\nurl = redis://h\npassword-file = hunter2\n",
        "[redis]\nurl = redis://h\npassword-file = credential:/hunter2\n",
        "[redis]\nurl = redis://h\nprefix = redis://u:hunter2@h\n",
        "[redis]\nurl = redis://h\nttl = redis://u:hunter2@h\n",
        "[redis]\nurl=redis://"
        "u:hunter2-123456789012345678901234567890123456789012345678901234567890"
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890@h\n",
        "[lock a]\nscope = redis://u:hunter2@h\n",
        "[lock a]\nscope = fleet\nredis = redis://u:hunter2@h\n",
        "[daemon]\ninclude = redis://u:hunter2@h\n",
        "[redis]\nurl = redis://u:hunter2@h/\xff\n",
        "[redis]\nurl = redis://u:hunter2@h\n[redis b]\nurl = redis://u:hunter2@h\n",
        "[redis]\nurl = rediss://u:hunter2@h,h\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conf_errors errors = CONF_ERRORS_INIT;
        cr_expect_null(load_bytes(texts[i], strlen(texts[i]), &errors), "%s", texts[i]);
        for (size_t j = 0; j < errors.n; j++) {
            cr_expect_null(strstr(errors.messages[j], "hunter2"), "%s", errors.messages[j]);
        }
        conf_errors_deinit(&errors);
    }
}

Test(conf_fleet, what_is_left_of_a_url_in_a_message)
{
    expect_errors("[lock a]\nlimit = x://host z\n",
        "t.conf:2: [lock a] limit: \"x://...\" is not a number from 0 to 1\n"
        "t.conf:2: [lock a] limit: has more than one word; expected a number from 0 to 1");
    expect_errors("[lock a]\nlimit = x://a@b://c@d\n",
        "t.conf:2: [lock a] limit: \"x://...d\" is not a number from 0 to 1");
    expect_errors(
        "[lock a]\nlimit = ://\n", "t.conf:2: [lock a] limit: \"://\" is not a number from 0 to 1");
    expect_errors("[lock a]\nlimit = ://x\n",
        "t.conf:2: [lock a] limit: \"://.\" is not a number from 0 to 1");
    expect_errors("[pool a]\nitems = x://a,b@c\n",
        "t.conf:2: [pool a] items: \"x://...c\": separate items with blanks, not commas");
}

/* ---- resources ---- */

static const struct text_and_errors uses[] = {
    {"[lock a]\n\nscope = fleet\n", "t.conf:3: [lock a] scope: there is no section [redis]"},
    {"[lock a]\nscope = fleet\n[redis b]\nurl = redis://h\n",
        "t.conf:2: [lock a] scope: there is no section [redis]; redis = NAME chooses another one"},
    {"[lock a]\nscope = fleet\nredis = two\n" REDIS,
        "t.conf:3: [lock a] redis: there is no section [redis two]"},
    {"[lock a]\nredis = large1\nscope = fleet\n[redis large]\nurl = redis://h\n",
        "t.conf:2: [lock a] redis: there is no section [redis large1]; did you mean [redis "
        "large]?"},
    {"[lock a]\nredis = a/b\nscope = fleet\n",
        "t.conf:2: [lock a] redis: \"a/b\" is not the name of a [redis NAME] section"},
    {REDIS "[lock a]\nredis = default\n", "t.conf:4: [lock a] redis: is only for scope = fleet"},
    {REDIS "[lock a]\nscope = host\nredis = default\n",
        "t.conf:5: [lock a] redis: is only for scope = fleet"},
    {REDIS "[lock a]\nscope = flete\nredis = default\n",
        "t.conf:4: [lock a] scope: \"flete\" is not host or fleet"},
    {REDIS "[lock a]\nscope = fleet\norder = first-fit\n",
        "t.conf:5: [lock a] order: not in fleet scope yet: first-fit is for scope = host; a "
        "fleet's order is fifo or fair"},
    {REDIS "[lock a]\nscope = fleet\norder = fair\nfair-by = share\n", ""},
    {REDIS "[lock a]\nscope = fleet\norder = fifo\n", ""},
    {REDIS "[lock a]\nkeep = 5s\nscope = fleet\n", ""},
    /* all in one run */
    {"[lock a]\nscope = fleet\nredis = x\n[redis]\nurl = junk\n[lock b]\nkill-after = 12s\n"
     "scope = fleet\norder = first-fit\n[lock c]\nredis = default\n",
        "t.conf:3: [lock a] redis: there is no section [redis x]\n"
        "t.conf:5: [redis] url: must begin with redis://, unix:// or sentinel://, or for TLS with "
        "rediss:// or sentinels://\n"
        "t.conf:7: [lock b] kill-after: stopping a job may take 16s (this and a third of it, at "
        "least 1s), and two renewals 10s: together not less than the 24950ms for which a lease is "
        "valid with ttl = 30s of [redis]; it may be at most 11200ms, or the ttl must be at least "
        "33s\n"
        "t.conf:9: [lock b] order: not in fleet scope yet: first-fit is for scope = host; a "
        "fleet's order is fifo or fair\n"
        "t.conf:11: [lock c] redis: is only for scope = fleet"},
};

Test(conf_fleet, resources)
{
    expect_each(uses, sizeof uses / sizeof uses[0]);
}

Test(conf_fleet, items)
{
    struct text text = TEXT_INIT;
    for (int n = 5000; n <= 5001; n++) {
        text.length = 0;
        text_add(&text, REDIS "[pool p]\nscope = fleet\nitems =");
        for (int i = 0; i < n; i++) {
            text_add_format(&text, "%s%d", i % 500 == 499 ? "\n " : " ", i);
        }
        text_add(&text, "\n");
        expect_errors(text.bytes, n == 5000 ? ""
                                            : "t.conf:5: [pool p] items: has more than 5000 items, "
                                              "the most that a pool in fleet scope can have");
    }
    text_deinit(&text);
}

/* ---- times ---- */

/* K + 2 T/6 < 0.84 T - 250ms: at 30s K < 14.95s, at 6s K < 2.79s. What is advised is valid. */
Test(conf_fleet, a_job_can_be_stopped_between_two_renewals_and_the_deadline)
{
    static const struct {
        const char *ttl, *kill_after, *on_lost,
            *advice; /* NULL: it fits; "": whatever is advised */
    } rows[] = {
        {"30s", "11212ms", "kill", NULL},
        {"30s", "11213ms", "kill", ""},
        {"6s", "1789ms", "kill", NULL},
        {"6s", "1790ms", "kill", ""},
        {"6s", "0", "kill", NULL},
        {"30s", "11213ms", "term", ""},
        {"30s", "1d", "warn", NULL},
        {"1h", "22m", "kill", NULL},
        {"6s", "10s", "kill", "; it may be at most 1700ms, or the ttl must be at least 27s"},
        {"6s", "1700ms", "kill", NULL},
        {"27s", "10s", "kill", NULL},
        {"26s", "10s", "kill", ""},
        {"7.5s", "2.6s", "kill", "; it may be at most 2500ms, or the ttl must be at least 8s"},
        {"1h", "1d", "kill", "; it may be at most 1403500ms"},
        {"1h", "1403500ms", "kill", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        struct conf_errors errors = CONF_ERRORS_INIT;
        snprintf(text, sizeof text,
            REDIS "ttl = %s\n[lock a]\nscope = fleet\nkill-after = %s\non-lost = %s\n", rows[i].ttl,
            rows[i].kill_after, rows[i].on_lost);
        struct conf *conf = load_bytes(text, strlen(text), &errors);
        cr_expect_eq(conf == NULL, rows[i].advice != NULL, "%s", text);
        cr_assert_eq(errors.n, rows[i].advice ? 1 : 0, "%s", text);
        if (rows[i].advice && rows[i].advice[0]) {
            cr_expect_str_eq(strrchr(errors.messages[0], ';'), rows[i].advice);
        }
        conf_errors_deinit(&errors);
        conf_free(conf);
    }
}

Test(conf_fleet, a_number_that_is_refused_is_not_compared)
{
    expect_errors("[redis]\nurl = redis://h\nttl = 2h\n[lock a]\nscope = fleet\nkill-after = 1m\n",
        "t.conf:3: [redis] ttl: \"2h\" is not a duration from 6s to 1h, such as 30s or 5m (a plain "
        "number is seconds)");
    expect_errors(REDIS "[lock a]\nscope = fleet\nkill-after = 2d\n",
        "t.conf:5: [lock a] kill-after: \"2d\" is not a duration from 0s to 1d, such as 250ms, "
        "30s, 5m or 2h (a plain number is seconds)");
}

/* ---- reload ---- */

#define TWO "[redis a]\nurl = redis://a\n[redis b]\nurl = redis://b\nttl = 60s\n"

Test(conf_fleet, databases_change_by_a_restart_only)
{
    struct conf *running = load_good(TWO "generation = 1\n[lock l]\nscope = fleet\nredis = b\n");
    const struct database *databases = running->databases;
    struct conf *loaded = reload_good(running,
        "[redis c]\nurl = redis://c\n"
        "[redis b]\nurl = redis://b/0\ncluster = yes\nttl = 40s\nfailover-lag = 1s\npassword-file = /x\n"
        "prefix = p\ngeneration = 2\n"
        "[lock m]\nscope = fleet\nredis = b\n");
    expect_fixed_changes(running, loaded,
        "the removal of [redis a]\nurl of [redis b]\ncluster of [redis b]\nttl of [redis b]\nfailover-lag of [redis b]\n"
        "password-file of [redis b]\nprefix of [redis b]\nthe new section [redis c]");
    conf_keep_fixed(running, loaded);
    conf_free(running);
    cr_expect_eq(loaded->databases, databases, "they stay where they are");
    cr_assert_eq(loaded->n_databases, 2);
    cr_expect_str_eq(loaded->databases[1].name, "b");
    cr_expect_str_eq(loaded->databases[1].url_text, "redis://b");
    cr_expect_eq(loaded->databases[1].generation, 2);
    cr_expect_eq(loaded->databases[0].generation, 0);
    cr_expect_eq(loaded->definitions[0].database, 2, "its number is that of the running one");
    cr_expect_eq(loaded->definitions[0].kill_after, 10 * SECOND);
    conf_free(loaded);
}

Test(conf_fleet, the_default_has_no_name_in_messages)
{
    struct conf *running = load_good(REDIS);
    struct conf *loaded = reload_good(running, "[redis default]\nurl = redis://g\n");
    expect_fixed_changes(running, loaded, "url of [redis]");
    conf_free(loaded);
    loaded = reload_good(running, "");
    expect_fixed_changes(running, loaded, "the removal of [redis]");
    expect_fixed_changes(loaded, running, "the new section [redis]");
    conf_free(loaded);
    conf_free(running);
}

Test(conf_fleet, the_number_is_that_of_the_running_database)
{
    struct conf *running = load_good(TWO);
    struct conf *loaded = reload_good(running,
        "[redis b]\nurl = redis://b\nttl = 60s\n[redis a]\nurl = redis://a\n"
        "[lock l]\nscope = fleet\nredis = a\n[lock m]\nscope = fleet\nredis = b\n");
    expect_fixed_changes(running, loaded, "");
    cr_expect_eq(loaded->definitions[0].database, 1);
    cr_expect_eq(loaded->definitions[1].database, 2);
    conf_free(loaded);
    conf_free(running);
}

Test(conf_fleet, a_new_database_cannot_be_used_before_the_next_start)
{
    struct conf *running = load_good(TWO);
    expect_reload_errors(running, TWO "[redis c]\nurl = redis://c\n", "");
    expect_reload_errors(running,
        TWO "[redis c]\nurl = redis://c\n[lock l]\nscope = fleet\nredis = c\n",
        "t.conf:10: [lock l] redis: [redis c] is new: restart berthd to use it; jobs run on, "
        "and keep their leases");
    expect_reload_errors(running, "[lock l]\nscope = fleet\nredis = a\n",
        "t.conf:3: [lock l] redis: there is no section [redis a]");
    conf_free(running);
}

Test(conf_fleet, times_fit_what_runs_and_what_is_written)
{
    struct conf *running = load_good(REDIS);
    expect_reload_errors(running,
        "[redis]\nurl = redis://h\nttl = 60s\n[lock l]\nscope = fleet\nkill-after = 15s\n",
        "t.conf:6: [lock l] kill-after: stopping a job may take 20s (this and a third of it, at "
        "least 1s), and two renewals 10s: together not less than the 24950ms for which a lease is "
        "valid with ttl = 30s of the running [redis]; it may be at most 11200ms, or the ttl must be "
        "at least 40s");
    expect_reload_errors(running,
        "[redis]\nurl = redis://h\nttl = 6s\n[lock l]\nscope = fleet\nkill-after = 10s\n",
        "t.conf:6: [lock l] kill-after: stopping a job may take 13333ms (this and a third of it, at "
        "least 1s), and two renewals 2s: together not less than the 4790ms for which a lease is "
        "valid with ttl = 6s of [redis]; it may be at most 1700ms, or the ttl must be at least 27s");
    conf_free(running);
}
