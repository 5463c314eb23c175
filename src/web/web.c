#include "web/web.h"

#include "base/clock.h"
#include "web/fleet_look.h"

struct feed_around web_around(const struct web *web)
{
    return (struct feed_around){
        .is_connected = web->follower.link.is_kept,
        .why = web->follower.link.why.bytes,
        .host = web->host,
        .hosts = fleet_look_json(web->fleet_look),
        .peers = web->peers,
        .events = 1 + web->follower.events + fleet_look_events(web->fleet_look),
        .wall = milliseconds(clock_wall_now()),
    };
}
