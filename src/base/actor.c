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

static bool parse_uid(const char *digits, size_t n, uint32_t *uidp)
{
    char word[ACTOR_SIZE];
    uint64_t uid = 0;
    bool is_uid = n < sizeof word;
    memcpy(word, digits, is_uid ? n : 0);
    word[is_uid ? n : 0] = '\0';
    is_uid = is_uid && number_parse(word, UINT32_MAX - UINT64_C(1), &uid);
    *uidp = (uint32_t)uid;
    return is_uid;
}

struct actor actor_parse(const char *text)
{
    struct actor by = {.is_known = false};
    size_t n = strcspn(text, " ");
    by.is_known = parse_uid(text, n, &by.uid);
    if (by.is_known && text[n] == ' ') {
        by.is_known = by.has_login = parse_uid(text + n + 1, strlen(text + n + 1), &by.login);
    }
    return by.is_known ? by : (struct actor){.is_known = false};
}
