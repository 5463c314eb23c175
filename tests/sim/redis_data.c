#include "redis_data.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int bytes_compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

/* ---- members ---- */

static void *allocate(size_t n)
{
    void *memory = malloc(n);
    if (!memory) {
        abort();
    }
    return memory;
}

static struct member *member_new(struct bytes name, struct bytes content, double score)
{
    struct member *member = allocate(sizeof *member + name.n + content.n);
    char *at = (char *)(member + 1);
    memcpy(at, name.at, name.n);
    if (content.n > 0) {
        memcpy(at + name.n, content.at, content.n);
    }
    *member =
        (struct member){.score = score, .name = {at, name.n}, .value = {at + name.n, content.n}};
    return member;
}

/* ---- one value ---- */

static size_t rank_by_name(const struct value *value, struct bytes name)
{
    size_t low = 0, high = value->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bytes_compare(value->by_name[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t rank_by_score(const struct value *value, double score, struct bytes name)
{
    size_t low = 0, high = value->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct member *member = value->by_score[middle];
        if (member->score < score ||
            (member->score == score && bytes_compare(member->name, name) < 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t value_rank_of_score(const struct value *value, double score, bool or_equal)
{
    size_t low = 0, high = value->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        double other = value->by_score[middle]->score;
        if (other < score || (or_equal && other == score)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t value_rank_of_name(const struct value *value, struct bytes name, bool or_equal)
{
    /* otherwise Redis promises no order */
    assert(value->by_score[0]->score == value->by_score[value->n - 1]->score);
    size_t rank = rank_by_name(value, name);
    bool is_there = rank < value->n && bytes_are(value->by_name[rank]->name, name);
    return rank + (or_equal && is_there);
}

static void open_gap(struct member **list, size_t n, size_t at)
{
    memmove(list + at + 1, list + at, (n - at) * sizeof *list);
}

static void close_gap(struct member **list, size_t n, size_t at)
{
    memmove(list + at, list + at + 1, (n - at - 1) * sizeof *list);
}

static struct member **enlarge(struct member **list, size_t size)
{
    list = realloc(list, size * sizeof(struct member *));
    if (!list) {
        abort();
    }
    return list;
}

static void insert(struct value *value, struct member *member)
{
    if (value->n == value->size) {
        value->size = value->size == 0 ? 8 : value->size * 2;
        value->by_name = enlarge(value->by_name, value->size);
        if (value->type == VALUE_SORTED) {
            value->by_score = enlarge(value->by_score, value->size);
        }
    }
    size_t rank = rank_by_name(value, member->name);
    open_gap(value->by_name, value->n, rank);
    value->by_name[rank] = member;
    if (value->type == VALUE_SORTED) {
        rank = rank_by_score(value, member->score, member->name);
        open_gap(value->by_score, value->n, rank);
        value->by_score[rank] = member;
    }
    value->n++;
}

struct member *value_find(const struct value *value, struct bytes name)
{
    size_t rank = rank_by_name(value, name);
    bool is_there = rank < value->n && bytes_are(value->by_name[rank]->name, name);
    return is_there ? value->by_name[rank] : NULL;
}

bool value_remove(struct value *value, struct bytes name)
{
    struct member *member = value_find(value, name);
    if (!member) {
        return false;
    }
    if (value->type == VALUE_SORTED) {
        close_gap(value->by_score, value->n, rank_by_score(value, member->score, name));
    }
    close_gap(value->by_name, value->n, rank_by_name(value, name));
    value->n--;
    free(member);
    return true;
}

static bool put(struct value *value, struct member *member)
{
    bool is_new = !value_remove(value, member->name);
    insert(value, member);
    return is_new;
}

bool value_put_field(struct value *value, struct bytes name, struct bytes content)
{
    return put(value, member_new(name, content, 0));
}

bool value_put_score(struct value *value, struct bytes name, double score)
{
    return put(value, member_new(name, (struct bytes){NULL, 0}, score));
}

static struct value *value_new(struct bytes key, enum value_type type)
{
    struct value *value = allocate(sizeof *value + key.n);
    char *at = (char *)(value + 1);
    memcpy(at, key.at, key.n);
    *value = (struct value){.type = type, .key = {at, key.n}};
    return value;
}

static void value_free(struct value *value)
{
    for (size_t i = 0; i < value->n; i++) {
        free(value->by_name[i]);
    }
    free(value->by_name);
    free(value->by_score);
    free(value);
}

/* ---- all of them ---- */

struct redis_data *redis_data_new(void)
{
    struct redis_data *data = allocate(sizeof *data);
    *data = (struct redis_data){0};
    return data;
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
            const struct member *member = from->by_name[k];
            insert(to, member_new(member->name, member->value, member->score));
        }
    }
    return copy;
}

struct value *redis_data_find(const struct redis_data *data, struct bytes key)
{
    for (size_t i = 0; i < data->n; i++) {
        if (bytes_are(data->values[i]->key, key)) {
            return data->values[i];
        }
    }
    return NULL;
}

struct value *redis_data_make(struct redis_data *data, struct bytes key, enum value_type type)
{
    struct value **values = realloc(data->values, (data->n + 1) * sizeof(struct value *));
    if (!values) {
        abort();
    }
    data->values = values;
    data->values[data->n] = value_new(key, type);
    return data->values[data->n++];
}

bool redis_data_remove(struct redis_data *data, struct bytes key)
{
    for (size_t i = 0; i < data->n; i++) {
        if (bytes_are(data->values[i]->key, key)) {
            value_free(data->values[i]);
            data->values[i] = data->values[--data->n];
            return true;
        }
    }
    return false;
}

void redis_data_tidy(struct redis_data *data, struct value *value)
{
    if (value->n > 0) {
        return;
    }
    for (size_t i = 0; i < data->n; i++) {
        if (data->values[i] == value) {
            data->values[i] = data->values[--data->n];
            value_free(value);
            return;
        }
    }
}
