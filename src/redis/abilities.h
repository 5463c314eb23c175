/* abilities.h - which commands a server allows, as discovered while a connection is set up
 * (abilities.def is the table of them). Pure. */
#pragma once

#include "base/faults.h"
#include "base/text.h"

enum ability {
#define ABILITY(id, ...) ABILITY_##id,
#include "redis/abilities.def"
#undef ABILITY
    N_ABILITIES
};

enum ability_need {
    ABILITY_REQUIRED, /* an error reply ends the try */
    ABILITY_ACKNOWLEDGED, /* it is noted, and then server_check.h refuses unless it is acknowledged
                           */
    ABILITY_OPTIONAL, /* it is noted */
};

struct ability_row {
    const char *word, *command, *without;
    enum ability_need need;
    enum fault fault; /* of ABILITY_ACKNOWLEDGED */
};

extern const struct ability_row ability_table[N_ABILITIES];

enum ability_state { ABILITY_NOT_TRIED, ABILITY_THERE, ABILITY_LACKING };

/* Zero: nothing was tried yet. */
struct abilities {
    uint8_t states[N_ABILITIES]; /* enum ability_state */
};

static inline bool abilities_lack(const struct abilities *abilities, enum ability ability)
{
    return abilities->states[ability] == ABILITY_LACKING;
}

/* Does this error reply say that the server, or its user's rights, do not allow the command? Others
 * (LOADING, BUSY, too many clients, ...) say nothing about what it allows. */
bool ability_is_denied_by(const char *error);

/* The words of what it lacks, with commas between; "" if nothing. */
void abilities_add_lacking(const struct abilities *abilities, struct text *out);
