/* random.h - numbers that nobody else has drawn. */
#ifndef BERTH_CLIENT_RANDOM_H
#define BERTH_CLIENT_RANDOM_H

#include <stdint.h>

uint64_t random_bits(void);

#endif
