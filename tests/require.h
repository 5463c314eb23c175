/* require.h - REQUIRE(condition) aborts where it does not hold. Not assert(): in every build. */
#pragma once

#include <stdlib.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
