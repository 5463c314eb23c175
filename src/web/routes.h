/* routes.h - what is answered to which path. */
#pragma once

#include "web/web.h"

/* Of struct http_settings; the context is the web. */
void routes_take(void *web, struct http_request *request);

/* The header of the page; the caller frees it. */
char *routes_page_policy(const struct web_conf *conf);
