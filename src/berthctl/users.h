/* users.h - names of users, each asked for once. */
#ifndef BERTH_BERTHCTL_USERS_H
#define BERTH_BERTHCTL_USERS_H

#include "berthctl/status.h"

/* Fills in `user` everywhere; the names stay until the program ends. */
void users_fill_in(struct status *status);

#endif
