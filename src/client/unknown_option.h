/* unknown_option.h - what every program says about an option that it does not have. */
#pragma once

#include <getopt.h>

/* Says that there is no such option, which of those there are is nearest, and what to see. `known`
 * ends with {0}. */
void unknown_option_refuse(const char *word, const struct option known[], const char *see);
