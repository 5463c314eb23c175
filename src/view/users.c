#include "view/users.h"

#include "base/memory.h"
#include "base/words.h"

#include <pwd.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct user {
    uint64_t uid;
    const char *name; /* NULL: has none */
};

static void *users; /* tsearch() */

static const char *no_name(uint64_t uid)
{
    (void)uid;
    return NULL;
}

const char *(*user_name)(uint64_t uid) = no_name;

static const char *name_of(uint64_t uid)
{
    const struct passwd *entry = uid < UINT32_MAX ? getpwuid((uid_t)uid) : NULL;
    return entry && entry->pw_name[0] != '\0' ? memory_string(entry->pw_name) : NULL;
}

const char *user_look_up(uint64_t uid)
{
    struct user wanted = {.uid = uid};
    struct user **found = tfind(&wanted, &users, numbers_compare);
    if (found) {
        return (*found)->name;
    }
    struct user *user = memory_resize(NULL, 1, sizeof *user);
    *user = (struct user){.uid = uid, .name = name_of(uid)};
    if (!tsearch(user, &users, numbers_compare)) {
        abort();
    }
    return user->name;
}

bool user_find(const char *word, uint64_t *uidp)
{
    const struct passwd *entry = getpwnam(word);
    if (entry) {
        *uidp = entry->pw_uid;
        return true;
    }
    return number_parse(word, UINT32_MAX - UINT64_C(1), uidp);
}
