#include "berth/signal_words.h"

#include "base/words.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

int signal_parse(const char *word)
{
    uint64_t number;
    if (number_parse(word, NSIG - 1, &number)) {
        return (int)number;
    }
    if (strncasecmp(word, "SIG", 3) == 0) {
        word += 3;
    }
    for (int i = 1; i < NSIG; i++) {
        const char *name = sigabbrev_np(i);
        if (name && strcasecmp(word, name) == 0) {
            return i;
        }
    }
    return 0;
}
