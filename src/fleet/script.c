#include "fleet/script.h"

const char *const script_words[N_SCRIPTS] = {
    [SCRIPT_HELLO] = "hello",
    [SCRIPT_ACQUIRE] = "acquire",
    [SCRIPT_RELEASE] = "release",
    [SCRIPT_RENEW] = "renew",
    [SCRIPT_SNAPSHOT] = "snapshot",
    [SCRIPT_ADMIN] = "admin",
};
