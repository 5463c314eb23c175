#include "redis/abilities.h"

#include <string.h>

const struct ability_row ability_table[N_ABILITIES] = {
#define ABILITY(id, its_word, its_command, its_need, its_fault, its_without)                       \
    [ABILITY_##id] = {                                                                             \
        .word = (its_word),                                                                        \
        .command = (its_command),                                                                  \
        .without = (its_without),                                                                  \
        .need = ABILITY_##its_need,                                                                \
        .fault = (its_fault),                                                                      \
    },
#include "redis/abilities.def"
#undef ABILITY
};

/* Managed servers answer a command that they do not have with NOPERM or with ERR and words of their
 * own. */
bool ability_is_denied_by(const char *error)
{
    return strncmp(error, "NOPERM ", 7) == 0 ||
        (strncmp(error, "ERR ", 4) == 0 && strncmp(error, "ERR max number of clients", 25) != 0);
}

void abilities_add_lacking(const struct abilities *abilities, struct text *out)
{
    size_t n = 0;
    for (enum ability i = 0; i < N_ABILITIES; i++) {
        if (abilities_lack(abilities, i)) {
            text_add(out, n++ > 0 ? "," : "");
            text_add(out, ability_table[i].word);
        }
    }
}
