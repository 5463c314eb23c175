/* show.h - shows the answer to each command: results on stdout, messages on stderr. */
#pragma once

#include "berthctl/ctl_call.h"
#include "view/past.h"
#include "view/printable.h"
#include "view/status.h"

/* The words are those of the line that begins with "ok"; call_line() has the others. Returns the
 * exit status. */
typedef int show_function(struct call *call, char *words[], size_t n);
/* Sends the request, and shows the answer; `show` NULL: not. Returns the exit status. */
int show_answer(struct call *call, show_function *show);

show_function show_ok, show_version, show_added, show_drain, show_reloaded, show_upgraded;

/* Writes the text to stdout, and frees it. Returns the exit status. */
int show_print(struct text *text);
/* Columns of the terminal; 0: stdout is none. */
size_t show_width(void);
