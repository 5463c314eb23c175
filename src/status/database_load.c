#include "status/database_load.h"

/* A row `load`. */
enum load_field { LOAD_WORD, LOAD_SESSIONS, LOAD_CALLS, LOAD_IN_CALLS, LOAD_CPU, N_LOAD_FIELDS };

/* Exact in Lua; some 285 years of microseconds. */
#define MAX_LOAD (UINT64_C(1) << 53)
/* Two samples that are closer, or further apart, say nothing about now. */
#define CLOSEST NANOSECONDS_PER_SECOND
#define FURTHEST (600 * NANOSECONDS_PER_SECOND)
#define USUAL (60 * NANOSECONDS_PER_SECOND)

bool load_read(const struct fleet_rows *rows, nanoseconds now, struct load_sample *sample)
{
    size_t at = 0;
    const struct fleet_row *row = fleet_rows_next(rows, "load", N_LOAD_FIELDS, &at);
    sample->at = now;
    return row && fleet_number(row, LOAD_SESSIONS, MAX_LOAD, &sample->sessions) &&
        fleet_number(row, LOAD_CALLS, MAX_LOAD, &sample->calls) &&
        fleet_number(row, LOAD_IN_CALLS, MAX_LOAD, &sample->in_calls) &&
        fleet_number(row, LOAD_CPU, MAX_LOAD, &sample->cpu) && sample->calls > 0;
}

/* Whether the same server has counted on: it may be another one, or have been told to begin again.
 */
static bool goes_on(const struct load_sample *before, const struct load_sample *now)
{
    return before->at != 0 && now->at - before->at <= FURTHEST && now->calls >= before->calls &&
        now->in_calls >= before->in_calls && now->cpu >= before->cpu;
}

/* The earlier moment stays, however often is asked, until it is too long ago to be compared with.
 */
void load_note(struct database_load *load, const struct load_sample *sample)
{
    if (!goes_on(&load->last, sample)) {
        load->before = *sample;
    } else if (sample->at - load->before.at > USUAL && sample->at - load->last.at >= CLOSEST) {
        load->before = load->last;
    }
    load->last = *sample;
}

struct load_view load_view(const struct database_load *load, uint64_t rate)
{
    const struct load_sample *last = &load->last, *before = &load->before;
    struct load_view view = {.sessions = last->sessions, .rate = rate};
    view.is_known = last->at != 0 && rate != 0;
    if (view.is_known) {
        bool has_both = goes_on(before, last) && last->at - before->at >= CLOSEST &&
            last->calls > before->calls;
        double calls = (double)(last->calls - (has_both ? before->calls : 0));
        double in_calls = (double)(last->in_calls - (has_both ? before->in_calls : 0));
        view.busy = (uint64_t)((double)rate / 1000 * in_calls / calls);
        view.has_cpu = has_both && last->cpu > 0;
        view.cpu = view.has_cpu ? (last->cpu - before->cpu) * 1000 /
                (uint64_t)((last->at - before->at) / NANOSECONDS_PER_MILLISECOND)
                                : 0;
    }
    return view;
}
