/* ctl_users.h - names of users, each asked for once. */
#ifndef BERTH_CLIENT_CTL_USERS_H
#define BERTH_CLIENT_CTL_USERS_H

#include "client/ctl_status.h"

/* Fills in `user` everywhere; the names stay until the program ends. */
void users_fill_in(struct status *status);

#endif
