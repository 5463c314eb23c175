#include "berthctl/past_table.h"

#include "table/cell_text.h"
#include "table/grid.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <string.h>

enum {
    MS_PER_SECOND = 1000,
    PID_COLUMN = 4,
    PROGRAM_COLUMN = 5,
    WAITED_COLUMN = 6,
    HOW_COLUMN = 8,
    LEASE_COLUMN = 9,
    HOST_COLUMN = 10,
    HOW_WIDTH = 32, /* columns of the terminal for which those behind HOST give way */
    HEAD_WIDTH = 80, /* of the lines above the table */
    FEW = 20, /* rows, each of which may have a second line */
};

/* How rows are shown. */
struct past_style {
    uint64_t now;
    bool has_fractions; /* of seconds */
    const char *this_host; /* NULL: all leases are this host's */
};

/* A name only if there are leases of other hosts. */
static const char *name_of_this_host(const struct past *past, const struct past_choice *choice)
{
    const char *name = NULL;
    for (size_t i = 0; i < past->n; i++) {
        name = past->leases[i].host ? choice->this_host : name;
    }
    return name;
}

static struct past_style style_of(const struct past *past, const struct past_choice *choice)
{
    return (struct past_style){
        .now = past->now,
        .has_fractions = past->n <= FEW || choice->lease,
        .this_host = name_of_this_host(past, choice),
    };
}

static void add_time(struct text *text, uint64_t when, const struct past_style *style)
{
    text_add_datetime(text, (int64_t)when, (int64_t)style->now);
    if (style->has_fractions) {
        text_add_format(text, ".%03u", (unsigned)(when % MS_PER_SECOND));
    }
}

/* ---- cells: a row is a struct past_lease, its context a struct past_style ---- */

static void ended_cell(struct text *text, const void *row, const void *context)
{
    add_time(text, ((const struct past_lease *)row)->ended, context);
}

static void host_cell(struct text *text, const void *row, const void *context)
{
    const char *host = ((const struct past_lease *)row)->host;
    text_add_safe(text, "%s", host ? host : ((const struct past_style *)context)->this_host);
}

static void names_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_claims(text, row);
}

static void units_cell(struct text *text, const void *row, const void *context)
{
    const struct past_lease *lease = row;
    (void)context;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct past_claim *claim = &lease->claims[i];
        text_add(text, i > 0 ? "; " : "");
        if (claim->wanted.is_given) {
            text_add_safe(text, "wanted %llu", (unsigned long long)claim->wanted.number);
        }
        text_add_words(text, &claim->units, ",");
    }
}

static void user_cell(struct text *text, const void *row, const void *context)
{
    const struct past_lease *lease = row;
    (void)context;
    text_add_who(text, &lease->user, &lease->login);
}

static void how_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_how(text, row);
}

#define STRING(member) COLUMN_STRING(struct past_lease, member)
#define VALUE(member, kind) COLUMN_VALUE(struct past_lease, member, kind)

static const struct column fixed_columns[] = {
    {"ENDED", .cell = ended_cell},
    {"RESOURCE", .cell = names_cell, .min_width = 8},
    {"UNITS", .cell = units_cell, .min_width = 8 /* "wanted 9" */},
    {"USER", .cell = user_cell, .min_width = 8},
    [PID_COLUMN] = {"PID", VALUE(pid, FIELD_OPTIONAL), .is_right = true},
    [PROGRAM_COLUMN] = {"PROGRAM", STRING(shown[SHOWN_program]), .is_optional = true,
        .min_width = 8},
    [WAITED_COLUMN] = {"WAITED", VALUE(waited, FIELD_SPAN), .is_right = true},
    {"HELD", VALUE(held, FIELD_OPTIONAL_SPAN), .is_right = true},
    [HOW_COLUMN] = {"HOW", .cell = how_cell, .min_width = 10},
    [LEASE_COLUMN] = {"LEASE", STRING(id)},
    [HOST_COLUMN] = {"HOST", .cell = host_cell, .is_optional = true, .min_width = 8},
    {"HOLDER", STRING(holder), .is_optional = true, .min_width = 8},
    {"BOUND", STRING(bound), .is_optional = true},
};

enum { N_FIXED_COLUMNS = sizeof fixed_columns / sizeof fixed_columns[0] };

_Static_assert(N_FIXED_COLUMNS + N_SHOWN + 2 <= MAX_COLUMNS, "each attribute may have a column");

static size_t fill_columns(struct column columns[MAX_COLUMNS])
{
    memcpy(columns, fixed_columns, sizeof fixed_columns);
    size_t n = add_shown_columns(columns, N_FIXED_COLUMNS, offsetof(struct past_lease, shown));
    columns[n++] =
        (struct column){"CGROUP", STRING(cgroup), .is_optional = true, .min_width = 12};
    columns[n++] =
        (struct column){"ARGUMENTS", STRING(args), .is_optional = true, .min_width = 12};
    for (size_t i = HOST_COLUMN + 1; i < n; i++) {
        columns[i].gives_way = i;
    }
    return n;
}

/* ---- what is not there ---- */

/* From when on that source is complete; not given: it is not, or it has nothing of what is asked
 * for. */
static struct optional since_of(
    const struct past *past, size_t source, const struct past_choice *choice)
{
    const struct optional *since = &past->sources[source].since;
    bool is_meant = past->sources[source].database || !past_is_of_another_host(choice);
    return (struct optional){is_meant && since->is_given, since->number};
}

/* "this host, and database default": all that are complete from that second on. */
static void add_names_since(const struct past *past, const struct past_choice *choice,
    uint64_t second, struct text *out)
{
    const char *between = "";
    for (size_t i = 0; i < past->n_sources; i++) {
        const struct optional since = since_of(past, i, choice);
        const char *database = past->sources[i].database;
        if (since.is_given && since.number / MS_PER_SECOND == second) {
            text_add(out, between);
            text_add_safe(out, database ? "database %s" : "this host", database);
            between = ", and ";
        }
    }
}

/* Whether an earlier one has the same. */
static bool is_said(const struct past *past, const struct past_choice *choice, size_t source)
{
    uint64_t second = past->sources[source].since.number / MS_PER_SECOND;
    bool is = false;
    for (size_t i = 0; i < source; i++) {
        const struct optional since = since_of(past, i, choice);
        is |= since.is_given && since.number / MS_PER_SECOND == second;
    }
    return is;
}

void past_add_sources(
    const struct past *past, const struct past_choice *choice, struct text *out)
{
    size_t at = 0;
    for (size_t i = 0; i < past->n_sources; i++) {
        const struct optional since = since_of(past, i, choice);
        struct text part = TEXT_INIT;
        if (!since.is_given || is_said(past, choice, i)) {
            continue;
        }
        text_add(&part, "from ");
        text_add_datetime(&part, (int64_t)since.number, (int64_t)past->now);
        text_add(&part, " on: ");
        add_names_since(past, choice, since.number / MS_PER_SECOND, &part);
        bool is_full = at + strlen("; ") + text_width(part.bytes) > HEAD_WIDTH;
        text_add(out, at == 0 ? "complete " : is_full ? ";\n  " : "; ");
        text_add(out, part.bytes);
        at = (at == 0 ? strlen("complete ") : is_full ? 2 : at + 2) + text_width(part.bytes);
        text_deinit(&part);
    }
    text_add(out, at > 0 ? "\n" : "");
}

/* When the latest of them begins to be complete; not given: one knows nothing. *anyp: when the
 * earliest does; UINT64_MAX: none could know. */
static struct optional complete_since(
    const struct past *past, const struct past_choice *choice, uint64_t *anyp)
{
    struct optional since = {true, 0};
    *anyp = UINT64_MAX;
    for (size_t i = 0; i < past->n_sources; i++) {
        const struct optional *its = &past->sources[i].since;
        if (!past->sources[i].database && past_is_of_another_host(choice)) {
            continue;
        }
        since.is_given &= its->is_given;
        since.number = its->number > since.number ? its->number : since.number;
        *anyp = its->number < *anyp ? its->number : *anyp;
    }
    return since;
}

static bool has_more(const struct past *past)
{
    bool has = false;
    for (size_t i = 0; i < past->n_sources; i++) {
        has |= past->sources[i].has_more;
    }
    return has;
}

static void add_older(
    const struct past *past, const struct past_choice *choice, struct text *out)
{
    const struct past_style style = style_of(past, choice);
    uint64_t begin = past_begin(past);
    if (begin == UINT64_MAX) {
        text_add(out, "there are older ones");
    } else {
        text_add(out, "older than ");
        add_time(out, begin, &style);
    }
    text_add(out, ": --limit 0 shows all\n");
}

/* A period that ends before the history begins, for one of those who have answered or for all. */
static void add_unknown(const struct past *past, const struct past_choice *choice,
    uint64_t known_since, bool is_all, struct text *out)
{
    int64_t now = (int64_t)past->now;
    text_add(out, is_all ? "nothing is known of " : "not all is known of ");
    if (choice->since.is_given) {
        text_add_datetime(out, (int64_t)choice->since.number, now);
        text_add(out, " to ");
    } else {
        text_add(out, "what was before ");
    }
    text_add_datetime(out, (int64_t)choice->until.number, now);
    text_add(out, ": the history begins at ");
    text_add_datetime(out, (int64_t)known_since, now);
    text_add(out, "\n");
}

void past_add_note(
    const struct past *past, uint64_t n_shown, const struct past_choice *choice, struct text *out)
{
    bool is_of_some = choice->n_names > 0 || choice->uid.is_given || choice->lease ||
        choice->until.is_given || choice->host || choice->failed;
    uint64_t any_since;
    const struct optional known = complete_since(past, choice, &any_since);
    bool knows_all = choice->since.is_given && known.is_given &&
        known.number <= choice->since.number;
    if (has_more(past)) {
        add_older(past, choice, out);
    } else if (n_shown > 0 || any_since == UINT64_MAX) {
        return;
    } else if (!known.is_given) {
        text_add(
            out, "no history: nothing has ended yet, or berthd's file has history = 0\n");
    } else if (choice->until.is_given && choice->until.number <= known.number) {
        add_unknown(past, choice, known.number, choice->until.number <= any_since, out);
    } else {
        text_add_format(out, "nothing %shas ended since ", is_of_some ? "of that " : "");
        text_add_datetime(out, (int64_t)(knows_all ? choice->since.number : known.number),
            (int64_t)past->now);
        text_add(out, knows_all || choice->lease ? "\n"
                                                 : "; the history does not go back further\n");
    }
}

/* ---- rows of others ---- */

static const struct {
    const char *why, *sentence;
} reasons_of_gaps[] = {
    {"overwritten", "more ended than berthd keeps until berth-history has it"},
    {"reboot", "the host was rebooted"},
    {"not-running", "berth-history did not run"},
    {"damaged", "a file is damaged"},
    {"disk-full", "the disk was full"},
    {"no-history", "berthd had no history that could be read"},
    {"removed", "somebody has removed a file"},
    {"trimmed", "it is not kept for so long"},
    {"unwritten", "the database could not write it down"},
    {"lost", "the database has lost its latest data"},
    {"down", "the database did not answer"},
};

/* "03:05:00 to 03:10:00: nothing is known (the host was rebooted)" */
static void add_gap(struct text *out, const struct past_gap *gap, const struct past_style *style)
{
    const char *why = gap->why;
    for (size_t i = 0; why && i < sizeof reasons_of_gaps / sizeof reasons_of_gaps[0]; i++) {
        why = strcmp(gap->why, reasons_of_gaps[i].why) == 0 ? reasons_of_gaps[i].sentence : why;
    }
    add_time(out, gap->from, style);
    text_add(out, " to ");
    add_time(out, gap->until, style);
    if (gap->n.is_given) {
        text_add_safe(out, ": %llu %s missing", (unsigned long long)gap->n.number,
            gap->n.number == 1 ? "is" : "are");
    } else {
        text_add(out, ": nothing is known");
    }
    text_add_safe(out, why ? " (%s)\n" : "\n", why);
}

/* Whether the word says what is so from then on: "pause" says "paused". */
static bool says_what_is_new(const char *verb)
{
    static const char *const words[] = {
        "add", "remove", "reserve", "pause", "resume", "drain", "undrain"};
    bool says = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        says |= strcmp(verb, words[i]) == 0;
    }
    return says;
}

/* "02:03:11  limit db 20 -> 5 by alice: "too slow"" */
static void add_action(
    struct text *out, const struct past_action *action, const struct past_style *style)
{
    add_time(out, action->at, style);
    text_add_safe(out, "  %s", action->verb);
    bool is_said = !action->before && says_what_is_new(action->verb);
    const char *const words[] = {action->resource, action->target, action->before,
        action->before && action->after ? "->" : NULL, is_said ? NULL : action->after};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        text_add_safe(out, words[i] ? " %s" : "", words[i]);
    }
    if (action->user.uid.is_given) {
        text_add(out, " by ");
        text_add_who(out, &action->user, &action->login);
    }
    text_add_safe(out, action->host ? " on %s" : "", action->host);
    text_add_safe(out, action->reason ? ": \"%s\"\n" : "\n", action->reason);
}

/* How many of each are printed already. */
struct past_others {
    size_t n_actions, n_gaps;
};

/* Adds gaps that began before that, and actions that were by then: what a drop ended is behind it.
 * So it is for past_cut(), too. */
static void add_others(const struct past *past, uint64_t before, struct past_others *others,
    const struct past_style *style, struct text *out)
{
    bool goes_on = true;
    while (goes_on) {
        const struct past_action *action = &past->actions[others->n_actions];
        const struct past_gap *gap = &past->gaps[others->n_gaps];
        bool has_action = others->n_actions < past->n_actions && action->at <= before;
        bool has_gap = others->n_gaps < past->n_gaps && gap->from < before;
        goes_on = has_action || has_gap;
        if (has_action && (!has_gap || action->at <= gap->from)) {
            add_action(out, action, style);
            others->n_actions++;
        } else if (has_gap) {
            add_gap(out, gap, style);
            others->n_gaps++;
        }
    }
}

void past_add_gaps(const struct past *past, struct text *out)
{
    const struct past_style style = {.now = past->now};
    struct past_others others = {.n_actions = past->n_actions};
    add_others(past, UINT64_MAX, &others, &style, out);
}

/* ---- the table ---- */

/* SESSION/LEASE, which takes the room of three columns. */
static bool has_long_ids(const struct past *past)
{
    bool has = false;
    for (size_t i = 0; i < past->n; i++) {
        has |= strchr(past->leases[i].id, '/') != NULL;
    }
    return has;
}

/* A line that is broken by the terminal is hard to read: columns give way also to how a lease
 * ended, but for a short id, by which more can be asked for. `columns` are the grid's. */
static void fit(struct grid *grid, struct column columns[], const struct past *past, size_t max)
{
    size_t least = columns[HOW_COLUMN].min_width;
    columns[HOW_COLUMN].min_width = HOW_WIDTH;
    columns[LEASE_COLUMN].gives_way = has_long_ids(past) ? HOST_COLUMN : 0;
    grid_leave_out(grid, max);
    columns[HOW_COLUMN].min_width = least;
    columns[PID_COLUMN].gives_way = 5;
    columns[PROGRAM_COLUMN].gives_way = 4;
    columns[HOST_COLUMN].gives_way = 3;
    columns[WAITED_COLUMN].gives_way = 2;
    columns[LEASE_COLUMN].gives_way = has_long_ids(past) ? HOST_COLUMN : 1;
    grid_leave_out(grid, max);
    grid_fit(grid, max);
}

/* How it ended, if the row shows only a part. */
static void print_whole_how(const struct grid *grid, size_t row, struct text *out)
{
    const char *how = grid->cells[row * grid->n_columns + HOW_COLUMN].text;
    if (text_width(how) > grid->widths[HOW_COLUMN]) {
        text_add_format(out, "    how: %s\n", how);
    }
}

void past_table_print(
    const struct past *past, const struct past_choice *choice, size_t width, struct text *out)
{
    struct column columns[MAX_COLUMNS];
    struct grid grid;
    struct past_others others = {0};
    const struct past_style style = style_of(past, choice);
    grid_init(&grid, columns, fill_columns(columns), 0);
    for (size_t i = 0; i < past->n; i++) {
        grid_add_row(&grid, &past->leases[i], &style);
    }
    fit(&grid, columns, past, width);
    past_add_sources(past, choice, out);
    if (past->n > 0) {
        grid_print_titles(&grid, out);
    }
    for (size_t i = 0; i < past->n; i++) {
        add_others(past, past->leases[i].ended, &others, &style, out);
        grid_print_row(&grid, i, out);
        if (past->n <= FEW) {
            print_whole_how(&grid, i, out);
        }
    }
    add_others(past, UINT64_MAX, &others, &style, out);
    past_add_note(past, past->n + past->n_actions, choice, out);
    grid_deinit(&grid);
}
