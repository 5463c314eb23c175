#include "base/actor.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

void actor_format(char text[static ACTOR_SIZE], const struct actor *by)
{
    int n = by->is_known ? snprintf(text, ACTOR_SIZE, "%u", by->uid) : 0;
    text[n] = '\0';
    if (by->is_known && by->has_login) {
        snprintf(text + n, ACTOR_SIZE - (size_t)n, " %u", by->login);
    }
}

static bool parse_uid(const char *word, uint32_t *uidp)
{
    uint64_t uid = 0;
    bool is_uid = number_parse(word, UINT32_MAX - UINT64_C(1), &uid);
    *uidp = (uint32_t)uid;
    return is_uid;
}

struct actor actor_parse(const char *text)
{
    struct actor by = {.is_known = false};
    char words[ACTOR_SIZE];
    if (strlen(text) < sizeof words) {
        const char *login = word_cut(strcpy(words, text));
        by.has_login = login != NULL;
        by.is_known = parse_uid(words, &by.uid) && (!login || parse_uid(login, &by.login));
    }
    return by.is_known ? by : (struct actor){.is_known = false};
}
