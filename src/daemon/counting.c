#include "daemon/counting.h"

#include "base/table.h"
#include "journal/paths.h"
#include "log/log.h"

#include <limits.h>
#include <string.h>

enum { CHUNK_SLOTS = COUNTS_CHUNK_BYTES / sizeof(struct counts_slot) };

enum { DATABASES_ROOM = 32 }; /* of the file's present and earlier ones */

/* Behind the head of the file. */
struct own_counts {
    struct daemon_counts daemon;
    struct database_counts databases[DATABASES_ROOM];
};

_Static_assert(sizeof(struct own_counts) <= COUNTS_HEAD_BYTES - COUNTS_IDENTITY_BYTES,
    "room for berthd's own counters");

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
#define COMMAND(word, min, max, keys, right, help) #word "\n"
#include "wire/commands.def"
#undef COMMAND
#define CODE(id, word, exit_status, meaning) #id "\n"
#include "wire/codes.def"
#undef CODE
#define BOUND(text, microseconds) text "\n"
        METRIC_BOUNDS(BOUND);
#undef BOUND
    return hash_string(names, sizeof(struct counts_slot) + (sizeof(struct own_counts) << 16));
}

void counting_say_if_lost(struct counting *counting)
{
    const struct counts_file *file = &counting->file;
    bool was_cut = counts_file_was_cut(file);
    if (counting->has_said || (file->error == 0 && !was_cut)) {
        return;
    }
    counting->has_said = true;
    if (was_cut) {
        log_warning("somebody has truncated the counters' file: the figures begin at zero");
    } else {
        log_warning("the counters' file cannot be had (%s): the next berthd counts from zero",
            strerror(file->error));
    }
}

static struct counts_slot *more(void *context, size_t *np)
{
    struct counting *counting = context;
    struct counts_slot *slots = counts_file_chunk(&counting->file);
    counting_say_if_lost(counting);
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
    counting_say_if_lost(counting);
    core_counts_keep(core, &counting->memory);
}

/* ---- berthd's own ---- */

static struct own_counts *own_counts(const struct counting *counting)
{
    return counts_file_extra(&counting->file);
}

struct daemon_counts *counting_daemon(const struct counting *counting)
{
    return &own_counts(counting)->daemon;
}

struct database_counts *counting_database(const struct counting *counting, const char *name)
{
    struct database_counts *databases = own_counts(counting)->databases;
    for (size_t i = 0; i < DATABASES_ROOM; i++) {
        struct database_counts *counts = &databases[i];
        if (counts->name[0] == '\0' && strlen(name) < sizeof counts->name) {
            strcpy(counts->name, name);
        }
        if (strncmp(counts->name, name, sizeof counts->name) == 0) {
            return counts;
        }
    }
    return NULL;
}

void counting_refused(struct daemon_counts *counts, const char *answer)
{
    char word[32];
    const char *code = answer + strcspn(answer, " ");
    size_t length = code[0] != '\0' ? strcspn(++code, " \n") : 0;
    length = length < sizeof word ? length : sizeof word - 1;
    memcpy(word, code, length);
    word[length] = '\0';
    counts->refusals[code_find(word)]++;
}

/* ---- the end ---- */

void counting_freeze(struct counting *counting)
{
    counts_file_freeze(&counting->file);
}

void counting_end(struct counting *counting)
{
    counts_file_close(&counting->file);
}
