/* test_record.c - a lease's record is read back as the same lease, and nothing else is. */
#include "base/words.h"
#include "core/units.h"
#include "core_fixture.h"
#include "journal/journal.h"
#include "journal/proof.h"
#include "journal/record.h"
#include "status/answer_lines.h"
#include "terms_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For requests beside the world's own. */
static struct client client;
static struct effects effects;

static void forget_effects(void)
{
    effects_clear_changed(&effects);
    effects_clear(&effects);
}

static void begin(void)
{
    world_begin();
    cr_assert_eq(core_client_init(the_core(), &client, 7), OUTCOME_OK);
}

static void end(void)
{
    core_client_deinit(the_core(), &client, 0, &effects);
    forget_effects();
    effects_deinit(&effects);
    world_end();
}

TestSuite(record, .init = begin, .fini = end);

/* The lease's record; good until the next call. */
static const char *record_of(const char *lease)
{
    static struct text out = TEXT_INIT;
    out.length = 0;
    const struct lease *its = lease_of(lease);
    record_write(&out, its, its->database != 0 ? "big" : NULL, true);
    return out.bytes;
}

static nanoseconds timer_of(const struct lease *lease)
{
    const struct sorted_set_node *timer = lease->waiting ? &lease->waiting->timer
        : lease->lease_timer                             ? &lease->lease_timer->timer
                                                         : NULL;
    return timer && sorted_set_contains(timer) ? (nanoseconds)timer->major : NEVER;
}

static void expect_claim(const struct saved_claim *read, const struct claim *claim, bool held)
{
    cr_assert_str_eq(read->name, claim->resource->name);
    cr_assert_eq(read->count, claim->count);
    if (!held) {
        cr_assert_null(read->units);
        return;
    }
    cr_assert_eq(read->token, claim->token);
    cr_assert_eq(read->is_pool, resource_is_pool(claim->resource));
    const struct unit *unit = claim->units;
    for (uint32_t i = 0; i < claim->count; i++, unit = unit->next_of_claim) {
        cr_assert(texts_are_same(read->units[i].item, unit->item));
        cr_assert(unit->item || read->units[i].slot == unit->index);
    }
}

static struct saved_lease *must_read(const char *text)
{
    struct saved_lease *read = record_read(text, strlen(text));
    cr_assert(read, "%s", text);
    return read;
}

/* Reads the lease's record, and requires that all of it is there. */
static void expect_saved_lease(const char *name)
{
    const struct lease *lease = lease_of(name);
    struct saved_lease *read = must_read(record_of(name));
    cr_assert_eq(read->id, lease->id);
    cr_assert_eq(read->is_held, lease->state == LEASE_HELD);
    cr_assert_eq(read->uid, lease->uid);
    cr_assert_eq(read->pid, lease->pid);
    cr_assert_eq((unsigned)read->binding, lease->binding);
    if (lease->binding == BOUND_PROCESS) {
        cr_assert_eq(read->process.pid, lease->process.pid);
        cr_assert_eq(read->process.started, lease->process.started);
    }
    cr_assert_eq(read->asked_at, lease->asked_at);
    cr_assert(!read->is_held || read->granted_at == lease->granted_at);
    cr_assert_eq(read->until, timer_of(lease));
    cr_assert_eq(read->hold_until, lease->lease_timer ? lease->lease_timer->hold_until : NEVER);
    cr_assert(lease->binding != BOUND_TIME || read->ttl == lease->ttl);
    cr_assert_eq((unsigned)read->stopping, lease->stopping);
    const struct actor by = lease->taken ? lease->taken->by : (struct actor){.is_known = false};
    cr_assert(read->by.is_known == by.is_known && read->by.has_login == by.has_login);
    cr_assert(!by.is_known || read->by.uid == by.uid);
    cr_assert(!by.has_login || read->by.login == by.login);
    const char *difference = lease_attributes_difference(&read->attributes, &lease->attributes);
    cr_assert_null(difference, "%s", difference);
    cr_assert_eq(read->n_claims, lease->n_claims);
    for (size_t i = 0; i < lease->n_claims; i++) {
        expect_claim(&read->claims[i], &lease->claims[i], read->is_held);
    }
    record_free(read);
}

/* ---- there and back ---- */

Test(record, plain)
{
    given("lock d", "ann has A: d", "bob waits B: d");
    expect_saved_lease("A");
    expect_saved_lease("B");
    EXPECT(record_of("A"),
        "held id=34 uid=1416 pid=1 asked=1000000000000 kill_after=10000000000 "
        "granted=1000000000000 slot=d,100,0");
    EXPECT(record_of("B"),
        "waiting id=35 uid=2396 pid=1 asked=1000000000000 kill_after=10000000000 want=d,1");
}

Test(record, everything)
{
    given("semaphore s limit=9 max-priority=1000 max-hold=50 on-lost=term",
        "pool g items=a,b,c select=first", "lock d", "ann has P: d",
        "ann has A: s:3 g:2 pid=7 signal=2 kill-after=3 on-lost=kill holder=x reason=r program=p once=w priority=1000 parent=P",
        "bob waits B: g:2 s ttl=60 wait=30 priority=-1000 parent=P");
    expect_saved_lease("A");
    expect_saved_lease("B");
    EXPECT(record_of("A"),
        "held id=35 uid=1416 pid=7 asked=1000000000000 process=7,70 priority=1000 "
        "kill_after=3000000000 signal=2 parent=34 holder=x program=p reason=r once=w "
        "granted=1000000000000 until=1050000000000 hold_until=1050000000000 slot=s,101,0-2 item=g,102,a,b");
    EXPECT(record_of("B"),
        "waiting id=36 uid=2396 pid=1 asked=1000000000000 ttl=60000000000 priority=-1000 "
        "kill_after=10000000000 parent=34 until=1030000000000 want=g,2 want=s,1");
}

/* The same lease through all that can become of it. */
Test(record, of_a_whole_life)
{
    given("semaphore s limit=1 max-hold=50 on-lost=warn", "ann has A: s",
        "bob waits B: s pid=9 on-lost=term wait=7");
    expect_saved_lease("B");
    tick(1);
    end_lease("ann", "A");
    expect_saved_lease("B");
    bind_to("bob", "B", 11);
    expect_saved_lease("B");
    const struct actor by = {.is_known = true, .has_login = true, .uid = 0, .login = 7};
    lease_note_taker(core_find_lease(the_core(), lease_of("B")->id), &by, NULL);
    revoke("B");
    cr_assert(strstr(record_of("B"), " stopping=revoked by=0 by_login=7 "));
    expect_saved_lease("B");
    client_gone("bob");
    expect_saved_lease("B");
    process_gone("B");
    EXPECT(acquire("cy", "C", "s pid=9 on-lost=kill"), "ok s=0");
    tick(51);
    cr_assert(strstr(record_of("C"), " stopping=max-hold "));
    expect_saved_lease("C");
    end_lease("cy", "C");
    EXPECT(acquire("di", "D", "s ttl=20"), "ok s=0");
    renew("D", 12);
    expect_saved_lease("D");
    client_gone("di");
    expect_saved_lease("D");
}

/* It is over, but its units are not yet free. */
Test(record, of_units_at_rest)
{
    given("semaphore s limit=3", "ann has A: s:2 holder=x");
    struct text out = TEXT_INIT;
    record_write(&out, lease_of("A"), NULL, true);
    size_t length = out.length;
    const struct saved_lease ended = {.rested_at = 77, .n_claims = 1, .claims = {{.cooldown = 5}}};
    record_add_rest(&out, &ended);
    struct saved_lease *before = record_read(out.bytes, length);
    struct saved_lease *read = record_read(out.bytes, out.length);
    cr_assert(before && read);
    cr_expect_eq(before->rested_at, 0);
    cr_expect_eq(read->rested_at, 77);
    cr_expect_eq(read->claims[0].cooldown, 5);
    cr_expect_eq(read->claims[0].units[1].slot, 1);
    record_free(before);
    record_free(read);
    text_deinit(&out);
}

Test(record, ways_to_list_units)
{
    EXPECT(define("semaphore s limit=9", "pool g items=e,d,c,b,a select=first",
               "semaphore market/* limit=5"),
        "ok");
    EXPECT(acquire("ann", "A", "s:3"), "ok s=0,1,2");
    EXPECT(acquire("bob", "B", "s:2"), "ok s=3,4");
    EXPECT(acquire("cy", "C", "s:2"), "ok s=5,6");
    end_lease("bob", "B");
    end_lease("ann", "A");
    EXPECT(acquire("ann", "A", "s:2"), "ok s=0,1");
    EXPECT(acquire("bob", "B", "s:4 g:5 market/x"), "ok s=2,3,4,7 g=e,d,c,b,a market/x=0");
    expect_saved_lease("B");
    cr_assert(strstr(record_of("B"), " slot=s,104,2-4,7 item=g,105,e,d,c,b,a slot=market/x,106,0"));
}

/* ---- fleet scope: databases have other numbers after a restart, but the same names ---- */

static void expect_of_fleet(const char *name)
{
    const struct lease *lease = lease_of(name);
    struct saved_lease *read = must_read(record_of(name));
    expect_saved_lease(name);
    cr_expect_str_eq(record_database(read), "big");
    cr_expect_eq(read->database, 0);
    cr_expect_eq(read->ticket, lease->ticket);
    cr_expect_eq(read->wants_now, lease->wants_now);
    record_free(read);
}

Test(record, of_fleet_scope)
{
    EXPECT(define("semaphore s limit=3 database=2 kill-after=2", "pool g items=a,b,c database=2"),
        "ok");
    EXPECT(good(2, 60), "ok");
    EXPECT(acquire("ann", "A", "s:2 g pid=9"), "pending; A ask");
    expect_of_fleet("A");
    EXPECT(record_of("A"),
        "waiting id=34 uid=1416 pid=9 asked=1000000000000 process=9,90 kill_after=2000000000 "
        "database=big want=s,2 want=g,1");
    EXPECT(acquire("bob", "B", "g wait=0"), "pending; B ask");
    cr_expect(strstr(record_of("B"), " database=big now=1 want=g,1"));
    expect_of_fleet("B");
    EXPECT(granted("A", "4294967295 s:0,1:5 g:c:6"), "ok; A granted s=0,1 g=c");
    expect_of_fleet("A");
    cr_expect(strstr(record_of("A"), " database=big ticket=4294967295 granted="));
    EXPECT(granted("B", "8 g:a:7"), "ok; B granted g=a");
    cr_expect_null(strstr(record_of("B"), " now=1"));
    expect_of_fleet("B");
}

Test(record, of_fleet_scope_being_stopped)
{
    EXPECT(define("semaphore s limit=3 database=2 kill-after=2 on-lost=kill"), "ok");
    EXPECT(good(2, 60), "ok");
    EXPECT(acquire("ann", "A", "s"), "pending; A ask");
    EXPECT(granted("A", "1 s:0:5"), "ok; A granted s=0");
    EXPECT(acquire("ann", "B", "s"), "pending; B ask");
    EXPECT(granted("B", "2 s:1:6"), "ok; B granted s=1");
    lost("A");
    cr_expect(strstr(record_of("A"), " stopping=lost slot=s,5,0"));
    expect_of_fleet("A");
    tick(57);
    cr_expect(strstr(record_of("B"), " stopping=deadline slot=s,6,1"));
    expect_of_fleet("B");
}

/* ---- the longest record ---- */

static char *repeated(const char *what, size_t n)
{
    char *out = malloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        out[i] = what[i % strlen(what)];
    }
    out[n] = '\0';
    return out;
}

/* Its numbers as large as they get. */
static void inflate_terms(struct lease_attributes *attributes)
{
#define INFLATE_TEXT(member, bound) (member)
#define INFLATE_NUMBER(member, bound) -(bound)
#define INFLATE_SPAN(member, bound) (bound)
#define INFLATE_ON_LOST(member, bound) ON_LOST_WARN
#define INFLATE_SIGNAL(member, bound) (bound)
#define INFLATE_LEASE(member, bound) UINT64_MAX
#define INFLATE_REPLACE(member, bound) REPLACE_WAITING
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    attributes->word = INFLATE_##type(attributes->word, bound);
#include "base/attributes.def"
#undef ATTRIBUTE
}

static void inflate(struct lease *lease, struct lease_timer *lease_timer)
{
    static struct taken taken = {
        {.is_known = true, .has_login = true, .uid = UINT32_MAX, .login = UINT32_MAX}, NULL};
    lease->taken = &taken;
    inflate_terms(&lease->attributes);
    lease->id = UINT64_MAX;
    lease->uid = UINT32_MAX;
    lease->pid = lease->process.pid = lease->wrapper.pid = INT32_MAX;
    lease->process.started = lease->wrapper.started = UINT64_MAX;
    lease->asked_at = lease->granted_at = NEVER - 1;
    /* A process that has a wrapper is no program's. */
    lease->ttl = lease->binding == BOUND_TIME ? NEVER - 1 : 0;
    lease->stopping = OUTCOME_WITHDRAWN;
    lease->lease_timer = lease_timer;
    lease_timer->timer.major = NEVER - 1;
    lease_timer->hold_until = NEVER - 1;
    lease_timer->timer.size = 1;
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].token = INT64_MAX;
    }
}

/* The bounds for the ask, less what its record and its grant take at most. */
struct room {
    size_t of_record, of_grant;
};

static struct room room_of(const struct acquire_request *ask, const char *database)
{
    struct core *core = the_core();
    struct room room;
    static const uint8_t secret[SECRET_BYTES];
    struct text out = TEXT_INIT, proof = TEXT_INIT;
    struct lease *lease;
    struct lease_timer lease_timer = {.lease = NULL};
    const char *at_fault;
    size_t units = units_max_bytes(core, ask->wants, ask->n_wants);
    size_t max = record_max_bytes(&ask->attributes, database, ask->n_wants, units);
    cr_assert_eq(core_acquire(core, &client, ask, 0, &effects, &lease, &at_fault), OUTCOME_OK);
    struct lease original = *lease;
    inflate(lease, &lease_timer);
    lease->ticket = database ? UINT64_C(1) << 53 : 0;
    record_write(&out, lease, database, true);
    struct saved_lease ended = {.rested_at = NEVER - 1, .n_claims = ask->n_wants};
    for (size_t i = 0; i < ask->n_wants; i++) {
        ended.claims[i].cooldown = INT64_C(3650) * 86400 * NANOSECONDS_PER_SECOND;
    }
    size_t length = out.length;
    if (!database) {
        record_add_rest(&out, &ended);
        cr_expect_eq(out.length - length, record_rest_bytes(ask->n_wants));
    }
    cr_expect_leq(out.length, max);
    cr_assert_leq(max, JOURNAL_MAX_BYTES);
    room.of_record = max - out.length;
    const struct effect effect = {.kind = EFFECT_GRANTED, .lease = lease};
    proof_write(&proof, secret, lease);
    lease->binding = BOUND_CONNECTION; /* then that is said too */
    lease->lease_timer = NULL; /* no second line */
    out.length = 0;
    answer_effect(&out, &effect, proof.bytes);
    max = answer_longest_grant(ask) + units + proof_max_bytes(ask->n_wants);
    cr_expect_leq(out.length, max);
    room.of_grant = max - out.length;
    *lease = original;
    core_end(core, lease, &client, 0, &effects);
    forget_effects();
    text_deinit(&out);
    text_deinit(&proof);
    return room;
}

static const struct definition *definition_of(const char *name)
{
    return core_find_definition(the_core(), name);
}

Test(record, its_bounds_hold)
{
    EXPECT(define("semaphore s limit=600", "pool g items=a,b,c,d,e,f,g,h", "lock d"), "ok");
    char *database = repeated("d", NAME_BYTES);
    char *odd = repeated("\x80% ", REASON_BYTES);
    for (uint32_t i = 0; i < 16; i++) {
        const struct acquire_request ask = {
            .wants = {{"g", 1 + i / 2, .definition = definition_of("g")},
                {"s", i * 25 + 1, .definition = definition_of("s")},
                {"d", 1, .is_all = i & 1, .definition = definition_of("d")}},
            .n_wants = 1 + i % 3,
            .wait = NEVER,
            .attributes.holder = i & 1 ? odd + REASON_BYTES - HOLDER_BYTES : NULL,
            .attributes.reason = i & 2 ? odd : NULL,
            .attributes.program = i & 4 ? odd + REASON_BYTES - PROGRAM_BYTES : NULL,
            .attributes.once = i & 8 ? odd + REASON_BYTES - ONCE_BYTES : NULL,
            .binding = BOUND_PROCESS,
            .process = {9, 9},
            .attributes.signal = SIGNAL_TERM,
        };
        room_of(&ask, NULL);
        room_of(&ask, database);
    }
    free(odd);
    free(database);
}

/* However much there is before it, and however little room behind that. */
Test(record, stays_in_its_buffer)
{
    char names[MAX_RESOURCES_PER_LEASE][NAME_BYTES + 1];
    struct lease *lease;
    const char *at_fault;
    EXPECT(define("semaphore m/* limit=1 max-waiters=9"), "ok");
    struct acquire_request ask = {.wait = NEVER, .attributes.signal = SIGNAL_TERM};
    for (; ask.n_wants < MAX_RESOURCES_PER_LEASE; ask.n_wants++) {
        char *name = names[ask.n_wants];
        snprintf(name, sizeof names[0], "m/%0*zu", NAME_BYTES - 2, ask.n_wants);
        ask.wants[ask.n_wants] = (struct requested_resource){
            .name = name, .count = 1, .definition = definition_of(name)};
    }
    for (size_t i = 0; i < 2; i++) { /* the second one waits */
        enum outcome outcome =
            core_acquire(the_core(), &client, &ask, 0, &effects, &lease, &at_fault);
        cr_assert_eq(outcome, i == 0 ? OUTCOME_OK : OUTCOME_WAITING);
    }
    for (size_t before = 0; before < 4096; before += 64) {
        struct text out = TEXT_INIT;
        text_add_repeated(&out, '.', before);
        record_write(&out, lease, NULL, true);
        cr_assert_lt(out.length, out.size);
        text_deinit(&out);
    }
}

/* Nobody reserves more than what may come. */
Test(record, its_bounds_are_no_larger)
{
    EXPECT(define("pool g items=aa,bb,cc,dd,ee"), "ok");
    const struct acquire_request ask = {
        .wants = {{"g", 4, .definition = definition_of("g")}},
        .n_wants = 1,
        .attributes = {.signal = SIGNAL_TERM, .holder = "a b", .reason = "%"},
        .binding = BOUND_PROCESS,
        .process = {9, 9},
        .wrapper = {9, 9},
    };
    struct room room = room_of(&ask, "big");
    cr_expect_eq(room.of_record, 0);
    cr_expect_eq(room.of_grant, 0);
}

/* ---- malformed ---- */

static bool reads(const char *text)
{
    struct saved_lease *read = record_read(text, strlen(text));
    bool is_one = read;
    record_free(read);
    return is_one;
}

#define HELD "held id=34 uid=0 pid=1 asked=0 granted=5"
#define WAITING "waiting id=34 uid=0 pid=1 asked=0"

Test(record, bounds_of_each_value)
{
    static const char *const good[] = {
        HELD " slot=d,1,0",
        HELD " slot=d,1,0 slot=e,1,0 all=3",
        HELD " slot=d,9223372036854775807,999999",
        HELD " slot=d,1,0-2047",
        HELD " item=d,1,0-2047",
        HELD " slot=d,1,3,1 item=e,2,b,a",
        HELD " slot=d,1,0 priority=-1000 until=0 stopping=revoked",
        HELD " slot=d,1,0 ttl=1",
        HELD " slot=d,1,0 rested=1",
        HELD " slot=d,1,0 item=e,2,a rested=1 cooldown=0,315360000000000000",
        HELD " slot=d,1,0 process=2,0",
        HELD " slot=d,1,0 process=2147483647,18446744073709551615 signal=0",
        HELD " slot=d,1,0 holder=%20 reason=%25 on_lost=warn kill_after=0",
        HELD " slot=d,0,0 database=x",
        HELD " slot=d,1,0 database=x ticket=9007199254740992 stopping=deadline",
        HELD " slot=d,1,0 database=x stopping=lost",
        HELD " slot=d,1,0 stopping=withdrawn by=0 by_login=4294967295",
        WAITING " want=d,1 database=x now=1 ticket=1",
        WAITING " want=d,1 ticket=9007199254740992",
        WAITING " want=d,1000000",
        WAITING " want=d,1 want=e,1 until=9223372036854775806 priority=1000 signal=64",
        "waiting want=d,1 asked=9223372036854775806 pid=2147483647 uid=4294967295 "
        "id=fzzzzzzzzzzzz",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect(reads(good[i]), "%s", good[i]);
    }
}

static const char *const bad[] = {
    "",
    " ",
    "held",
    "waiting",
    "ended id=34 uid=0 pid=1 asked=0 want=d,1",
    "Held id=34 uid=0 pid=1 asked=0 granted=5 slot=d,1,0",
    "held  id=34 uid=0 pid=1 asked=0 granted=5 slot=d,1,0",
    HELD " slot=d,1,0 ",
    HELD " slot=d,1,0\n",
    HELD " slot=d,0,0",
    HELD " slot=d,1,0 database=",
    HELD " slot=d,1,0 database=a%20b",
    HELD " slot=d,1,0 database=x database=x",
    HELD " slot=d,1,0 database=x rested=1",
    HELD,
    WAITING,
    "held uid=0 pid=1 asked=0 granted=5 slot=d,1,0",
    "held id=34 pid=1 asked=0 granted=5 slot=d,1,0",
    "held id=34 uid=0 asked=0 granted=5 slot=d,1,0",
    "held id=34 uid=0 pid=1 granted=5 slot=d,1,0",
    "held id=34 uid=0 pid=1 asked=0 slot=d,1,0",
    "held id=0 uid=0 pid=1 asked=0 granted=5 slot=d,1,0",
    "held id=i uid=0 pid=1 asked=0 granted=5 slot=d,1,0",
    "held id=34 uid=4294967296 pid=1 asked=0 granted=5 slot=d,1,0",
    "held id=34 uid=-1 pid=1 asked=0 granted=5 slot=d,1,0",
    "held id=34 uid=0 pid=2147483648 asked=0 granted=5 slot=d,1,0",
    "held id=34 uid=0 pid=1 asked=9223372036854775807 granted=5 slot=d,1,0",
    /* not in this state */
    HELD " want=d,1",
    HELD " slot=d,1,0 want=e,1",
    WAITING " slot=d,1,0",
    WAITING " want=d,1 granted=5",
    WAITING " want=d,1 rested=5",
    /* twice */
    HELD " slot=d,1,0 uid=0",
    HELD " slot=d,1,0 slot=d,2,1",
    HELD " slot=d,1,0 item=d,2,a",
    WAITING " want=d,1 want=d,1",
    HELD " slot=d,1,0 ttl=5 process=7,70",
    HELD " slot=d,1,0 process=7,70 ttl=5",
    /* keys and values */
    HELD " slot=d,1,0 =",
    HELD " slot=d,1,0 x",
    HELD " slot=d,1,0 holder",
    HELD " slot=d,1,0 process=7",
    HELD " slot=d,1,0 process=1,70",
    HELD " slot=d,1,0 process=0,70",
    HELD " slot=d,1,0 process=7,",
    HELD " slot=d,1,0 process=7,70,7",
    HELD " slot=d,1,0 wrapper=8,80",
    HELD " slot=d,1,0 process=7,70 wrapper=8",
    HELD " slot=d,1,0 process=7,70 wrapper=8,80 wrapper=8,80",
    HELD " slot=d,1,0 !",
    HELD " slot=d,1,0 !=",
    HELD " slot=d,1,0 !color",
    HELD " slot=d,1,0 !uid=0",
    HELD " slot=d,1,0 ttl=0",
    HELD " slot=d,1,0 rested=0",
    HELD " slot=d,1,0 rested=1 rested=1",
    HELD " slot=d,1,0 until=9223372036854775807",
    /* units */
    HELD " slot=d",
    HELD " slot=d,1",
    HELD " slot=d,1,",
    HELD " slot=d,,0",
    HELD " slot=,1,0",
    HELD " slot=d,0,0",
    HELD " slot=d,9223372036854775808,0",
    HELD " slot=d,1,1000000",
    HELD " slot=d,1,0-16384",
    HELD " slot=d,1,0,0",
    HELD " item=d,1,a,a",
    HELD " item=d,1,a%20b",
    HELD " slot=.,1,0",
    HELD " slot=d/*,1,0",
    WAITING " want=d",
    WAITING " want=d,0",
    WAITING " want=d,1000001",
    WAITING " want=d,1,1",
};

Test(record, malformed)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_not(reads(bad[i]), "%s", bad[i]);
    }
}

/* ---- of a later version ---- */

/* Only the envelope counts; the whole record is written again. */
static const char *const opaque[] = {
    HELD " slot=d,1,0 !color=red",
    HELD " !color=red slot=d,1,0 holder=x !color=red",
    HELD " slot=d,1,0 !until-moved=5 kill_after=7",
    HELD " slot=d,1,0 ticket=1",
    HELD " slot=d,1,0 stopping=lost",
    HELD " slot=d,1,0 stopping=deadline",
    HELD " slot=d,1,0 database=x ticket=0",
    HELD " slot=d,1,0 database=x ticket=9007199254740993",
    HELD " slot=d,1,0 database=x now=1",
    WAITING " want=d,1 now=1",
    WAITING " want=d,1 database=x now=0",
    WAITING " want=d,1 database=x now=2",
    WAITING " want=d,1 stopping=revoked",
    HELD " slot=d,1,0 holder=x holder=x",
    HELD " slot=d,1,0 holder=",
    HELD " slot=d,1,0 holder=%",
    HELD " slot=d,1,0 holder=%00",
    HELD " slot=d,1,0 once=123456789012345678901234567890123",
    HELD " slot=d,1,0 priority=1001",
    HELD " slot=d,1,0 priority=-1001",
    HELD " slot=d,1,0 signal=65",
    HELD " slot=d,1,0 on_lost=maim",
    HELD " slot=d,1,0 on_lost=",
    HELD " slot=d,1,0 stopping=ok",
    HELD " slot=d,1,0 stopping=dropped",
    HELD " slot=d,1,0 parent=0",
    HELD " slot=d,1,0 rested=1 cooldown=",
    HELD " slot=d,1,0 rested=1 cooldown=5,5",
    HELD " slot=d,1,0 slot=e,1,0 rested=1 cooldown=5",
    HELD " slot=d,1,0 slot=e,1,0 rested=1 cooldown=5,x",
    HELD " slot=d,1,0 rested=1 cooldown=315360000000000001",
};

Test(record, must_be_understood)
{
    for (size_t i = 0; i < sizeof opaque / sizeof opaque[0]; i++) {
        struct saved_lease *read = must_read(opaque[i]);
        cr_expect(read->is_opaque, "%s", opaque[i]);
        cr_expect_str_eq(read->kept, opaque[i]);
        cr_expect_eq(read->uid, 0);
        cr_expect_eq(read->stopping, OUTCOME_OK);
        cr_expect_eq(read->attributes.on_lost, ON_LOST_KILL);
        cr_expect_null(read->attributes.holder);
        cr_expect_str_eq(read->claims[0].name, "d");
        cr_expect_eq(read->claims[0].cooldown, 0);
        record_free(read);
    }
}

/* What can be ignored is, and the rest reads as without it. */
Test(record, need_not_be_understood)
{
    struct saved_lease *read = must_read(
        HELD " color=red process=7,70 wrapper=8,80 shape=a,b=%20 holder=x slot=d,1,0 color=blue");
    cr_expect_not(read->is_opaque);
    cr_expect_str_eq(read->kept, " color=red shape=a,b=%20 color=blue");
    cr_expect_str_eq(read->attributes.holder, "x");
    cr_expect_eq(read->wrapper.pid, 8);
    cr_expect_eq(read->wrapper.started, 80);
    record_free(read);
    read = must_read(HELD " !process=7,70 !holder=x slot=d,1,0");
    cr_expect(!read->is_opaque && !read->kept);
    cr_expect_eq(read->process.pid, 7);
    cr_expect_str_eq(read->attributes.holder, "x");
    record_free(read);
}

/* A lease made from such a record is written as it was. */
static void expect_written_again(const char *text, const char *expected)
{
    struct text out = TEXT_INIT;
    struct lease *lease = NULL;
    struct saved_lease *read = must_read(text);
    cr_assert_eq(core_restore(the_core(), read, 0, &effects, &lease), OUTCOME_OK);
    record_free(read);
    record_write(&out, lease, NULL, true);
    cr_expect_str_eq(out.bytes, expected);
    core_end(the_core(), lease, NULL, 0, &effects);
    forget_effects();
    text_deinit(&out);
}

Test(record, unknown_keys_are_written_back)
{
    EXPECT(define("lock d"), "ok");
    expect_written_again(
        "held color=red id=34 uid=0 pid=1 asked=0 granted=5 process=7,70 slot=d,1,0 "
        "wrapper=8,80 kill_after=5",
        "held id=34 uid=0 pid=1 asked=0 process=7,70 wrapper=8,80 kill_after=5 granted=5 "
        "slot=d,1,0 "
        "color=red");
    expect_written_again(HELD " !color=red holder=x stopping=revoked process=7,70 slot=d,1,0",
        HELD " !color=red holder=x stopping=revoked process=7,70 slot=d,1,0");
}

Test(record, kinds)
{
    static const struct {
        const char *text;
        enum record_kind kind;
    } kinds[] = {
        {HELD, RECORD_LEASE},
        {WAITING, RECORD_LEASE},
        {"held", RECORD_LEASE},
        {"promised id=34", RECORD_UNKNOWN},
        {"x", RECORD_UNKNOWN},
        {"!promised id=34", RECORD_MUST_UNDERSTAND},
        {"!held id=34", RECORD_MUST_UNDERSTAND},
        {"", RECORD_NONSENSE},
        {"!", RECORD_NONSENSE},
        {" held", RECORD_NONSENSE},
        {"Held", RECORD_NONSENSE},
        {"!!x", RECORD_NONSENSE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cr_expect_eq(record_kind(kinds[i].text, strlen(kinds[i].text)), kinds[i].kind, "%s",
            kinds[i].text);
    }
}

Test(record, more_resources_than_a_lease_has)
{
    char text[1024] = HELD, *end = text + strlen(text);
    for (int i = 0; i < MAX_RESOURCES_PER_LEASE; i++) {
        end += sprintf(end, " slot=r%d,1,0", i);
        cr_expect(reads(text));
    }
    strcpy(end, " slot=r,1,0");
    cr_expect_not(reads(text));
}

/* The checksum is for other damage, but none does harm: each text is a record or none, never a
 * crash. */
Test(record, every_byte_changed_and_every_length)
{
    static const char text[] = HELD " process=7,70 signal=2 holder=x%20y until=99 parent=34"
                                    " slot=s,2,0-2,7 item=g,3,a,b";
    char copy[sizeof text];
    for (size_t length = 0; length < sizeof text; length++) {
        char *exact = malloc(length + 1);
        memcpy(exact, text, length);
        record_free(record_read(exact, length));
        free(exact);
    }
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(copy, text, sizeof text);
            copy[i] = (char)byte;
            struct saved_lease *read = record_read(copy, sizeof text - 1);
            cr_assert(byte != 0 || !read);
            record_free(read);
        }
    }
}
