/* proof.h - lets a client have its lease back when berthd has lost the journal: the proof shows
 * what the client was given, and that berthd itself said so. A word for the protocol,
 *
 *     HASH[,TOKEN]...          a token for each resource if the lease is held; of a share sLEASE,
 *                              the lease whose units it uses
 *
 * The hash is keyed and covers the lease's id and user, whether it is held or waits, names, counts,
 * units, tokens and the process that it is bound to. Of each level (`also`) of a held lease, whose
 * units the client does not have, ;NAME,TOKEN,UNITS follows, with a * before items. Pure. */
#pragma once

#include "base/text.h"
#include "core/saved_lease.h"

#include <stdbool.h>
#include <stdint.h>

enum { SECRET_BYTES = 16 };

/* Appends the proof of a lease as it is now. */
void proof_write(
    struct text *out, const uint8_t secret[static SECRET_BYTES], const struct lease *lease);
/* How long that word can get for a lease of so many resources, but for the units of levels. */
size_t proof_max_bytes(size_t n_claims);
/* Whether the word, which this takes apart, proves what `proven` claims, apart from the tokens,
 * which this fills in, and the levels, which it adds if the word is well-formed. The caller frees
 * their units. */
bool proof_read(
    char *proof, const uint8_t secret[static SECRET_BYTES], struct saved_lease *proven);

/* SipHash-2-4 (Aumasson and Bernstein 2012) of numbers, each as 8 bytes, the lowest first. */
struct siphash {
    uint64_t v[4], n_bytes;
};
struct siphash siphash_begin(const uint8_t key[static SECRET_BYTES]);
void siphash_add(struct siphash *hash, uint64_t word);
uint64_t siphash_end(struct siphash *hash);
