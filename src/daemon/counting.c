#include "daemon/counting.h"

#include "base/table.h"
#include "journal/paths.h"
#include "log/log.h"

#include <limits.h>
#include <string.h>

enum { CHUNK_SLOTS = COUNTS_CHUNK_BYTES / sizeof(struct counts_slot) };

/* What the bytes mean: all identifiers, in order. */
static uint64_t layout(void)
{
    static const char names[] =
#define METRIC(scope, kind, id, name, label, help) #scope " " #kind " " #id " " #label "\n"
#include "base/metrics.def"
#undef METRIC
#define OUTCOME(id, code, refusal) #id "\n"
#include "core/outcomes.def"
#undef OUTCOME
#define BOUND(text, microseconds) text "\n"
        METRIC_BOUNDS(BOUND);
#undef BOUND
    return hash_string(names, sizeof(struct counts_slot));
}

static void say_if_lost(struct counting *counting)
{
    if (counting->file.error != 0 && !counting->has_said) {
        counting->has_said = true;
        log_warning("the counters' file cannot be had (%s): the next berthd counts from zero",
            strerror(counting->file.error));
    }
}

static struct counts_slot *more(void *context, size_t *np)
{
    struct counting *counting = context;
    struct counts_slot *slots = counts_file_chunk(&counting->file);
    say_if_lost(counting);
    *np = CHUNK_SLOTS;
    return slots;
}

void counting_begin(
    struct counting *counting, struct core *core, const char *socket_path, const char *boot_id)
{
    char path[PATH_MAX] = "";
    path_at_runtime(socket_path, ".counters", path, sizeof path); /* "": cannot be opened */
    counts_file_open(&counting->file, path, boot_id, layout());
    counting->memory = (struct counts_memory){
        .n_earlier = counting->file.n_earlier, .more = more, .context = counting};
    say_if_lost(counting);
    core_counts_keep(core, &counting->memory);
}

void counting_freeze(struct counting *counting)
{
    counts_file_freeze(&counting->file);
}

void counting_end(struct counting *counting)
{
    counts_file_close(&counting->file);
}
