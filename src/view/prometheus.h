/* prometheus.h - the answer to `metrics` as Prometheus reads it: all figures of one name together,
 * below their HELP and TYPE. Pure. */
#pragma once

#include "base/metrics.h"
#include "base/text.h"
#include "client/answer.h"
#include "client/ctl_request.h"

#include <stdbool.h>

struct prometheus {
    bool begun; /* the `ok` line of an answer has come */
    uint64_t next; /* where the next answer begins; 0: there is none */
    struct text samples[N_METRICS];
    char **databases; /* that the host has, by name */
    size_t n_databases;
};

/* Of a struct prometheus, of one answer after another. A figure that a later berthd has is left
 * out. */
answer_taker prometheus_take;
void prometheus_print(const struct prometheus *prometheus, struct text *out);

/* ---- asking a host, and then each of its databases ---- */

struct metrics_asking {
    struct prometheus host; /* its figures; then also those of databases that have given them */
    struct prometheus part; /* those of the database that is asked */
    size_t database; /* 0: the host is asked, else the number of one of its databases */
    uint64_t from; /* where the answer begins */
    bool has_failed; /* the host's are not all there */
};

/* What is asked next, good until metrics_go_on(); and who takes the answer. */
struct ctl_request metrics_request(const struct metrics_asking *asking);
struct prometheus *metrics_figures(struct metrics_asking *asking);
/* The answer is over; whether all of it has come. False: nothing else is to be asked. */
bool metrics_go_on(struct metrics_asking *asking, bool is_whole);
void metrics_deinit(struct metrics_asking *asking);
