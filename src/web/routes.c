#include "web/web.h"

#include "web/page.h"

#include <string.h>

static void give_page(struct web *web, struct http_request *request)
{
    struct http_bytes *bytes = http_bytes_static(web->http, page_bytes, page_length);
    http_answer(request, HTTP_OK, HTTP_HTML, bytes, page_policy);
    http_bytes_drop(bytes);
}

static void give_health(struct web *web, struct http_request *request)
{
    const struct live_link *link = &web->follower.link;
    http_say(request, link->is_kept ? HTTP_OK : HTTP_UNAVAILABLE,
        link->is_kept ? "ok" : link->why.bytes);
}

static void give_metrics(struct web *web, struct http_request *request)
{
    scrape_take(&web->scrape, request);
}

static void give_status(struct web *web, struct http_request *request)
{
    fleet_look_note(&web->fleet_look);
    long_polls_take(&web->polls, request);
}

static void give_history(struct web *web, struct http_request *request)
{
    past_looks_take(&web->past_looks, request);
}

/* ---- all ---- */

static const struct route {
    const char *path;
    void (*give)(struct web *web, struct http_request *request);
} routes[] = {
    {"/", give_page},
    {"/healthz", give_health},
    {"/history.json", give_history},
    {"/metrics", give_metrics},
    {"/status.json", give_status},
};

void routes_take(void *context, struct http_request *request)
{
    const char *path = http_path(request);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            routes[i].give(context, request);
            return;
        }
    }
    http_say(request, HTTP_NOT_FOUND,
        "no such page; there are /, /healthz, /history.json, /metrics and /status.json");
}
