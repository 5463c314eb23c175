/* fuzz.h - what a fuzz target defines: with clang, -fsanitize=fuzzer,address,undefined calls it,
 * elsewhere replay.c. */
#pragma once

#include "tests/require.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
