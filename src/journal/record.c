#include "journal/record.h"

#include "base/words.h"
#include "core/units.h"
#include "journal/record_words.h"

#include <signal.h>

/* ---- writing ---- */

static void add_id(struct text *out, const char *key, uint64_t id)
{
    char word[LEASE_ID_SIZE];
    lease_id_format(word, id);
    text_add(out, key);
    text_add(out, word);
}

static void add_number_unless(struct text *out, const char *key, uint64_t number, uint64_t left_out)
{
    if (number != left_out) {
        text_add_number_key(out, key, number);
    }
}

static void add_wants(struct text *out, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        text_add(out, " want=");
        text_add(out, lease->claims[i].resource->name);
        text_add(out, ",");
        text_add_number(out, lease->claims[i].count);
    }
}

static void add_process(struct text *out, const char *key, const struct process *process)
{
    text_add_number_key(out, key, (uint64_t)process->pid);
    text_add(out, ",");
    text_add_number(out, process->started);
}

static void add_binding(struct text *out, const struct lease *lease)
{
    if (lease->binding == BOUND_PROCESS) {
        add_process(out, "process", &lease->process);
    } else if (lease->binding == BOUND_TIME) {
        text_add_number_key(out, "ttl", (uint64_t)lease->ttl);
    }
    if (lease->wrapper.pid != 0) {
        add_process(out, "wrapper", &lease->wrapper);
    }
}

static void add_until(struct text *out, const struct order_node *timer)
{
    if (order_contains(timer)) {
        text_add_number_key(out, "until", timer->major);
    }
}

static void add_priority(struct text *out, int32_t priority)
{
    if (priority != 0) {
        text_add_format(out, " priority=%d", (int)priority);
    }
}

static void add_fleet(struct text *out, const struct lease *lease, const char *database)
{
    text_add_key(out, "database", database);
    add_number_unless(out, "ticket", lease->ticket, 0);
    add_number_unless(out, "now", lease->state == LEASE_WAITING && lease->wants_now, false);
}

static void add_held(struct text *out, const struct lease *lease)
{
    text_add_number_key(out, "granted", (uint64_t)lease->granted_at);
    if (lease->term) {
        add_until(out, &lease->term->timer);
    }
    if (lease->stopping != OUTCOME_OK) {
        text_add_key(out, "stopping", stopping_words[lease->stopping]);
    }
    units_write(out, lease);
}

static void add_waiting(struct text *out, const struct lease *lease)
{
    add_until(out, &lease->waiting->timer);
    add_wants(out, lease);
}

void record_write(struct text *out, const struct lease *lease, const char *database)
{
    bool is_held = lease->state == LEASE_HELD;
    if (lease->is_opaque) {
        text_add(out, lease->kept);
        return;
    }
    text_add(out, state_words[is_held]);
    add_id(out, " id=", lease->id);
    text_add_number_key(out, "uid", lease->uid);
    text_add_number_key(out, "pid", (uint64_t)lease->pid);
    text_add_number_key(out, "asked", (uint64_t)lease->asked_at);
    add_priority(out, lease->priority);
    add_binding(out, lease);
    add_number_unless(out, "kill_after", (uint64_t)lease->kill_after, 0);
    if (lease->on_lost != ON_LOST_KILL) {
        text_add_key(out, "on_lost", on_lost_words[lease->on_lost]);
    }
    add_number_unless(out, "signal", lease->signal, SIGTERM);
    if (lease->parent != 0) {
        add_id(out, " parent=", lease->parent);
    }
    text_add_key(out, "holder", lease->holder);
    text_add_key(out, "reason", lease->reason);
    text_add_key(out, "program", lease->program);
    text_add_key(out, "once", lease->once);
    add_fleet(out, lease, database);
    (is_held ? add_held : add_waiting)(out, lease);
    text_add(out, lease->kept ? lease->kept : "");
}

void record_add_rest(struct text *record, nanoseconds ended_at)
{
    text_add_number_key(record, "rested", (uint64_t)ended_at);
}

static size_t encoded_length(const char *text)
{
    return text ? sizeof " program=" + percent_encode(NULL, 0, text) : 0;
}

size_t record_most_bytes(const struct ask *ask, size_t longest_grant, const char *database)
{
    /* The longest of all that is not the asker's text, nor units. */
    static const char fixed[] =
        "waiting id=7zzzzzzzzzzzz uid=4294967295 pid=2147483647 asked=9223372036854775807"
        " priority=-1000 process=2147483647,18446744073709551615"
        " wrapper=2147483647,18446744073709551615 ttl=9223372036854775807"
        " kill_after=9223372036854775807 on_lost=warn signal=64 parent=7zzzzzzzzzzzz"
        " granted=9223372036854775807 until=9223372036854775807 stopping=withdrawn"
        " rested=9223372036854775807";
    static const char of_fleet[] = " database= ticket=9007199254740992 now=1";
    size_t fleet = database ? sizeof of_fleet + encoded_length(database) : 0;
    return fleet + sizeof fixed + encoded_length(ask->holder) + encoded_length(ask->reason) +
        encoded_length(ask->program) + encoded_length(ask->once) + longest_grant;
}
