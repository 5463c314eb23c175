#include "redis/old_libraries.h"

#include "redis/scripts.h"

#include <stdio.h>
#include <string.h>

#define DECIMAL "0123456789"
#define HEXADECIMAL "0123456789abcdef"

enum { DIGEST_BYTES = 16 };

/* berth_L<layout>_<digest> (scripts/assemble). Others may have libraries on that server too. */
static bool is_of_berth(const char *name)
{
    static const char begin[] = "berth_L";
    if (strncmp(name, begin, sizeof begin - 1) != 0) {
        return false;
    }
    const char *layout = name + sizeof begin - 1;
    size_t n = strspn(layout, DECIMAL);
    const char *digest = layout + n + 1;
    return n > 0 && n < 10 && layout[n] == '_' &&
        strspn(digest, HEXADECIMAL) == DIGEST_BYTES && digest[DIGEST_BYTES] == '\0';
}

static bool is_of_this_version(const char *name)
{
    bool is_ours = false;
    for (size_t i = 0; i < n_script_sets; i++) {
        is_ours |= strcmp(name, script_sets[i].name) == 0;
    }
    return is_ours;
}

/* Of one element of FUNCTION LIST, which begins with "library_name" and the name. */
static void note_library(struct old_libraries *old, const struct resp *library)
{
    if (library->type != RESP_ARRAY || library->n < 2 || old->n == OLD_LIBRARIES_AT_ONCE) {
        return;
    }
    const char *name = library->elements[1].text;
    if (is_of_berth(name) && !is_of_this_version(name)) {
        snprintf(old->names[old->n++], OLD_LIBRARY_BYTES, "%s", name);
    }
}

static bool ask_idle(struct old_libraries *old, const char *words[])
{
    if (old->n == 0) {
        return false;
    }
    old->step = OLD_LIBRARIES_ASKED;
    snprintf(old->function, sizeof old->function, "%.40s_idle", old->names[old->n - 1]);
    words[0] = "FCALL", words[1] = old->function, words[2] = "0", words[3] = NULL;
    return true;
}

void old_libraries_begin(struct old_libraries *old, const char *words[OLD_LIBRARIES_WORDS])
{
    old->step = OLD_LIBRARIES_LISTED;
    old->n = 0;
    words[0] = "FUNCTION", words[1] = "LIST", words[2] = "LIBRARYNAME", words[3] = "berth_L*";
    words[4] = NULL;
}

bool old_libraries_next(struct old_libraries *old, const struct resp *reply,
    const char *words[OLD_LIBRARIES_WORDS])
{
    if (old->step == OLD_LIBRARIES_LISTED) {
        for (size_t i = 0; reply->type == RESP_ARRAY && i < reply->n; i++) {
            note_library(old, &reply->elements[i]);
        }
        return ask_idle(old, words);
    }
    bool is_idle = reply->type == RESP_INTEGER && reply->integer >= OLD_LIBRARY_IDLE;
    if (old->step == OLD_LIBRARIES_ASKED && is_idle) {
        old->step = OLD_LIBRARIES_DELETED;
        words[0] = "FUNCTION", words[1] = "DELETE", words[2] = old->names[old->n - 1];
        words[3] = NULL;
        return true;
    }
    old->n--;
    return ask_idle(old, words);
}
