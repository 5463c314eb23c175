/* proof.h - what a client shows, when berthd has lost its journal, to have a lease back: that it was
 * given this id before. Without it anybody could claim any id, and so a place in line or a unit
 * that is another's. Pure. */
#ifndef BERTH_DAEMON_PROOF_H
#define BERTH_DAEMON_PROOF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SECRET_BYTES = 16,
    PROOF_SIZE = 16 + 1, /* hex digits and a NUL */
};

void proof_format(
    char out[static PROOF_SIZE], const uint8_t secret[static SECRET_BYTES], uint64_t id, uint32_t uid);
bool proof_is_good(
    const char *proof, const uint8_t secret[static SECRET_BYTES], uint64_t id, uint32_t uid);

/* SipHash-2-4 (Aumasson and Bernstein 2012) of `n` bytes. */
uint64_t siphash(const uint8_t key[static SECRET_BYTES], const uint8_t *bytes, uint32_t n);

#endif
