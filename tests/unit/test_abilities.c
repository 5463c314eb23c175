/* What a server allows, by its error replies. */
#include "redis/abilities.h"

#include <criterion/criterion.h>

Test(abilities, denials)
{
    static const char *const denials[] = {
        "NOPERM this user has no permissions to run the 'info' command",
        "ERR unknown command 'INFO', with args beginning with: ",
        "ERR Command is not available: 'INFO'",
    };
    static const char *const others[] = {"LOADING Redis is loading the dataset in memory",
        "BUSY Redis is busy running a script", "NOAUTH Authentication required.",
        "ERR max number of clients reached", "CLUSTERDOWN The cluster is down", "ERROR", ""};
    for (size_t i = 0; i < sizeof denials / sizeof denials[0]; i++) {
        cr_assert(ability_is_denied_by(denials[i]), "%s", denials[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_assert_not(ability_is_denied_by(others[i]), "%s", others[i]);
    }
}

Test(abilities, words_of_what_is_lacking)
{
    struct abilities abilities = {0};
    struct text text = TEXT_INIT;
    abilities_add_lacking(&abilities, &text);
    cr_assert_eq(text.length, 0);
    abilities.states[ABILITY_select] = ABILITY_THERE;
    abilities.states[ABILITY_info] = abilities.states[ABILITY_client_name] = ABILITY_LACKING;
    abilities_add_lacking(&abilities, &text);
    cr_assert_str_eq(text.bytes, "info,client-setname");
    text_deinit(&text);
}
