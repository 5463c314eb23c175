#include "journal/proof.h"

#include "base/words.h"
#include "core/resource.h"

#include <endian.h>
#include <string.h>

/* ---- SipHash ---- */

static uint64_t rotate(uint64_t word, unsigned by)
{
    return word << by | word >> (64 - by);
}

/* Of at most 8 bytes. */
static uint64_t little_endian(const uint8_t *bytes, uint32_t n)
{
    uint64_t word = 0;
    memcpy(&word, bytes, n);
    return le64toh(word);
}

static inline void two_rounds(uint64_t v[static 4])
{
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static inline void absorb(uint64_t v[static 4], uint64_t word)
{
    v[3] ^= word;
    two_rounds(v);
    v[0] ^= word;
}

uint64_t siphash(const uint8_t key[static SECRET_BYTES], const uint8_t *bytes, uint32_t n)
{
    uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    uint64_t v[4] = {
        k0 ^ UINT64_C(0x736f6d6570736575),
        k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261),
        k1 ^ UINT64_C(0x7465646279746573),
    };
    uint32_t whole = n / 8 * 8;
    for (uint32_t at = 0; at < whole; at += 8) {
        absorb(v, little_endian(bytes + at, 8));
    }
    absorb(v, little_endian(bytes + whole, n - whole) | (uint64_t)n << 56);
    v[2] ^= 0xff;
    two_rounds(v);
    two_rounds(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- what is proved, as an unambiguous text ----
 *
 *     ID UID held|waiting PID,STARTED NAME:COUNT[:TOKEN:UNIT,...]... */

static void add_subject(struct text *out, uint64_t id, uint32_t uid, bool is_held,
    const struct process *process)
{
    char *to = text_room(out, 4 * MAX_DIGITS + sizeof " waiting ,");
    to = put_number(to, id);
    to = put_number(put_byte(to, ' '), uid);
    to = put_string(to, is_held ? " held " : " waiting ");
    to = put_number(to, (uint64_t)process->pid);
    text_end(out, put_number(put_byte(to, ','), process->started));
}

static void add_claim(
    struct text *out, bool is_held, const char *name, uint32_t count, uint64_t token)
{
    size_t length = strlen(name);
    char *to = text_room(out, length + 2 * MAX_DIGITS + sizeof " :::");
    to = put_bytes(put_byte(to, ' '), name, length);
    to = put_number(put_byte(to, ':'), count);
    if (is_held) {
        to = put_number(put_byte(to, ':'), token);
        to = put_byte(to, ':');
    }
    text_end(out, to);
}

static void add_unit(struct text *out, const char *item, uint32_t slot)
{
    size_t length = item ? strlen(item) : 0;
    char *to = text_room(out, length + MAX_DIGITS + 1);
    to = item ? put_bytes(to, item, length) : put_number(to, slot);
    text_end(out, put_byte(to, ','));
}

/* The process that keeps the lease. */
static struct process keeper(
    enum binding binding, const struct process *process, const struct process *wrapper)
{
    static const struct process nobody = {.pid = 0};
    return binding != BOUND_PROCESS ? nobody : wrapper->pid != 0 ? *wrapper : *process;
}

static void describe_lease(struct text *out, const struct lease *lease)
{
    bool is_held = lease->state == LEASE_HELD;
    struct process process =
        keeper((enum binding)lease->binding, &lease->process, &lease->wrapper);
    add_subject(out, lease->id, lease->uid, is_held, &process);
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        add_claim(out, is_held, claim->resource->name, claim->count, claim->token);
        for (const struct unit *unit = claim->units; unit; unit = unit->next_of_claim) {
            add_unit(out, unit->item, unit->index);
        }
    }
}

static void describe_remembered(struct text *out, const struct remembered *said)
{
    struct process process = keeper(said->binding, &said->process, &said->wrapper);
    add_subject(out, said->id, said->uid, said->is_held, &process);
    for (size_t i = 0; i < said->n_claims; i++) {
        const struct remembered_claim *claim = &said->claims[i];
        add_claim(out, said->is_held, claim->name, claim->count, claim->token);
        for (uint32_t k = 0; said->is_held && k < claim->count; k++) {
            add_unit(out, claim->units[k].item, claim->units[k].slot);
        }
    }
}

/* In place of the subject, which `text` has from `start` on. */
static void hash_subject(
    struct text *text, size_t start, const uint8_t secret[static SECRET_BYTES])
{
    const uint8_t *subject = (const uint8_t *)text->bytes + start;
    uint64_t hash = siphash(secret, subject, (uint32_t)(text->length - start));
    text->length = start;
    text_end(text, put_hex(text_room(text, HEX_DIGITS), hash));
}

/* ---- proofs ---- */

static void add_proved_token(struct text *out, uint64_t token)
{
    text_add(out, ",");
    text_add_number(out, token);
}

void proof_write(
    struct text *out, const uint8_t secret[static SECRET_BYTES], const struct lease *lease)
{
    size_t start = out->length;
    describe_lease(out, lease);
    hash_subject(out, start, secret);
    for (size_t i = 0; lease->state == LEASE_HELD && i < lease->n_claims; i++) {
        add_proved_token(out, lease->claims[i].token);
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

/* Reads the tokens; `text` points behind the last of them. */
static bool read_tokens(const char *text, struct remembered *said)
{
    for (size_t i = 0; said->is_held && i < said->n_claims; i++) {
        char word[21];
        size_t length = text[0] == ',' ? strcspn(text + 1, ",") : sizeof word;
        if (length >= sizeof word) {
            return false;
        }
        memcpy(word, text + 1, length);
        word[length] = '\0';
        if (!number_parse(word, INT64_MAX, &said->claims[i].token)) {
            return false;
        }
        text += 1 + length;
    }
    return text[0] == '\0';
}

bool proof_read(
    const char *proof, const uint8_t secret[static SECRET_BYTES], struct remembered *said)
{
    struct text text = TEXT_INIT;
    if (strlen(proof) < HEX_DIGITS || !read_tokens(proof + HEX_DIGITS, said)) {
        return false;
    }
    describe_remembered(&text, said);
    hash_subject(&text, 0, secret);
    bool is_same = memcmp(text.bytes, proof, HEX_DIGITS) == 0;
    text_deinit(&text);
    return is_same;
}
