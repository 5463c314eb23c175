/* drive_job.c - what becomes of leases through their jobs, and through users who take them away. */
#include "drive_internal.h"

/* The core learns of it only when the watch fires, if there is one. */
void do_dies(struct simulation *simulation, const struct operation *operation)
{
    model_find_lease(simulation->model, operation->lease)->is_alive = false;
}

void do_reported(struct simulation *simulation, const struct operation *operation)
{
    core_process_exited(simulation->core, find_lease(simulation, operation->lease), operation->now,
        &simulation->effects);
    take_effects(simulation);
    model_process_gone(simulation->model, operation->lease, operation->now, &simulation->trace);
}

void do_revoke(struct simulation *simulation, const struct operation *operation)
{
    histories_taken(simulation, operation->lease);
    core_revoke(simulation->core, find_lease(simulation, operation->lease), operation->now,
        &simulation->effects);
    take_effects(simulation);
    model_revoke(simulation->model, operation->lease, OUTCOME_REVOKED, operation->now,
        &simulation->trace);
}

void do_withdraw(struct simulation *simulation, const struct operation *operation)
{
    histories_taken(simulation, operation->lease);
    core_withdraw(simulation->core, find_lease(simulation, operation->lease), operation->now,
        &simulation->effects);
    take_effects(simulation);
    model_revoke(simulation->model, operation->lease, OUTCOME_WITHDRAWN, operation->now,
        &simulation->trace);
}

void do_drop(struct simulation *simulation, const struct operation *operation)
{
    histories_taken(simulation, operation->lease);
    core_drop(simulation->core, find_lease(simulation, operation->lease), operation->now,
        &simulation->effects);
    take_effects(simulation);
    model_drop(simulation->model, operation->lease, operation->now, &simulation->trace);
}

void do_renew(struct simulation *simulation, const struct operation *operation)
{
    simulation->trace.outcome =
        core_renew(simulation->core, find_lease(simulation, operation->lease), operation->ttl,
            operation->now, &simulation->effects);
    take_effects(simulation);
    model_renew(
        simulation->model, operation->lease, operation->ttl, operation->now, &simulation->trace);
}

void do_bind(struct simulation *simulation, const struct operation *operation)
{
    int32_t pid = ++simulation->last_pid;
    struct process process = {.pid = pid, .started = (uint64_t)pid * 3};
    simulation->trace.outcome = lease_bind(find_lease(simulation, operation->lease),
        &simulation->clients[operation->client], operation->binding, &process,
        &simulation->effects);
    take_effects(simulation);
    model_bind(simulation->model, operation->lease, operation->client, operation->binding,
        operation->now, &simulation->trace);
}
