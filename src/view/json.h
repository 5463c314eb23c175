/* json.h - what `berthctl status --json` prints. Pure.
 *
 * One object on one line of ASCII. Keys are always there and never change their meaning within a
 * version; later ones may be added.
 *
 * Doc: doc/man/berthctl.1.scd, JSON. The keys of what a line of berthd describes are those of
 * wire/status_keys.def.
 *
 * Bytes of strings that are not UTF-8 appear as the four characters \xNN. */
#ifndef BERTH_VIEW_JSON_H
#define BERTH_VIEW_JSON_H

#include "view/printable.h"
#include "view/status.h"

void json_print(const struct status *status, struct text *out);
/* One element of it, without an LF: for documents of other programs. The status says what may be
 * granted. */
void json_add_resource(
    const struct status *status, const struct status_resource *resource, struct text *out);
void json_add_template(const struct status_resource *template, struct text *out);
/* The whole array of it, and of `berthctl hosts --json`. */
void json_add_databases(const struct status *status, struct text *out);
void json_add_hosts(const struct status *status, struct text *out);
/* A string; NULL: null. */
void json_add_string(const char *string, struct text *out);
/* `berthctl hosts --json`. */
void json_print_hosts(const struct status *status, struct text *out);

#endif
