#include "history/rows.h"

#include "status/viewer.h"
#include "view/past.h"
#include "wire/protocol.h"

#include <string.h>

/* The clock may have been set back. */
static int64_t begin_of_gap(int64_t from, int64_t until)
{
    return from > 0 && from < until ? from : until;
}

void gap_write(struct text *out, int64_t from, int64_t until, const char *why, uint64_t n)
{
    text_add(out, "gap");
    text_add_number_key(out, "from", (uint64_t)begin_of_gap(from, until));
    text_add_number_key(out, "until", (uint64_t)until);
    text_add_key(out, "why", why);
    if (n > 0) {
        text_add_number_key(out, "n", n);
    }
}

struct day_row row_at(const struct drained *at, enum row_kind kind, int64_t until)
{
    return (struct day_row){.kind = kind,
        .ended = until,
        .claims = "",
        .line = "",
        .ring = at->ring,
        .serial = at->serial};
}

struct day_row gap_row(struct text *line, const struct drained *at, int64_t from,
    int64_t until, const char *why, uint64_t n)
{
    struct day_row row = row_at(at, ROW_GAP, until);
    gap_write(line, from, until, why, n);
    row.asked = begin_of_gap(from, until);
    row.line = line->bytes;
    return row;
}

/* Of another host's lease, the id is SESSION/LEASE. */
static uint64_t lease_number(const char *id)
{
    const char *slash = id ? strchr(id, '/') : NULL;
    uint64_t number = 0;
    return lease_id_parse(slash ? slash + 1 : id ? id : "", &number) ? number : 0;
}

static struct day_row lease_row(const struct drained *at, const struct past_lease *lease)
{
    struct day_row row = row_at(at, ROW_ENDED, (int64_t)lease->ended);
    row.asked = (int64_t)past_asked(lease);
    row.granted = lease->held.is_given ? (int64_t)past_granted(lease) : 0;
    row.uid = (uint32_t)lease->user.uid.number;
    row.has_failed = past_has_failed(lease);
    row.database = lease->database;
    row.lease = lease_number(lease->id);
    return row;
}

static struct day_row action_row(const struct drained *at, const struct past_action *action)
{
    bool is_of_lease = did_is_of_lease(&(struct did){.verb = action->verb});
    enum row_kind kind = is_of_lease ? ROW_DID_TO_LEASE : ROW_DID;
    struct day_row row = row_at(at, kind, (int64_t)action->at);
    row.asked = row.ended;
    row.uid = (uint32_t)action->user.uid.number;
    row.lease = lease_number(action->target);
    return row;
}

bool days_add_line(struct days *days, const char *line, const char *claims, uint16_t hiding,
    const struct drained *at)
{
    struct past past = {0};
    bool is_added = true;
    if (past_add(&past, line) && past.n + past.n_actions > 0) {
        struct day_row row = past.n > 0 ? lease_row(at, past.leases) : action_row(at, past.actions);
        row.hiding = hiding;
        row.claims = claims;
        row.line = line;
        is_added = days_add(days, &row);
    }
    past_deinit(&past);
    return is_added;
}

bool days_add_gap(struct days *days, int64_t from, int64_t until, const char *why, uint64_t n,
    const struct drained *at)
{
    struct text line = TEXT_INIT;
    struct day_row row = gap_row(&line, at, from, until, why, n);
    bool is_added = days_add(days, &row);
    text_deinit(&line);
    return is_added;
}

bool days_add_seen(struct days *days, int64_t until, const struct drained *at)
{
    struct day_row row = row_at(at, ROW_SEEN, until);
    return days_add(days, &row);
}
