/* settings.h - the configuration that the server runs by: at the start, and after each reload. */
#pragma once

#include "admission/server.h"

/* Sets server->conf and what is derived from it: bounds, admins. Takes `conf` over. */
void settings_use(struct server *server, struct conf *conf);
/* Gives the core its definitions, and carries out the effects. False, and nothing has changed, if
 * the resource *refusedp is in use and would become another kind. */
bool settings_define(struct server *server, const struct conf *conf, const char **refusedp);
/* Changes to `conf`, which reload.h has read (NULL: it has `errors`), or changes nothing and adds
 * to the errors. Adds to the notes what is not in force now although the file says so. Both are
 * logged. Takes `conf` over. */
bool settings_reload(struct server *server, struct conf *conf, struct conf_errors *errors,
    struct conf_errors *notes);

/* The runtime changes, which outlive the daemon, have changed, and will be stored. */
void settings_note_changes(struct server *server);
