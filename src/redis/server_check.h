/* server_check.h - may this server keep leases? Decides by what it says of itself. Pure. */
#pragma once

#include "redis/abilities.h"
#include "redis/facts.h"
#include "redis/one_line.h"

#include <stdbool.h>

/* What it is judged by. */
struct server_check_question {
    const struct facts *facts;
    const struct abilities *abilities;
    fault_set acknowledged;
    /* Another server may take this one's place, even if it has no replicas at present. */
    bool may_fail_over;
    bool is_cluster; /* the server must be a node of a cluster; else it must not */
};

struct server_check {
    char run_id[64]; /* "": unknown */
    char version[32]; /* "": unknown */
    char refusal[ONE_LINE_BYTES]; /* why the server must not be used; or "" */
    char warning[ONE_LINE_BYTES]; /* why the server is not as safe as it could be; or "" */
};

/* As soon as the server has said who it is: fills everything but .warning. */
void server_check_identity(
    struct server_check *check, const struct server_check_question *question);
/* When everything has been tried: the faults, and the warnings. It may refuse as well. */
void server_check_settings(
    struct server_check *check, const struct server_check_question *question);
/* What that error of a write means; NULL: it is one of another kind, or none. */
const char *server_check_unwritable(const char *error);
