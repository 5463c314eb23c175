#include "redis_data.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct bytes bytes_of(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static int bytes_compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

bool bytes_are(struct bytes a, struct bytes b)
{
    return bytes_compare(a, b) == 0;
}

/* ---- one value ---- */

static struct member *member_new(struct member from)
{
    struct member *member = memory_new(sizeof *member + from.name.n + from.value.n);
    char *at = (char *)(member + 1);
    memcpy(at, from.name.at, from.name.n);
    if (from.value.n > 0) {
        memcpy(at + from.name.n, from.value.at, from.value.n);
    }
    *member = (struct member){from.score, {at, from.name.n}, {at + from.name.n, from.value.n}};
    return member;
}

size_t value_rank(const struct value *value, double score, const struct bytes *name, bool or_equal)
{
    size_t low = 0, high = value->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct member *member = value->members[middle];
        int order = (member->score > score) - (member->score < score);
        order = order == 0 && name ? bytes_compare(member->name, *name) : order;
        if (order < 0 || (or_equal && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Where the member of that name is, or `n`. */
static size_t find(const struct value *value, struct bytes name)
{
    size_t at = 0;
    if (value->n > 0 && value->members[0]->score == value->members[value->n - 1]->score) {
        at = value_rank(value, value->members[0]->score, &name, false);
        return at < value->n && bytes_are(value->members[at]->name, name) ? at : value->n;
    }
    while (at < value->n && !bytes_are(value->members[at]->name, name)) {
        at++;
    }
    return at;
}

const struct member *value_find(const struct value *value, struct bytes name)
{
    size_t at = find(value, name);
    return at < value->n ? value->members[at] : NULL;
}

bool value_remove(struct value *value, struct bytes name)
{
    size_t at = find(value, name);
    if (at == value->n) {
        return false;
    }
    struct member **member = &value->members[at];
    free(*member);
    memmove(member, member + 1, (--value->n - at) * sizeof *member);
    return true;
}

bool value_put(struct value *value, struct member member)
{
    struct member *made = member_new(member);
    bool is_new = !value_remove(value, member.name);
    value->members = memory_grow(value->members, value->n, sizeof *value->members);
    struct member **place = value->members + value_rank(value, made->score, &made->name, false);
    memmove(place + 1, place, (size_t)(value->members + value->n++ - place) * sizeof *place);
    *place = made;
    return is_new;
}

static void value_free(struct value *value)
{
    for (size_t i = 0; i < value->n; i++) {
        free(value->members[i]);
    }
    free(value->members);
    free(value);
}

/* ---- all of them ---- */

struct redis_data *redis_data_new(void)
{
    return memory_new(sizeof(struct redis_data));
}

struct redis_data *redis_data_free(struct redis_data *data)
{
    for (size_t i = 0; data && i < data->n; i++) {
        value_free(data->values[i]);
    }
    if (data) {
        free(data->values);
    }
    free(data);
    return NULL;
}

struct redis_data *redis_data_copy(const struct redis_data *data)
{
    struct redis_data *copy = redis_data_new();
    for (size_t i = 0; i < data->n; i++) {
        const struct value *from = data->values[i];
        struct value *to = redis_data_make(copy, from->key, from->type);
        for (size_t k = 0; k < from->n; k++) {
            to->members = memory_grow(to->members, to->n, sizeof *to->members);
            to->members[to->n++] = member_new(*from->members[k]);
        }
    }
    return copy;
}

static struct value **place_of(const struct redis_data *data, struct bytes key)
{
    for (size_t i = 0; i < data->n; i++) {
        if (bytes_are(data->values[i]->key, key)) {
            return &data->values[i];
        }
    }
    return NULL;
}

struct value *redis_data_find(const struct redis_data *data, struct bytes key)
{
    struct value **place = place_of(data, key);
    return place ? *place : NULL;
}

const struct member *redis_data_member(
    const struct redis_data *data, const char *key, const char *name)
{
    const struct value *value = redis_data_find(data, bytes_of(key));
    return value ? value_find(value, bytes_of(name)) : NULL;
}

struct value *redis_data_make(struct redis_data *data, struct bytes key, enum value_type type)
{
    struct value *value = memory_new(sizeof *value + key.n);
    char *at = (char *)(value + 1);
    memcpy(at, key.at, key.n);
    *value = (struct value){.type = type, .key = {at, key.n}};
    data->values = memory_grow(data->values, data->n, sizeof(struct value *));
    data->values[data->n++] = value;
    return value;
}

bool redis_data_remove(struct redis_data *data, struct bytes key)
{
    struct value **place = place_of(data, key);
    if (place) {
        value_free(*place);
        *place = data->values[--data->n];
    }
    return place != NULL;
}
