/* Proofs: SipHash by its authors' vectors, and that nothing but the right id, uid and secret will
 * do. */
#include "daemon/proof.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint8_t secret[SECRET_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Appendix A of the paper: the bytes 0, 1, 2, ... of every length; and the first of the vectors
 * published with it. */
Test(proof, siphash)
{
    uint8_t bytes[16];
    for (uint8_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = i;
    }
    cr_expect_eq(siphash(secret, bytes, 0), UINT64_C(0x726fdb47dd0e0e31));
    cr_expect_eq(siphash(secret, bytes, 15), UINT64_C(0xa129ca6149be45e5));
}

Test(proof, of_one_lease_of_one_user)
{
    char proof[PROOF_SIZE];
    uint8_t other[SECRET_BYTES];
    memcpy(other, secret, sizeof other);
    other[15] ^= 1;
    proof_format(proof, secret, 7, 1000);
    cr_expect_eq(strlen(proof), (size_t)16);
    cr_expect(proof_is_good(proof, secret, 7, 1000));
    cr_expect_not(proof_is_good(proof, secret, 8, 1000));
    cr_expect_not(proof_is_good(proof, secret, 7, 1001));
    cr_expect_not(proof_is_good(proof, other, 7, 1000));
    cr_expect_not(proof_is_good("", secret, 7, 1000));
    proof[0] = proof[0] == '0' ? '1' : '0';
    cr_expect_not(proof_is_good(proof, secret, 7, 1000));
}
