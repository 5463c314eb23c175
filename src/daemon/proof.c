#include "daemon/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- SipHash ---- */

static uint64_t rotate(uint64_t word, unsigned by)
{
    return word << by | word >> (64 - by);
}

static uint64_t little_endian(const uint8_t *bytes, uint32_t n)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < n; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static void rounds(uint64_t v[static 4], int n)
{
    for (int i = 0; i < n; i++) {
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

static void absorb(uint64_t v[static 4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
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
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- proofs ---- */

static uint64_t proof_of(
    const uint8_t secret[static SECRET_BYTES], uint64_t id, uint32_t uid)
{
    uint8_t bytes[sizeof id + sizeof uid];
    memcpy(bytes, &id, sizeof id);
    memcpy(bytes + sizeof id, &uid, sizeof uid);
    return siphash(secret, bytes, sizeof bytes);
}

void proof_format(
    char out[static PROOF_SIZE], const uint8_t secret[static SECRET_BYTES], uint64_t id, uint32_t uid)
{
    snprintf(out, PROOF_SIZE, "%016" PRIx64, proof_of(secret, id, uid));
}

bool proof_is_good(
    const char *proof, const uint8_t secret[static SECRET_BYTES], uint64_t id, uint32_t uid)
{
    char good[PROOF_SIZE];
    proof_format(good, secret, id, uid);
    return strcmp(proof, good) == 0;
}
