#include "journal/proof.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/resource.h"
#include "core/units.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ---- SipHash ---- */

#define ROTATE(word, by) ((word) << (by) | (word) >> (64 - (by)))

static inline void two_rounds(uint64_t v[static 4])
{
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = ROTATE(v[1], 13) ^ v[0];
        v[3] = ROTATE(v[3], 16) ^ v[2];
        v[0] = ROTATE(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = ROTATE(v[1], 17) ^ v[2];
        v[3] = ROTATE(v[3], 21) ^ v[0];
        v[2] = ROTATE(v[2], 32);
    }
}

/* Of at most 8 bytes. */
static uint64_t little_endian(const void *bytes, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, bytes, n);
    return le64toh(word);
}

struct siphash siphash_begin(const uint8_t key[static SECRET_BYTES])
{
    uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    return (struct siphash){.v = {
                                k0 ^ UINT64_C(0x736f6d6570736575),
                                k1 ^ UINT64_C(0x646f72616e646f6d),
                                k0 ^ UINT64_C(0x6c7967656e657261),
                                k1 ^ UINT64_C(0x7465646279746573),
                            }};
}

void siphash_add(struct siphash *hash, uint64_t word)
{
    hash->v[3] ^= word;
    two_rounds(hash->v);
    hash->v[0] ^= word;
    hash->n_bytes += sizeof word;
}

uint64_t siphash_end(struct siphash *hash)
{
    uint64_t *v = hash->v;
    siphash_add(hash, hash->n_bytes << 56);
    v[2] ^= 0xff;
    two_rounds(v);
    two_rounds(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- what is proved, as numbers ----
 *
 *     ID, UID with IS_HELD, PID, STARTED, then of each claim NAME, COUNT and, if it is held, TOKEN
 *     (of a share, COUNT has IS_SHARE, and the other lease's ID follows) and COUNT units, each a
 *     slot's number or ITEM_FOLLOWS and an item; COUNT of a level has IS_LEVEL
 *
 * A name or an item is its length and then its bytes, so no two subjects are the same numbers. */

#define IS_HELD (UINT64_C(1) << 32)
#define IS_SHARE (UINT64_C(1) << 32)
#define IS_LEVEL (UINT64_C(1) << 33)
#define ITEM_FOLLOWS (UINT64_C(1) << 32)

static void add_string(struct siphash *hash, const char *string)
{
    size_t length = strlen(string), whole = length / 8 * 8;
    siphash_add(hash, length);
    for (size_t at = 0; at < whole; at += 8) {
        siphash_add(hash, little_endian(string + at, 8));
    }
    siphash_add(hash, little_endian(string + whole, length - whole));
}

static struct siphash begin_subject(const uint8_t secret[static SECRET_BYTES], uint64_t id,
    uint32_t uid, bool is_held, const struct process *process)
{
    struct siphash hash = siphash_begin(secret);
    siphash_add(&hash, id);
    siphash_add(&hash, uid | (is_held ? IS_HELD : 0));
    siphash_add(&hash, (uint64_t)process->pid);
    siphash_add(&hash, process->started);
    return hash;
}

static uint64_t proved_count(uint32_t count, bool is_all, bool is_level)
{
    return (is_all ? 0 : count) | (is_level ? IS_LEVEL : 0);
}

static void add_claim(struct siphash *hash, bool is_held, const char *name, uint64_t count,
    uint64_t token, uint64_t sharer)
{
    bool is_share = is_held && sharer != 0;
    add_string(hash, name);
    siphash_add(hash, count | (is_share ? IS_SHARE : 0));
    if (is_held) {
        siphash_add(hash, is_share ? sharer : token);
    }
}

static void add_unit(struct siphash *hash, const char *item, uint32_t slot)
{
    if (item) {
        siphash_add(hash, ITEM_FOLLOWS);
        add_string(hash, item);
    } else {
        siphash_add(hash, slot);
    }
}

/* The process that keeps the lease. */
static struct process keeper(
    enum binding binding, const struct process *process, const struct process *wrapper)
{
    static const struct process nobody = {.pid = 0};
    return binding != BOUND_PROCESS ? nobody : wrapper->pid != 0 ? *wrapper : *process;
}

static uint64_t hash_lease(
    const uint8_t secret[static SECRET_BYTES], const struct lease *lease)
{
    bool is_held = lease->state == LEASE_HELD;
    struct process process =
        keeper((enum binding)lease->binding, &lease->process, &lease->wrapper);
    struct siphash hash = begin_subject(secret, lease->id, lease->uid, is_held, &process);
    for (size_t i = 0; i < (is_held ? lease_n_all(lease) : lease_n_named(lease)); i++) {
        const struct claim *claim = lease_asked(lease, i);
        const struct unit *unit = is_held ? claim_first_unit(claim) : NULL;
        uint64_t count = proved_count(claim->count, claim->is_all, claim->is_level);
        add_claim(&hash, is_held, claim->resource->name, count, claim->token, claim->sharer);
        for (uint32_t k = 0; unit && k < claim->count; k++, unit = unit->next_of_claim) {
            add_unit(&hash, unit->item, unit->index);
        }
    }
    return siphash_end(&hash);
}

static uint64_t hash_saved_lease(
    const uint8_t secret[static SECRET_BYTES], const struct saved_lease *proven)
{
    struct process process = keeper(proven->binding, &proven->process, &proven->wrapper);
    struct siphash hash = begin_subject(secret, proven->id, proven->uid, proven->is_held, &process);
    for (size_t i = 0; i < proven->n_claims; i++) {
        const struct saved_claim *claim = &proven->claims[i];
        uint64_t count = proved_count(claim->count, claim->is_all, claim->is_level);
        add_claim(&hash, proven->is_held, claim->name, count, claim->token, claim->sharer);
        for (uint32_t k = 0; proven->is_held && k < claim->count; k++) {
            add_unit(&hash, claim->units[k].item, claim->units[k].slot);
        }
    }
    return siphash_end(&hash);
}

/* ---- proofs ---- */

static void add_proved_token(struct text *out, uint64_t token)
{
    text_add(out, ",");
    text_add_number(out, token);
}

static void add_proved(struct text *out, const struct claim *claim)
{
    if (claim_is_share(claim)) {
        char id[LEASE_ID_SIZE];
        lease_id_format(id, claim->sharer);
        text_add(out, ",s");
        text_add(out, id);
    } else {
        add_proved_token(out, claim->token);
    }
}

/* A level, of which the client has been told nothing else. */
static void add_level(struct text *out, const struct claim *claim)
{
    text_add(out, ";");
    text_add(out, claim->resource->name);
    add_proved(out, claim);
    text_add(out, resource_is_pool(claim->resource) ? ",*" : ",");
    units_write_claim(out, claim, SIZE_MAX);
}

void proof_write(
    struct text *out, const uint8_t secret[static SECRET_BYTES], const struct lease *lease)
{
    bool is_held = lease->state == LEASE_HELD;
    size_t n_named = lease_n_named(lease);
    text_end(out, put_hex(text_room(out, HEX_DIGITS), hash_lease(secret, lease)));
    for (size_t i = 0; is_held && i < n_named; i++) {
        add_proved(out, lease_asked(lease, i));
    }
    for (size_t i = n_named; is_held && i < lease_n_all(lease); i++) {
        add_level(out, lease_asked(lease, i));
    }
}

size_t proof_max_bytes(size_t n_claims)
{
    static size_t of_token; /* always the same */
    if (of_token == 0) {
        struct text text = TEXT_INIT;
        add_proved_token(&text, INT64_MAX);
        of_token = text.length;
        text_deinit(&text);
    }
    return HEX_DIGITS + n_claims * of_token;
}

static bool read_token(const char *word, uint64_t id, struct saved_claim *claim)
{
    bool is_good = word && (word[0] == 's' ? lease_id_parse(word + 1, &claim->sharer) &&
                                   claim->sharer != 0 && claim->sharer < id
                                           : number_parse(word, INT64_MAX, &claim->token));
    claim->token += claim->sharer; /* of a share it has no meaning but that it is proven */
    return is_good;
}

/* NAME,TOKEN,SLOTS or NAME,TOKEN,*ITEMS: another claim. */
static bool read_level(char *text, struct saved_lease *proven)
{
    char *name = strsep(&text, ","), *token = strsep(&text, ",");
    if (!text || proven->n_claims == MAX_RESOURCES_PER_LEASE || !name_is_valid(name)) {
        return false;
    }
    struct saved_claim *claim = &proven->claims[proven->n_claims++];
    *claim = (struct saved_claim){.name = name, .is_level = true, .is_pool = text[0] == '*'};
    if (!read_token(token, proven->id, claim)) {
        return false;
    }
    text += claim->is_pool;
    claim->count = units_count(text, claim->is_pool);
    if (claim->count == 0) {
        return false;
    }
    struct saved_unit *units = memory_new(claim->count * sizeof *units);
    claim->units = units; /* the caller frees them from now on */
    return units_parse(text, claim->is_pool, claim->count, units);
}

/* Reads the tokens, and then the levels. */
static bool read_tokens(char *text, struct saved_lease *proven)
{
    char *levels = text, *tokens = strsep(&levels, ";");
    bool is_good = strsep(&tokens, ",")[0] == '\0';
    for (size_t i = 0; is_good && proven->is_held && i < proven->n_claims; i++) {
        is_good = read_token(strsep(&tokens, ","), proven->id, &proven->claims[i]);
    }
    is_good = is_good && !tokens && (proven->is_held || !levels);
    while (is_good && levels) {
        is_good = read_level(strsep(&levels, ";"), proven);
    }
    return is_good;
}

bool proof_read(
    char *proof, const uint8_t secret[static SECRET_BYTES], struct saved_lease *proven)
{
    size_t n_named = proven->n_claims;
    if (strlen(proof) < HEX_DIGITS || !read_tokens(proof + HEX_DIGITS, proven)) {
        while (proven->n_claims > n_named) {
            free((void *)proven->claims[--proven->n_claims].units);
        }
        return false;
    }
    char expected[HEX_DIGITS];
    put_hex(expected, hash_saved_lease(secret, proven));
    return memcmp(expected, proof, HEX_DIGITS) == 0;
}
