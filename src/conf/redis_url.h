/* redis_url.h - parses the url of a [redis] section. Pure. */
#pragma once

#include "core/database.h"

/* redis://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/DB]
 * unix://[USER[:PASSWORD]@]/PATH[?db=N]
 * sentinel://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/MASTER[/DB]]
 * With TLS: rediss://, sentinels://.
 * Percent-encoding in user, password, path and master name. */
/* NULL, or what is wrong (static text). Call redis_url_deinit() in any case. */
const char *redis_url_parse(const char *text, struct redis_url *url);
void redis_url_deinit(struct redis_url *url);
