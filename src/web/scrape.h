/* scrape.h - /metrics: berthd's metrics, fetched on demand, followed by berth-web's own. */
#pragma once

#include "web/web.h"

struct scrape *scrape_new(struct web *web);
/* Answers all. */
void scrape_free(struct scrape *scrape);
void scrape_take(struct scrape *scrape, struct http_request *request);
