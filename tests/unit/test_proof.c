/* test_proof.c - SipHash by its authors' vectors, and that a proof proves what was given and
 * nothing else. */
#include "base/words.h"
#include "core_fixture.h"
#include "journal/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WORLD_SUITE(proof);

static const uint8_t secret[SECRET_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Of the vectors published with the paper: the first 0, 8 and 16 of the bytes 0, 1, 2, ... */
Test(proof, siphash)
{
    static const uint64_t expected[] = {UINT64_C(0x726fdb47dd0e0e31),
        UINT64_C(0x93f5f5799a932462), UINT64_C(0x3f2acc7f57c29bdb)};
    for (size_t n = 0; n < 3; n++) {
        struct siphash hash = siphash_begin(secret);
        for (uint64_t i = 0; i < n; i++) {
            siphash_add(&hash, UINT64_C(0x0706050403020100) + i * UINT64_C(0x0808080808080808));
        }
        cr_expect_eq(siphash_end(&hash), expected[n], "%zu", n);
    }
}

/* The protocol has room for the proof of any lease, and for units of its levels. */
Test(proof, its_longest)
{
    cr_expect_lt(proof_max_bytes(MAX_RESOURCES_PER_LEASE), PROOF_BYTES);
}

static struct saved_lease said; /* what a client says, to be changed */

static bool is_good_with(const char *proof, const uint8_t *key)
{
    static char copy[PROOF_BYTES + 1];
    snprintf(copy, sizeof copy, "%s", proof);
    return proof_read(copy, key, &said);
}

static bool is_good(const char *proof)
{
    return is_good_with(proof, secret);
}

static const char *proof_of(const char *lease)
{
    static struct text out = TEXT_INIT;
    out.length = 0;
    proof_write(&out, secret, lease_of(lease));
    return out.bytes;
}

static void hold_and_wait(void)
{
    EXPECT(define("semaphore s limit=9", "pool g items=a,b,c select=first"), "ok");
    EXPECT(acquire("ann", "A", "s:3 g:2 pid=7"), "ok s=0,1,2 g=a,b");
    EXPECT(acquire("bob", "B", "g:2 pid=8"), "waiting");
}

static struct saved_unit slots[] = {{.slot = 0}, {.slot = 1}, {.slot = 2}};
static struct saved_unit items[] = {{.item = "a"}, {.item = "b"}};

static void say_of_a(void)
{
    const struct lease *lease = lease_of("A");
    said = (struct saved_lease){.id = lease->id,
        .uid = lease->uid,
        .is_held = true,
        .binding = BOUND_PROCESS,
        .process = lease->process,
        .n_claims = 2,
        .claims = {{.name = "s", .count = 3, .units = slots},
            {.name = "g", .count = 2, .is_pool = true, .units = items}}};
}

Test(proof, of_what_is_held)
{
    hold_and_wait();
    say_of_a();
    const char *proof = proof_of("A");
    cr_expect(is_good(proof));
    cr_expect_eq(said.claims[0].token, token_of("A", "s"));
    cr_expect_eq(said.claims[1].token, token_of("A", "g"));
    const uint8_t other[SECRET_BYTES] = {1};
    cr_expect_not(is_good_with(proof, other));
}

static void free_levels(void)
{
    for (size_t i = 0; i < said.n_claims; i++) {
        if (said.claims[i].is_level) {
            free((void *)said.claims[i].units);
        }
    }
}

/* A level's units are in the proof alone, and proved by it. */
Test(proof, of_levels)
{
    EXPECT(define("semaphore a limit=3 also=t:2,p", "semaphore t limit=9", "pool p items=x,y",
               "semaphore s limit=9"),
        "ok");
    EXPECT(acquire("ann", "A", "a pid=7"), "ok a=0 t=0,1 p=x");
    const struct lease *lease = lease_of("A");
    const struct saved_lease named = {.id = lease->id,
        .is_held = true,
        .uid = lease->uid,
        .binding = BOUND_PROCESS,
        .process = lease->process,
        .n_claims = 1,
        .claims = {{.name = "a", .count = 1, .units = slots}}};
    const char *proof = proof_of("A");
    cr_expect_not_null(strstr(proof, ";t,101,0-1;p,102,*x"), "%s", proof);
    said = named;
    cr_expect(is_good(proof));
    cr_assert_eq(said.n_claims, 3);
    cr_expect(said.claims[1].is_level && said.claims[2].is_level && said.claims[2].is_pool);
    cr_expect_str_eq(said.claims[1].name, "t");
    cr_expect_eq(said.claims[1].count, 2);
    cr_expect_eq(said.claims[1].token, token_of("A", "t"));
    cr_expect_str_eq(said.claims[2].units[0].item, "x");
    free_levels();
    static const char *const wrong[][2] = {{"0-1", "0-2"}, {"0-1", "1-2"}, {";t", ";s"},
        {"*x", "*y"}, {",101,", ",4,"}, {",101,0-1", ",101"},
        {",101,0-1", ",101,"}, {"*x", "x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[PROOF_BYTES + 1];
        const char *at = strstr(proof + 16, wrong[i][0]);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - proof), proof, wrong[i][1],
            at + strlen(wrong[i][0]));
        said = named;
        cr_expect_not(is_good(text), "%s", text);
        for (size_t k = 0; k < said.n_claims; k++) {
            cr_expect(said.claims[k].units && said.claims[k].count > 0);
        }
        free_levels();
    }
    said = named;
    said.n_claims = 2;
    said.claims[1] = (struct saved_claim){.name = "t", .count = 2, .units = slots};
    char as_named[PROOF_BYTES + 1];
    int n = (int)(strstr(proof, ";t") - proof);
    snprintf(as_named, sizeof as_named, "%.*s,101%s", n, proof, strstr(proof, ";p"));
    cr_expect_not(is_good(as_named), "%s", as_named);
    cr_expect_eq(said.claims[1].token, 101);
    free_levels();
}

/* The answer to a request has its other words already. */
Test(proof, goes_behind_what_is_there)
{
    struct text out = TEXT_INIT;
    hold_and_wait();
    const char *alone = proof_of("A");
    text_add(&out, "proof=");
    proof_write(&out, secret, lease_of("A"));
    cr_expect(strncmp(out.bytes, "proof=", strlen("proof=")) == 0);
    cr_expect_str_eq(out.bytes + strlen("proof="), alone);
    text_deinit(&out);
}

Test(proof, of_a_waiter)
{
    hold_and_wait();
    const struct lease *lease = lease_of("B");
    said = (struct saved_lease){.id = lease->id,
        .uid = lease->uid,
        .binding = BOUND_PROCESS,
        .process = lease->process,
        .n_claims = 1,
        .claims = {{.name = "g", .count = 2}}};
    cr_expect(is_good(proof_of("B")));
    said.is_held = true;
    said.claims[0].units = items;
    cr_expect_not(is_good(proof_of("B")));
    said.is_held = false;
    EXPECT(end_lease("ann", "A"), "ok; B granted g=a,b");
    cr_expect_not(is_good(proof_of("B")));
}

/* Clients show proofs to later versions of berthd. */
Test(proof, is_the_same_in_every_version)
{
    hold_and_wait();
    cr_expect_str_eq(proof_of("A"), "bbaee29bc71bda42,100,101");
    cr_expect_str_eq(proof_of("B"), "da746e6b137ab56f");
}

/* The wrapper must live. */
Test(proof, of_a_lease_with_a_wrapper)
{
    hold_and_wait();
    lease_of("A")->wrapper = (struct process){.pid = 9, .started = 90};
    say_of_a();
    cr_expect_not(is_good(proof_of("A")));
    said.process = lease_of("A")->wrapper;
    cr_expect(is_good(proof_of("A")));
    said.wrapper = said.process;
    said.process = (struct process){.pid = 7, .started = 70};
    cr_expect(is_good(proof_of("A")));
    lease_of("A")->wrapper = (struct process){.pid = 0}; /* or it would outlive its process */
}

static void another_id(void) { said.id++; }
static void another_uid(void) { said.uid++; }
static void another_pid(void) { said.process.pid++; }
static void another_start(void) { said.process.started++; }
static void no_process(void) { said.binding = BOUND_CONNECTION; }
static void another_name(void) { said.claims[0].name = "t"; }
static void fewer_claims(void) { said.n_claims = 1; }
static void fewer_units(void) { said.claims[0].count = 2; }
static void another_slot(void) { slots[2].slot = 3; }
static void another_item(void) { items[1].item = "c"; }
static void waiting(void) { said.is_held = false; }

Test(proof, of_nothing_else)
{
    static void (*const changes[])(void) = {another_id, another_uid, another_pid, another_start,
        no_process, another_name, fewer_claims, fewer_units, another_slot, another_item, waiting};
    hold_and_wait();
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        slots[2].slot = 2;
        items[1].item = "b";
        say_of_a();
        cr_assert(is_good(proof_of("A")));
        changes[i]();
        cr_expect_not(is_good(proof_of("A")), "%zu", i);
    }
}

Test(proof, of_no_other_word)
{
    char proof[256];
    hold_and_wait();
    say_of_a();
    snprintf(proof, sizeof proof, "%s", proof_of("A"));
    size_t length = strlen(proof);
    for (size_t i = 0; i < length; i++) {
        char byte = proof[i];
        proof[i] = byte == '1' ? '2' : '1';
        cr_expect_not(is_good(proof), "%s", proof);
        proof[i] = '\0';
        cr_expect_not(is_good(proof), "%s", proof);
        proof[i] = byte;
    }
    cr_expect(is_good(proof));
    strcpy(proof + length, ",1");
    cr_expect_not(is_good(proof));
    cr_expect_not(is_good("0123456789abcdef,99999999999999999999,1"));
}
