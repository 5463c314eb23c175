#include "client/ctl_request.h"

#include "base/memory.h"
#include "base/words.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* An argument must not look like key=value. */
static void add_argument(struct text *out, const char *argument)
{
    char *copy = memory_string(argument), *rest = copy;
    for (const char *part; (part = strsep(&rest, "=")) != NULL;) {
        text_add(out, part == copy ? " " : "%3D");
        text_add_encoded(out, part);
    }
    free(copy);
}

static void add_given(struct text *out, const char *key, const struct optional *number)
{
    if (number->is_given) {
        text_add_number_key(out, key, number->number);
    }
}

bool request_print(const struct ctl_request *request, struct text *out)
{
    text_add(out, request->word);
    for (size_t i = 0; i < request->n_arguments; i++) {
        add_argument(out, request->arguments[i]);
    }
    text_add_key(out, "reason", request->reason);
    text_add_key(out, "database", request->database);
    add_given(out, "from", &request->from);
    text_add_key(out, "lease", request->lease);
    add_given(out, "since", &request->since);
    add_given(out, "until", &request->until);
    add_given(out, "user", &request->user);
    add_given(out, "limit", &request->limit);
    text_add(out, request->failed ? " failed=1" : "");
    text_add(out, request->wait ? " wait=1\n" : "\n");
    return out->length <= LINE_BYTES;
}
