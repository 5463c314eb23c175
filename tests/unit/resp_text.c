#include "resp_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 2048, MAX_BYTES = 1 << 17, MAX_OF_ARRAY = 256 };

static struct resp elements[MAX_ELEMENTS];
static char bytes[MAX_BYTES];
static size_t n_elements, n_bytes;

static struct resp resp_with(enum resp_type type, const char *text, size_t n)
{
    char *copy = bytes + n_bytes;
    cr_assert(n_bytes + n < sizeof bytes);
    memcpy(copy, text, n);
    copy[n] = '\0';
    n_bytes += n + 1;
    return (struct resp){.type = type, .text = copy, .length = n};
}

static struct resp read_word(const char **textp)
{
    const char *text = *textp;
    if (*text == '\'') {
        size_t n = strcspn(text + 1, "'");
        *textp = text + n + 2;
        return resp_with(RESP_STRING, text + 1, n);
    }
    size_t n = strcspn(text, " "), sign = *text == '-';
    *textp = text + n;
    if (n > sign && strspn(text + sign, "0123456789") == n - sign) {
        return (struct resp){.type = RESP_INTEGER, .text = "", .integer = strtoll(text, NULL, 10)};
    }
    return *text == '_' && n == 1 ? (struct resp){.type = RESP_NIL, .text = ""}
        : *text == '+'            ? resp_with(RESP_STATUS, text + 1, n - 1)
                                  : resp_with(RESP_STRING, text, n);
}

/* Behind its bracket. */
static struct resp read_array(const char **textp)
{
    struct resp list[MAX_OF_ARRAY];
    size_t n = 0;
    for (*textp += strspn(*textp, " "); **textp != ']'; *textp += strspn(*textp, " ")) {
        cr_assert(n < MAX_OF_ARRAY && **textp != '\0');
        bool is_array = **textp == '[';
        *textp += is_array;
        list[n++] = is_array ? read_array(textp) : read_word(textp);
    }
    ++*textp;
    cr_assert(n_elements + n < MAX_ELEMENTS);
    memcpy(elements + n_elements, list, n * sizeof list[0]);
    n_elements += n;
    return (struct resp){
        .type = RESP_ARRAY, .text = "", .elements = elements + n_elements - n, .n = n};
}

const struct resp *resp_of(const char *text)
{
    static struct resp reply;
    n_elements = n_bytes = 0;
    if (*text == '-' && strspn(text + 1, "0123456789") == 0) {
        reply = resp_with(RESP_ERROR, text + 1, strlen(text + 1));
    } else if (*text == '[') {
        text++;
        reply = read_array(&text);
    } else {
        reply = read_word(&text);
    }
    return &reply;
}
