/* random.h - numbers that nobody else has drawn. */
#pragma once

#include <stdint.h>

uint64_t random_bits(void);
