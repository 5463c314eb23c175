/* checksum.h - sums that tell a damaged file from a good one. They are no defence against an
 * attacker: whoever may write our files can also compute them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Each step can be undone, so two inputs that differ in only one aligned word always have different
 * sums. 6 cycles for 8 bytes. In the host's byte order: files stay on their host. */
static inline uint64_t checksum_step(uint64_t sum, const char *bytes, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, bytes, n);
    sum = (sum ^ word) * UINT64_C(0xd6e8feb86659fd93);
    return sum ^ sum >> 32;
}

static inline uint64_t checksum(const void *bytes, size_t length)
{
    const char *next = bytes, *whole = next + length / sizeof(uint64_t) * sizeof(uint64_t);
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15) ^ length;
#pragma GCC unroll 4
    for (; next != whole; next += sizeof sum) {
        sum = checksum_step(sum, next, sizeof sum);
    }
    length %= sizeof sum;
    if (length > 0) {
        sum = checksum_step(sum, next, length);
    }
    return (sum ^ sum >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}
