/* link_info.h - the server at the other end of a link, for people. */
#ifndef BERTH_FLEET_LINK_INFO_H
#define BERTH_FLEET_LINK_INFO_H

/* What the server says of itself (INFO). */
struct link_info {
    char run_id[64], version[32], address[160];
    char warning[256]; /* a set-up that is not safe, to be said and shown; or "" */
};

#endif
