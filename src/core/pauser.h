/* pauser.h - who paused something: the operator's uid, and the user who had logged in, if that is
 * known and another one (sudo). Everybody may know both. */
#ifndef BERTH_CORE_PAUSER_H
#define BERTH_CORE_PAUSER_H

#include <stdbool.h>
#include <stdint.h>

struct pauser {
    bool is_known; /* of a pause by an older berthd, it is not */
    bool has_login;
    uint32_t uid;
    uint32_t login; /* with .has_login: never .uid */
};

#endif
