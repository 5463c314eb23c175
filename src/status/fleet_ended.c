#include "status/fleet_ended.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/units.h"

#include <stdlib.h>
#include <string.h>

/* Milliseconds: since 1970, and of spans. */
#define MAX_MS (INT32_MAX * UINT64_C(2000))

/* ---- a page ---- */

enum page_field { PAGE_WORD, PAGE_NOW, PAGE_FIRST, PAGE_NEXT, PAGE_MISSED, N_PAGE_FIELDS };

bool stream_id_parse(const char *id, uint64_t *msp, uint64_t *numberp)
{
    char ms[STREAM_ID_SIZE];
    const char *rest = id ? fleet_take_word(id, '-', ms, sizeof ms) : NULL;
    return rest && number_parse(ms, INT64_MAX, msp) && number_parse(rest, UINT64_MAX, numberp);
}

uint64_t fleet_id_time(const char *id)
{
    uint64_t ms, number;
    return stream_id_parse(id, &ms, &number) && ms <= MAX_MS ? ms : 0;
}

bool fleet_page_read(
    struct fleet_page *page, const struct fleet_rows *rows, nanoseconds read_at)
{
    size_t at = 0;
    const struct fleet_row *row = fleet_rows_next(rows, "page", N_PAGE_FIELDS, &at);
    *page = (struct fleet_page){.read_at = read_at};
    if (!row || !fleet_number(row, PAGE_NOW, MAX_MS, &page->now)) {
        return false;
    }
    const char *next = fleet_field(row, PAGE_NEXT), *missed = fleet_field(row, PAGE_MISSED);
    char word[24];
    page->since = fleet_id_time(fleet_field(row, PAGE_FIRST));
    if (fleet_id_time(next) > 0 && strlen(next) < sizeof page->next) {
        strcpy(page->next, next);
    }
    missed = fleet_take_word(missed, ' ', word, sizeof word);
    if (missed && number_parse(word, INT64_MAX, &page->n_missed)) {
        number_parse(missed, MAX_MS, &page->missed_since);
    }
    return true;
}

nanoseconds fleet_page_instant(const struct fleet_page *page, uint64_t ms)
{
    return page->read_at - ((nanoseconds)page->now - (nanoseconds)ms) * NANOSECONDS_PER_MILLISECOND;
}

enum missed_field { MISSED_WORD, MISSED_ID, MISSED_N, MISSED_FROM, N_MISSED_FIELDS };

bool fleet_missed_read(struct fleet_missed *missed, const struct fleet_row *row)
{
    missed->until = fleet_id_time(fleet_field(row, MISSED_ID));
    return strcmp(row->fields, "missed") == 0 && row->n >= N_MISSED_FIELDS && missed->until > 0 &&
        number_parse(fleet_field(row, MISSED_N), INT64_MAX, &missed->n) &&
        number_parse(fleet_field(row, MISSED_FROM), MAX_MS, &missed->from);
}

const char *fleet_missed_id(const struct fleet_row *row)
{
    return fleet_field(row, MISSED_ID);
}

/* ---- an entry ---- */

enum past_field {
    PAST_WORD,
    PAST_ID,
    PAST_KEY,
    PAST_HOST,
    PAST_ENDING,
    PAST_STATE,
    PAST_UID,
    PAST_HOLDER,
    PAST_INFO,
    PAST_CLAIMS,
    N_PAST_FIELDS
};

static bool has_word(const char *words, const char *key)
{
    size_t n;
    return fleet_info_find(words, key, &n) != NULL;
}

static bool is_code_word(const char *word)
{
    return word[0] != '\0' && word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

static bool take_how(struct fleet_ended *ended, const char *ending)
{
    size_t n;
    const char *how = fleet_info_find(ending, "how", &n);
    if (!how || n >= sizeof ended->how) {
        return false;
    }
    memcpy(ended->how, how, n);
    ended->how[n] = '\0';
    ended->entry.how = ended->how;
    return is_code_word(ended->how);
}

static void take_ending(struct fleet_ended *ended, const char *ending)
{
    struct history_entry *entry = &ended->entry;
    size_t n;
    const char *why = fleet_info_find(ending, "why", &n);
    entry->status = has_word(ending, "exit") ? HISTORY_EXITED
        : has_word(ending, "signal")         ? HISTORY_SIGNALLED
                                             : HISTORY_STATUS_UNKNOWN;
    entry->number = (uint8_t)fleet_info_number(
        ending, entry->status == HISTORY_EXITED ? "exit" : "signal", UINT8_MAX);
    entry->by = (struct actor){
        .is_known = has_word(ending, "by"),
        .has_login = has_word(ending, "by_login"),
        .uid = (uint32_t)fleet_info_number(ending, "by", UINT32_MAX),
        .login = (uint32_t)fleet_info_number(ending, "by_login", UINT32_MAX),
    };
    entry->why = why ? fleet_text(ended->why, why, n, REASON_BYTES) : NULL;
}

/* A host that is gone has not said how long its lease had waited: its clock, when that was asked
 * for, and Redis' may differ. */
static void take_times(struct fleet_ended *ended, const struct fleet_row *row,
    const struct fleet_page *page)
{
    const char *ending = fleet_field(row, PAST_ENDING), *info = fleet_field(row, PAST_INFO);
    uint64_t at = fleet_info_number(info, "at", MAX_MS);
    uint64_t over = fleet_info_number(ending, "ended", MAX_MS);
    uint64_t held = fleet_info_number(ending, "held", MAX_MS);
    uint64_t waited = fleet_info_number(ending, "waited", MAX_MS);
    over = over > 0 ? over : fleet_id_time(ended->stream_id);
    over = over < page->now ? over : page->now; /* ids never go back, but Redis' clock may */
    if (!has_word(ending, "waited") && at > 0 && over > at + held) {
        waited = over - held - at;
    }
    struct saved_lease *lease = &ended->lease;
    lease->is_held = has_word(ending, "held");
    ended->entry.ended_at = fleet_page_instant(page, over);
    lease->granted_at = ended->entry.ended_at - (nanoseconds)held * NANOSECONDS_PER_MILLISECOND;
    lease->asked_at = lease->granted_at - (nanoseconds)waited * NANOSECONDS_PER_MILLISECOND;
}

static void fleet_ended_take_attributes(struct fleet_ended *ended, const struct fleet_row *row)
{
    const char *info = fleet_field(row, PAST_INFO), *holder = fleet_field(row, PAST_HOLDER);
    struct lease_attributes *attributes = &ended->lease.attributes;
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        size_t n;
        const struct attribute_row *attribute = &attribute_rows[i];
        const char *value = attribute->is_shown ? fleet_info_find(info, attribute->word, &n) : NULL;
        if (value) {
            *(const char **)((char *)attributes + attribute->offset) =
                fleet_text(ended->texts[i], value, n, attribute->bound);
        }
    }
    attributes->holder =
        fleet_text(ended->texts[ATTRIBUTE_holder], holder, strlen(holder), HOLDER_BYTES);
}

/* "NAME COUNT TOKEN UNITS" */
static bool fleet_ended_take_claim(struct fleet_ended *ended, char *text, size_t *n_unitsp)
{
    char *name = strsep(&text, " "), *count = strsep(&text, " "), *token = strsep(&text, " ");
    uint64_t n;
    bool is_name = name_is_valid(name) || template_name_is_valid(name);
    if (!token || !text || !is_name || !number_parse(count, MAX_UNITS, &n) || n == 0 ||
        ended->lease.n_claims == MAX_RESOURCES_PER_LEASE) {
        return false;
    }
    struct saved_claim *claim = &ended->lease.claims[ended->lease.n_claims++];
    *claim = (struct saved_claim){.name = name, .count = (uint32_t)n};
    claim->is_pool = units_count(text, false) != n;
    *n_unitsp += n;
    struct saved_unit *units = ended->lease.is_held && *n_unitsp <= MAX_UNITS
        ? memory_new((size_t)n * sizeof *units)
        : NULL;
    if (units && units_parse(text, claim->is_pool, (uint32_t)n, units)) {
        claim->units = units;
    } else {
        free(units);
    }
    return true;
}

static bool take_claims(struct fleet_ended *ended, const char *claims)
{
    size_t n_units = 0;
    bool is_good = true;
    ended->claims = memory_string(claims);
    char *rest = ended->claims;
    for (char *claim; is_good && (claim = strsep(&rest, "|"));) {
        is_good = fleet_ended_take_claim(ended, claim, &n_units);
    }
    return is_good;
}

/* The writer has said which of its resources hide it; an older one only how many: then all may. */
static uint16_t hiding_of(const struct saved_lease *lease, const char *info)
{
    uint16_t bits = 0;
    char name[NAME_BYTES + 1];
    uint64_t n_unknown = fleet_info_number(info, "hide", INT32_MAX);
    for (size_t k = 0; n_unknown > 0 && fleet_info_name(info, "hides", k, name); k++) {
        for (size_t i = 0; i < lease->n_claims; i++) {
            bool is_that_one = strcmp(lease->claims[i].name, name) == 0;
            bits |= (uint16_t)(is_that_one << i);
            n_unknown -= is_that_one;
        }
    }
    return n_unknown == 0 ? bits : UINT16_MAX;
}

/* An item or a number. */
static const char *did_word(const char *words, const char *key, char room[static REASON_BYTES + 1])
{
    size_t n;
    const char *found = fleet_info_find(words, key, &n);
    const char *word = found ? fleet_text(room, found, n, ITEM_BYTES) : NULL;
    return word && item_is_valid(word) ? word : NULL;
}

static void take_did(struct fleet_ended *ended, const char *words)
{
    size_t n;
    const struct history_entry *entry = &ended->entry;
    const char *from = fleet_info_find(words, "from", &n);
    ended->from = from ? from : "";
    ended->lease.uid = entry->by.uid;
    ended->lease.asked_at = entry->ended_at;
    ended->did = (struct did){
        .verb = entry->how,
        .resource = ended->lease.n_claims > 0 ? ended->lease.claims[0].name : NULL,
        .target = did_word(words, "word", ended->word),
        .old = did_word(words, "was", ended->was),
        .by = entry->by,
        .reason = entry->why,
    };
}

bool fleet_ended_read(struct fleet_ended *ended, const struct fleet_row *row,
    const struct fleet_page *page)
{
    const char *ending = fleet_field(row, PAST_ENDING), *info = fleet_field(row, PAST_INFO);
    const char *claims = fleet_field(row, PAST_CLAIMS);
    uint64_t uid;
    *ended = (struct fleet_ended){.stream_id = fleet_field(row, PAST_ID),
        .key = fleet_field(row, PAST_KEY),
        .from = ""};
    struct saved_lease *lease = &ended->lease;
    bool is_did = strcmp(row->fields, "did") == 0, has_none = is_did && !ended->key[0];
    if ((!is_did && strcmp(row->fields, "past") != 0) || row->n < N_PAST_FIELDS ||
        fleet_id_time(ended->stream_id) == 0 ||
        (!has_none && !fleet_key_parse(ended->key, &lease->id)) ||
        !fleet_number(row, PAST_UID, UINT32_MAX, &uid) || !take_how(ended, ending)) {
        return false;
    }
    fleet_bounded(ended->host, fleet_field(row, PAST_HOST), REASON_BYTES);
    lease_attributes_init(&lease->attributes);
    lease->uid = ended->entry.uid = (uint32_t)uid;
    lease->pid = (int32_t)fleet_info_number(info, "pid", INT32_MAX);
    ended->entry.lease = lease->id;
    take_ending(ended, ending);
    take_times(ended, row, page);
    fleet_ended_take_attributes(ended, row);
    if ((claims[0] || !has_none) && !take_claims(ended, claims)) {
        fleet_ended_deinit(ended);
        return false;
    }
    ended->entry.hiding = hiding_of(lease, info);
    if (is_did) {
        take_did(ended, ending);
    }
    return true;
}

void fleet_ended_deinit(struct fleet_ended *ended)
{
    for (size_t i = 0; i < ended->lease.n_claims; i++) {
        free((void *)(uintptr_t)ended->lease.claims[i].units);
    }
    free(ended->claims);
}
