#include "client/ctl_request.h"

#include "wire/protocol.h"
#include "wire/text.h"

#include <stdlib.h>
#include <string.h>

static char *encoded(const char *string)
{
    size_t size = percent_encode(NULL, 0, string) + 1;
    char *out = memory_resized(NULL, size, 1);
    percent_encode(out, size, string);
    return out;
}

/* An argument must not look like key=value. */
static void add_argument(struct text *out, const char *argument)
{
    char *word = encoded(argument);
    char *rest = word;
    text_add(out, " ");
    for (char *part; (part = strsep(&rest, "=")) != NULL;) {
        text_add(out, part);
        text_add(out, rest ? "%3D" : "");
    }
    free(word);
}

bool request_print(const struct ctl_request *request, struct text *out)
{
    text_add(out, request->word);
    for (size_t i = 0; i < request->n_arguments; i++) {
        add_argument(out, request->arguments[i]);
    }
    if (request->reason) {
        char *reason = encoded(request->reason);
        text_format(out, " reason=%s", reason);
        free(reason);
    }
    text_add(out, request->wait ? " wait=1\n" : "\n");
    return out->n <= LINE_BYTES;
}
