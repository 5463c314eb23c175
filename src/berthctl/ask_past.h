/* ask_past.h - asks for what is over: berth-history, or else berthd, and the databases. */
#pragma once

#include "berthctl/ctl_call.h"
#include "view/past.h"
#include "view/status.h"

struct inquiry {
    struct call *call;
    struct past_choice choice;
    bool wants_figures; /* rather than leases, if somebody has them: `stats` */
    struct endpoint keeper; /* of berth-history; its path is "" if it is not to be asked */
    /* The answers: */
    struct past past; /* of this host, and of the databases of what is asked for */
    struct status status; /* of the same names: what goes on; nothing if they are not known */
    bool is_without_berthd; /* so nothing is known of what goes on */
    struct text notes; /* lines: of which database, or host, not all is known, and why */
};

/* False after a message. */
bool inquire(struct inquiry *inquiry);
void inquiry_deinit(struct inquiry *inquiry);
