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

static int user_compare(const void *left, const void *right)
{
    uint64_t a = ((const struct user *)left)->uid, b = ((const struct user *)right)->uid;
    return (a > b) - (a < b);
}

static const char *look_up(uint64_t uid)
{
    const struct passwd *entry = uid < UINT32_MAX ? getpwuid((uid_t)uid) : NULL;
    return entry && entry->pw_name[0] != '\0' ? memory_string(entry->pw_name) : NULL;
}

const char *user_name(uint64_t uid)
{
    struct user wanted = {.uid = uid};
    struct user **found = tfind(&wanted, &users, user_compare);
    if (found) {
        return (*found)->name;
    }
    struct user *user = memory_resize(NULL, 1, sizeof *user);
    *user = (struct user){.uid = uid, .name = look_up(uid)};
    if (!tsearch(user, &users, user_compare)) {
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

static void leases_fill_in(struct status_leases *leases)
{
    for (size_t i = 0; i < leases->n; i++) {
        leases->list[i].user = user_name(leases->list[i].uid);
    }
}

static void user_fill_in(struct shown_user *user)
{
    user->name = user->uid.is_given ? user_name(user->uid.number) : NULL;
}

void users_fill_in(struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        user_fill_in(&status->resources[i].paused_by);
        user_fill_in(&status->resources[i].paused_by_login);
        leases_fill_in(&status->resources[i].holders);
        leases_fill_in(&status->resources[i].waiters);
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        user_fill_in(&status->templates[i].paused_by);
        user_fill_in(&status->templates[i].paused_by_login);
    }
}

void users_fill_in_past_lease(struct past_lease *lease)
{
    user_fill_in(&lease->user);
    user_fill_in(&lease->login);
    user_fill_in(&lease->by);
    user_fill_in(&lease->by_login);
}

void users_fill_in_past(struct past *past)
{
    for (size_t i = 0; i < past->n; i++) {
        users_fill_in_past_lease(&past->leases[i]);
    }
}
