#include "view/spread.h"

#include "base/memory.h"
#include "base/words.h"

#include <stdlib.h>

/* ---- buckets ---- */

/* By how many bits the durations of a bucket are cut. */
static unsigned shift_of(unsigned bucket)
{
    return bucket < 2 * SPREAD_GROUP ? 0 : bucket / SPREAD_GROUP - 1;
}

static unsigned bucket_of(uint64_t milliseconds)
{
    unsigned n_bits = 64 - (unsigned)__builtin_clzll(milliseconds | SPREAD_GROUP);
    unsigned shift = n_bits - 7; /* which leaves 64 to 127 */
    return shift * SPREAD_GROUP + (unsigned)(milliseconds >> shift);
}

static uint64_t lowest_of(unsigned bucket)
{
    unsigned shift = shift_of(bucket);
    return (uint64_t)(bucket - shift * SPREAD_GROUP) << shift;
}

/* What people would say for it: 200000 rather than 196608. */
static uint64_t roundest_of(unsigned bucket)
{
    uint64_t lowest = lowest_of(bucket), highest = lowest + (UINT64_C(1) << shift_of(bucket)) - 1;
    uint64_t round = highest;
    for (uint64_t unit = 10; unit <= highest && highest - highest % unit >= lowest; unit *= 10) {
        round = highest - highest % unit;
    }
    return round;
}

static uint64_t count_of(const struct spread *spread, unsigned bucket)
{
    const uint64_t *group = spread->groups[bucket / SPREAD_GROUP];
    return group ? group[bucket % SPREAD_GROUP] : 0;
}

/* The first from there on that is not empty, or SPREAD_BUCKETS. */
static unsigned next_used(const struct spread *spread, unsigned bucket)
{
    while (bucket < SPREAD_BUCKETS && count_of(spread, bucket) == 0) {
        bucket += spread->groups[bucket / SPREAD_GROUP] ? 1 : SPREAD_GROUP - bucket % SPREAD_GROUP;
    }
    return bucket;
}

/* ---- adding ---- */

/* As many as can be counted: .n is what all buckets have. */
static void add_to_bucket(struct spread *spread, unsigned bucket, uint64_t n)
{
    uint64_t counted = capped_sum(spread->n, n) - spread->n;
    uint64_t **group = &spread->groups[bucket / SPREAD_GROUP];
    if (!*group) {
        *group = memory_new(SPREAD_GROUP * sizeof **group);
    }
    (*group)[bucket % SPREAD_GROUP] += counted;
    spread->n += counted;
}

static void add_sums(struct spread *spread, uint64_t sum, uint64_t longest)
{
    spread->sum = capped_sum(spread->sum, sum);
    spread->longest = longest > spread->longest ? longest : spread->longest;
}

void spread_add(struct spread *spread, uint64_t milliseconds)
{
    uint64_t capped = milliseconds <= INT64_MAX ? milliseconds : INT64_MAX;
    add_to_bucket(spread, bucket_of(capped), 1);
    add_sums(spread, capped, capped);
}

void spread_merge(struct spread *into, const struct spread *from)
{
    unsigned bucket = 0;
    while ((bucket = next_used(from, bucket)) < SPREAD_BUCKETS) {
        add_to_bucket(into, bucket, count_of(from, bucket));
        bucket++;
    }
    add_sums(into, from->sum, from->longest);
}

void spread_deinit(struct spread *spread)
{
    for (unsigned i = 0; i < SPREAD_GROUPS; i++) {
        free(spread->groups[i]);
    }
    *spread = (struct spread){0};
}

/* ---- percentiles ---- */

uint64_t spread_percentile(const struct spread *spread, unsigned percent)
{
    uint64_t n = spread->n;
    /* n * percent may overflow. */
    uint64_t rank = n / 100 * percent + (n % 100 * percent + 99) / 100, before = 0;
    unsigned bucket = next_used(spread, 0);
    while (rank < n && before + count_of(spread, bucket) < rank) {
        before += count_of(spread, bucket);
        bucket = next_used(spread, bucket + 1);
    }
    uint64_t round = rank < n ? roundest_of(bucket) : spread->longest;
    return round < spread->longest ? round : spread->longest;
}

/* ---- as text ---- */

unsigned spread_write(
    const struct spread *spread, unsigned first, size_t room, struct text *out)
{
    size_t start = out->length;
    unsigned bucket = next_used(spread, first);
    while (bucket < SPREAD_BUCKETS && out->length - start + 2 * MAX_DIGITS + 2 <= room) {
        text_add(out, out->length > start ? "," : "");
        text_add_number(out, bucket);
        text_add(out, ":");
        text_add_number(out, count_of(spread, bucket));
        bucket = next_used(spread, bucket + 1);
    }
    return bucket;
}

/* "BUCKET:N", behind *nextp, which goes on. */
static bool read_bucket(struct spread *spread, char *word, uint64_t *nextp)
{
    char *n_text = word;
    uint64_t bucket, n;
    strsep(&n_text, ":");
    if (!n_text || !number_parse(word, SPREAD_BUCKETS - 1, &bucket) || bucket < *nextp ||
        !number_parse(n_text, (uint64_t)INT64_MAX - spread->n, &n) || n == 0) {
        return false;
    }
    add_to_bucket(spread, (unsigned)bucket, n);
    *nextp = bucket + 1;
    return true;
}

bool spread_read(struct spread *spread, char *buckets)
{
    uint64_t next = 0;
    for (char *word; (word = strsep(&buckets, ",")) != NULL;) {
        if (!read_bucket(spread, word, &next)) {
            return false;
        }
    }
    return next == 0 || lowest_of((unsigned)next - 1) <= spread->longest;
}
