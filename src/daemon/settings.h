/* settings.h - the configuration, as the server lives by it: at start, and at each reload. */
#ifndef BERTH_DAEMON_SETTINGS_H
#define BERTH_DAEMON_SETTINGS_H

#include "daemon/server.h"

/* From now on server->conf and what is derived from it: bounds, admins. Takes `conf` over. */
void settings_use(struct server *server, struct conf *conf);
/* Gives the core its definitions, and carries out what that brings about. False, and nothing has
 * changed, if the resource *refusedp is in use and would become one of another kind. */
bool settings_define(struct server *server, const struct conf *conf, const char **refusedp);
/* Goes over to `conf`, which reload.h has read (NULL: it has `errors`), or leaves all as it is and
 * adds to the errors, which are logged. Takes `conf` over. */
bool settings_reload(struct server *server, struct conf *conf, struct conf_errors *errors);

/* Runtime changes outlive the daemon: they are others now, and will be stored. */
void settings_note_changes(struct server *server);

#endif
