#include "base/put.h"

#include <endian.h>

#define EIGHT_DIGITS 100000000U

/* quotients + (rests << bits), of each lane of `numbers` divided by `base`. */
static inline uint64_t split(uint64_t numbers, uint64_t quotients, uint64_t base, int bits)
{
    return (numbers << bits) - quotients * ((base << bits) - 1);
}

/* The digits of a number below EIGHT_DIGITS, zeros in front, the first one in the lowest byte. They
 * are split off together, in lanes of one word: two of four digits, four of two, eight of one. */
static inline uint64_t eight_digits(uint32_t number)
{
    uint64_t fours = split(number, number / 10000, 10000, 32);
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x7f0000007f); /* 10486/2^20 is 1/100 */
    uint64_t twos = split(fours, hundreds, 100, 16);
    uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f); /* 103/2^10 is 1/10 */
    return split(twos, tens, 10, 8);
}

static inline char *put_eight(char *to, uint64_t digits)
{
    uint64_t bytes = htole64(digits + UINT64_C(0x3030303030303030));
    return put_bytes(to, (const char *)&bytes, sizeof bytes);
}

/* Without the zeros in front, for which it writes as many bytes too many behind. `number` > 0. */
static inline char *put_first(char *to, uint32_t number)
{
    uint64_t digits = eight_digits(number);
    unsigned n_zeros = (unsigned)__builtin_ctzll(digits) / 8;
    return put_eight(to, digits >> 8 * n_zeros) - n_zeros;
}

char *put_large_number(char *to, uint64_t number)
{
    if (number < EIGHT_DIGITS) {
        return put_first(to, (uint32_t)number);
    }
    uint64_t upper = number / EIGHT_DIGITS;
    uint32_t lower = (uint32_t)(number - upper * EIGHT_DIGITS);
    if (upper < EIGHT_DIGITS) {
        to = put_first(to, (uint32_t)upper);
    } else {
        to = put_first(to, (uint32_t)(upper / EIGHT_DIGITS));
        to = put_eight(to, eight_digits((uint32_t)(upper % EIGHT_DIGITS)));
    }
    return put_eight(to, eight_digits(lower));
}

/* Four bits each, the first one in the lowest byte. */
static inline uint64_t eight_nibbles(uint32_t number)
{
    uint64_t lanes = number;
    lanes = (lanes | lanes << 16) & UINT64_C(0x0000ffff0000ffff);
    lanes = (lanes | lanes << 8) & UINT64_C(0x00ff00ff00ff00ff);
    lanes = (lanes | lanes << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return __builtin_bswap64(lanes);
}

static inline char *put_eight_hex(char *to, uint32_t number)
{
    uint64_t nibbles = eight_nibbles(number);
    uint64_t carries = (nibbles + UINT64_C(0x0606060606060606)) >> 4; /* from ten on */
    return put_eight(to, nibbles + (carries & UINT64_C(0x0101010101010101)) * ('a' - '0' - 10));
}

char *put_hex(char *to, uint64_t number)
{
    return put_eight_hex(put_eight_hex(to, (uint32_t)(number >> 32)), (uint32_t)number);
}
