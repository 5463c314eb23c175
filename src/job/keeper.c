#include "job/keeper.h"

#include "core/lease.h"
#include "job/process.h"

int32_t keeper_pid(const struct lease *lease)
{
    bool is_tree = lease->binding == BOUND_PROCESS && lease->wrapper.pid != 0;
    bool is_wrapper_s = is_tree && (lease->main_is_gone || !process_is_alive(&lease->process));
    return is_wrapper_s ? lease->wrapper.pid : lease->pid;
}
