/* web_serve.h - berth-web from its start to its end. */
#pragma once

#include "client/endpoint.h"
#include "web/web_conf.h"
#include "web/web_listener.h"

/* Serves until SIGTERM or SIGINT. Takes the listener's descriptor over. When browsers can connect
 * it writes the listener's name to `ready_fd`, if that is not negative, and closes it. False
 * (logged): it could not begin. */
bool web_serve(const struct web_conf *conf, const struct endpoint *endpoint,
    const struct web_listener *listener, int ready_fd);
