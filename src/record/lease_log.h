/* lease_log.h - what the log says about a lease: with -v its whole life; else what has happened to
 * it against its holder's will. */
#pragma once

#include "base/actor.h"
#include "core/effects.h"
#include "core/lease.h"
#include "core/saved_lease.h"
#include "log/log.h"
#include "wire/protocol.h"

struct fleet_names;

/* with -v only */
/* The lease is held, or waits. */
void lease_log_place(const struct fleet_names *databases, const struct lease *lease);
void lease_log_ended(const struct fleet_names *databases, const struct lease *lease);
/* A request without a lease; `what` is its resource, or something else, or NULL. */
void lease_log_refused(
    struct log_process asker, enum command_index command, enum code code, const char *what);

/* EFFECT_DENIED, EFFECT_LOST, EFFECT_STOP. */
void lease_log_over(const struct fleet_names *databases, const struct effect *effect);
/* A signal to its job; `error`: errno if it could not be sent, else 0. */
void lease_log_signal(
    const struct fleet_names *databases, const struct lease *lease, int signal, int error);
/* Another user takes it away by that request: `event` is "revoked", "dropped" or "released";
 * `reason` or NULL. */
void lease_log_taken(const struct fleet_names *databases, const struct lease *lease,
    struct log_process asker, enum command_index command, const char *event, const char *reason);
/* The same, by somebody at another host of the fleet. */
void lease_log_taken_remotely(const struct fleet_names *databases, const struct lease *lease,
    const struct actor *by, enum command_index command, const char *event, const char *reason);
/* At the start: its record cannot be made true again. */
void lease_log_not_taken_over(const struct saved_lease *saved, const char *why);
