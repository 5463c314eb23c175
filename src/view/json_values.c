#include "view/json_values.h"

#include "base/memory.h"
#include "view/printable.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(size_t size)
{
    return memory_resize(NULL, size, 1);
}

void json_begin(void)
{
    json_set_alloc_funcs(allocate, free);
}

json_t *text_value(const char *string)
{
    if (!string) {
        return json_null();
    }
    struct text valid = TEXT_INIT;
    text_add_valid(&valid, string);
    json_t *value = json_stringn(valid.bytes, valid.length);
    text_deinit(&valid);
    return value;
}

json_t *number_value(uint64_t number)
{
    return json_integer((json_int_t)number); /* at most INT64_MAX, as parsed */
}

json_t *optional_value(const struct optional *optional)
{
    return optional->is_given ? number_value(optional->number) : json_null();
}

json_t *instant_value(const struct instant *instant)
{
    return instant->is_given ? json_integer(instant->at) : json_null();
}

json_t *digits_value(uint64_t number)
{
    return json_sprintf("%llu", (unsigned long long)number);
}

json_t *words_value(const struct words *words)
{
    json_t *array = json_array();
    for (size_t i = 0; i < words->n; i++) {
        json_array_append_new(array, text_value(words->list[i]));
    }
    return array;
}

void set_user(
    json_t *object, const char *uid_key, const char *user_key, const struct shown_user *user)
{
    json_object_set_new(object, uid_key, optional_value(&user->uid));
    json_object_set_new(object, user_key, text_value(user->name));
}

/* jansson leaves DEL unescaped; it can only occur inside a string. */
static void add_without_del(struct text *out, const char *json)
{
    for (const char *del; (del = strchr(json, 0x7f)) != NULL; json = del + 1) {
        text_add_bytes(out, json, (size_t)(del - json));
        text_add(out, "\\u007f");
    }
    text_add(out, json);
}

void json_add(json_t *value, struct text *out)
{
    enum { FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY };
    char *json = json_dumps(value, FLAGS);
    add_without_del(out, json);
    free(json);
    json_decref(value);
}

void json_finish(json_t *object, struct text *out)
{
    json_add(object, out);
    text_add(out, "\n");
}

void shown_set(json_t *object, const char *const shown[N_SHOWN])
{
    for (size_t i = 0; i < N_SHOWN; i++) {
        if (shown_rows[i].title) {
            json_object_set_new(object, shown_rows[i].word, text_value(shown[i]));
        }
    }
}
