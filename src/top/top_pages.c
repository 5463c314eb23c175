/* top_pages.c - the texts that cover the list of `berthctl top`: help, details of a row, and why
 * it waits. Pure. */
#include "table/cell_text.h"
#include "table/status_table.h"
#include "top/top_internal.h"
#include "view/printable.h"
#include "view/users.h"

#include <string.h>

enum { BOXES_INDENT = 11 }; /* behind "units    " */

/* ---- lines ---- */

static void begin_line(struct text *text, const char *what)
{
    text_add_format(text, "  %-9s", what);
}

static void add_text(struct text *text, const char *what, const char *untrusted)
{
    if (untrusted && untrusted[0] != '\0') {
        begin_line(text, what);
        text_add_safe(text, "%s\n", untrusted);
    }
}

static void top_pages_add_number(struct text *text, const char *what, uint64_t number)
{
    begin_line(text, what);
    text_add_safe(text, "%llu\n", (unsigned long long)number);
}

/* What the function adds, if it adds anything. */
static void add_cell(struct text *text, const char *what, struct text *cell)
{
    if (cell->length > 0) {
        begin_line(text, what);
        text_add_format(text, "%s\n", cell->bytes);
    }
    text_deinit(cell);
}

/* ---- a lease ---- */

static void add_standing(struct text *text, const struct status *status,
    const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    if (lease->is_held) {
        text_add_units(&cell, &lease->units, status_is_pool(resource));
        text_add_format(&cell, "%s, token %llu", lease->all ? " (all)" : "",
            (unsigned long long)lease->token);
        add_cell(text, "holds", &cell);
    } else {
        if (lease->all) {
            text_add(&cell, "all");
        } else {
            text_add_number(&cell, lease->wants);
        }
        text_add_format(&cell, ", at place %llu of %llu", (unsigned long long)lease->position,
            (unsigned long long)resource->waiting);
        add_cell(text, "wants", &cell);
    }
    text_add_age(&cell, status_since(status, &lease->since));
    add_cell(text, lease->is_held ? "held" : "waits", &cell);
    if (lease->until.is_given) {
        text_add_age(&cell, status_until(status, &lease->until));
        add_cell(text, "left", &cell);
    }
    text_add_lease_state(&cell, lease);
    add_cell(text, "state", &cell);
    text_add_blocked(&cell, resource, lease);
    add_cell(text, "blocked", &cell);
    if (lease->kept > 0) {
        top_pages_add_number(text, "kept", lease->kept);
    }
    if (lease->priority != 0) {
        text_add_format(&cell, "%lld", (long long)lease->priority);
        add_cell(text, "priority", &cell);
    }
}

/* Its process, and what it says of itself. */
static void add_owner(struct text *text, const struct top *top, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    const char *user = user_name(lease->uid);
    text_add_safe(&cell, user ? "%s (%llu)" : "%s%llu", user, (unsigned long long)lease->uid);
    add_cell(text, "user", &cell);
    add_text(text, "host", lease->host);
    if (lease->pid > 0) {
        top_pages_add_number(text, "pid", lease->pid);
    }
    add_text(text, "bound to", lease->bound);
    add_text(text, "runs", top->choice.process_of(top->choice.context, lease, true));
    add_text(text, "identity", lease->holder);
    for (enum shown_attribute i = 0; i < N_SHOWN; i++) {
        if (shown_rows[i].title) {
            add_text(text, shown_rows[i].word, lease->shown[i]);
        }
    }
    if (lease->hidden) {
        text_add(text, "  The rest is shown only to its owner.\n");
    }
}

/* The other resources of a lease over several. */
static void add_also(struct text *text, const struct top *top)
{
    for (size_t i = 0; i < top->status->n_resources; i++) {
        const struct status_resource *resource = &top->status->resources[i];
        const struct status_lease *lease = status_lease_find(resource, top->subject.lease);
        if (lease && strcmp(resource->name, top->subject.name) != 0) {
            add_text(text, lease->is_held ? "also has" : "also waits", resource->name);
        }
    }
}

static void add_lease(struct text *text, const struct top *top)
{
    const struct status_resource *resource;
    const struct status_lease *lease = top_find(top, &top->subject, &resource);
    if (!lease) {
        text_add(text, "  It has ended: berthctl history shows how.\n");
        return;
    }
    add_standing(text, top->status, resource, lease);
    add_owner(text, top, lease);
    add_also(text, top);
}

/* ---- a resource ---- */

/* What a template has not. */
static void add_own(
    struct text *text, const struct top *top, const struct status_resource *resource, size_t width)
{
    struct text cell = TEXT_INIT;
    text_add_safe(&cell, "%s, scope %s", resource->kind,
        resource->scope ? resource->scope : "host");
    add_cell(text, "kind", &cell);
    add_text(text, "template", resource->template);
    add_text(text, "database", resource->database);
    text_add_boxes(&cell, resource, width > BOXES_INDENT ? width - BOXES_INDENT : 0);
    add_cell(text, "units", &cell);
    text_add_format(&cell, "%llu of %llu, %llu free", (unsigned long long)resource->in_use,
        (unsigned long long)resource->limit,
        (unsigned long long)status_grantable(top->status, resource));
    add_cell(text, "used", &cell);
    top_pages_add_number(text, "waiting", resource->waiting);
}

static void top_pages_add_resource(struct text *text, const struct top *top, size_t width)
{
    const struct status_resource *resource;
    struct text cell = TEXT_INIT;
    top_find(top, &top->subject, &resource);
    if (!resource) {
        text_add(text, "  It is gone.\n");
        return;
    }
    if (resource->is_template) {
        add_text(text, "kind", resource->kind);
        text_add_format(
            &cell, "%llu of each instance", (unsigned long long)resource->limit);
        add_cell(text, "limit", &cell);
    } else {
        add_own(text, top, resource, width);
    }
    text_add_resource_state(&cell, top->status, resource);
    add_cell(text, "state", &cell);
    table_print_notes(text, top->status, resource);
}

/* ---- pages ---- */

static const char signs[] =
    "\nUNITS has a box for each unit: [##.x~] is # held, . free, x reserved, ~ cooling down; with "
    "more units than columns it is a bar. Items of a pool, where there is room, have names: [held] "
    "(reserved) free.\n"
    "\nBelow an open resource stand who holds its units, and who waits: #1 is next. Brackets, as "
    "in "
    "[make], mean that the job has given no program: this is the name of its process.\n";

void text_add_page_title(struct text *text, const struct top *top)
{
    static const char *const titles[] = {
        [TOP_NO_PAGE] = "",
        [TOP_HELP] = "Keys",
        [TOP_DETAILS] = "Details of ",
        [TOP_REASONS] = "Why: ",
    };
    text_add(text, titles[top->page]);
    if (top->page != TOP_HELP && top->subject.lease) {
        text_add_safe(text, "lease %s on ", top->subject.lease);
    }
    if (top->page != TOP_HELP && top->subject.name) {
        text_add_escaped(text, top->subject.name);
    }
}

void text_add_page(struct text *text, const struct top *top, size_t width)
{
    struct text page = TEXT_INIT;
    text_add(&page, "");
    if (top->page == TOP_HELP) {
        for (const struct top_key *key = top_keys; key->label; key++) {
            text_add_format(&page, "  %-9s %s\n", key->label, key->help);
        }
        text_add(&page, signs);
    } else if (top->page == TOP_REASONS) {
        text_add(&page, top->reasons.length > 0 ? top->reasons.bytes : "");
    } else if (top->page == TOP_DETAILS && top->subject.lease) {
        add_lease(&page, top);
    } else if (top->page == TOP_DETAILS) {
        top_pages_add_resource(&page, top, width);
    }
    text_add_wrapped(text, page.bytes, width);
    text_deinit(&page);
}
