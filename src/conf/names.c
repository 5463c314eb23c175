#include "conf/names.h"

#include "base/memory.h"
#include "base/words.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

void known_set_deinit(struct known_set *set)
{
    while (set->list) {
        struct known *known = set->list;
        set->list = known->next;
        table_remove(&set->table, &known->node);
        free(known);
    }
    table_deinit(&set->table);
}

struct known *known_find(const struct known_set *set, const char *text)
{
    struct table_node *node = table_find(&set->table, hash_string(text, 0));
    while (node && strcmp(container_of(node, struct known, node)->text, text) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct known, node) : NULL;
}

struct known *known_add(struct known_set *set, const char *text, struct place place)
{
    size_t size = strlen(text) + 1;
    struct known *known = memory_new(sizeof *known + size);
    memcpy(known->text, text, size);
    known->place = place;
    known->next = set->list;
    set->list = known;
    table_insert(&set->table, &known->node, hash_string(text, 0));
    return known;
}

/* ---- users and groups ---- */

enum {
    FIRST_BUFFER_BYTES = 1024,
    MAX_BUFFER_BYTES = 64 << 20, /* groups with very many members need megabytes */
};

/* POSIX reports "not found" as 0 and no entry; some name services use an errno. */
static enum lookup_result lookup_result(int error, bool is_found)
{
    if (is_found) {
        return LOOKUP_FOUND;
    }
    if (error == 0 || error == ENOENT || error == ESRCH || error == EINVAL) {
        return LOOKUP_UNKNOWN;
    }
    errno = error;
    return LOOKUP_FAILED;
}

enum lookup_result conf_system_lookup(bool is_group, const char *name, uint32_t *idp)
{
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    char *buffer = NULL;
    int error = ERANGE;
    for (size_t n = FIRST_BUFFER_BYTES; error == ERANGE && n <= MAX_BUFFER_BYTES; n *= 4) {
        buffer = memory_resize(buffer, n, 1);
        error = is_group ? getgrnam_r(name, &group, buffer, n, &found_group)
                         : getpwnam_r(name, &user, buffer, n, &found_user);
    }
    *idp = found_group ? group.gr_gid : found_user ? user.pw_uid : 0;
    free(buffer);
    return lookup_result(error, found_group || found_user);
}

void names_deinit(struct names *names)
{
    known_set_deinit(&names->users);
    known_set_deinit(&names->groups);
}

enum lookup_result names_find(struct names *names, bool is_group, const char *text, uint32_t *idp)
{
    struct known_set *set = is_group ? &names->groups : &names->users;
    uint64_t number;
    if (number_parse(text, UINT32_MAX - 1, &number)) { /* (uid_t)-1 is no user */
        *idp = (uint32_t)number;
        return LOOKUP_FOUND;
    }
    struct known *known = known_find(set, text);
    if (!known) {
        known = known_add(set, text, (struct place){.line = 0});
        known->result = names->lookup(is_group, text, &known->id);
        known->error = errno;
    }
    *idp = known->id;
    errno = known->error;
    return known->result;
}
