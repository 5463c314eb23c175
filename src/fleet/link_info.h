/* link_info.h - describes the server at the other end of a link, for people. */
#ifndef BERTH_FLEET_LINK_INFO_H
#define BERTH_FLEET_LINK_INFO_H

/* The server's own description (INFO). */
struct link_info {
    char run_id[64], version[32], address[160];
    char warning[256]; /* its set-up is not safe: to be logged and shown; or "" */
    char lacks[160]; /* words of what it does not allow, with commas between; or "" */
};

#endif
