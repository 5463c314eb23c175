#include "base/by_whom.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

void by_whom_format(char text[static BY_WHOM_SIZE], const struct by_whom *by)
{
    int n = by->is_known ? snprintf(text, BY_WHOM_SIZE, "%u", by->uid) : 0;
    text[n] = '\0';
    if (by->is_known && by->has_login) {
        snprintf(text + n, BY_WHOM_SIZE - (size_t)n, " %u", by->login);
    }
}

static bool parse_uid(const char *digits, size_t n, uint32_t *uidp)
{
    char word[BY_WHOM_SIZE];
    uint64_t uid = 0;
    bool is_uid = n < sizeof word;
    memcpy(word, digits, is_uid ? n : 0);
    word[is_uid ? n : 0] = '\0';
    is_uid = is_uid && number_parse(word, UINT32_MAX - UINT64_C(1), &uid);
    *uidp = (uint32_t)uid;
    return is_uid;
}

struct by_whom by_whom_parse(const char *text)
{
    struct by_whom by = {.is_known = false};
    size_t n = strcspn(text, " ");
    by.is_known = parse_uid(text, n, &by.uid);
    if (by.is_known && text[n] == ' ') {
        by.is_known = by.has_login = parse_uid(text + n + 1, strlen(text + n + 1), &by.login);
    }
    return by.is_known ? by : (struct by_whom){.is_known = false};
}
