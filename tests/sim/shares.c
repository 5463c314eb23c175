/* shares.c - random jobs that run under each other and share units, on a core that dies now and
 * then, with its journal or without. Whatever happens, the jobs that run on one unit are of one
 * family: the lease that has it, and its shares. */
#include "base/memory.h"
#include "core/core.h"
#include "core/timing.h"
#include "journal/record.h"
#include "random.h"
#include "runs.h"
#include "tests/core_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 48, N_NAMES = 3, MAX_PARTS = 2, GRACE = 10, KILL_AFTER = 3 };
#define SECOND NANOSECONDS_PER_SECOND
#define MUST(condition) REQUIRE(condition, "%s", #condition)

static const char *const names[N_NAMES] = {"d", "e", "s"};
static const uint32_t limits[N_NAMES] = {1, 1, 3};

struct part {
    uint8_t name;
    uint32_t count;
    uint64_t token, sharer;
    struct saved_unit units[3];
};

/* A client, and once it has its lease its job. */
struct job {
    bool is_used, is_alive, is_watched, is_connected;
    bool is_stray; /* an operator has taken its lease away, and lets it run */
    uint64_t lease;
    struct client client;
    uint32_t uid;
    int32_t pid;
    struct acquire_request ask;
    nanoseconds dies_at; /* NEVER: not by itself */
    struct part parts[MAX_PARTS];
    struct text record; /* empty: it has none */
};

static struct random *chance;
static struct core *core;
static struct effects effects;
static nanoseconds now;
static int32_t last_pid = 1; /* which no job has */
static bool is_restoring; /* a job may be over, and its lease not be back yet */
static struct job jobs[MAX_JOBS];
static uint64_t n_shares, n_restarts, n_endings;

static struct definition definitions[N_NAMES];

static void define(void)
{
    const char *refused;
    for (size_t i = 0; i < N_NAMES; i++) {
        definitions[i] = (struct definition){.name = (char *)names[i],
            .kind = limits[i] == 1 ? KIND_LOCK : KIND_SEMAPHORE,
            .limit = limits[i],
            .max_hold = i == 0 ? 60 * SECOND : NEVER,
            .kill_after = KILL_AFTER * SECOND,
            .on_lost = ON_LOST_KILL,
            .nested = i == 1 ? NESTED_COUNT : NESTED_SHARE,
            .keep = 10 * SECOND,
            .max_waiters = 100,
            .max_units_per_user = UNBOUNDED,
            .max_overtakes = 10};
    }
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    MUST(core_define(core, definitions, N_NAMES, &bounds, now, &effects, &refused) ==
        OUTCOME_OK);
}

static struct job *job_of(uint64_t lease)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (jobs[i].is_used && jobs[i].lease == lease) {
            return &jobs[i];
        }
    }
    return NULL;
}

/* ---- what the core did ---- */

static void begin_job(struct job *job, const struct lease *lease)
{
    job->is_alive = true;
    job->dies_at = random_percent(chance, 30) ? now + random_below(chance, 20) * SECOND : NEVER;
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct claim *claim = lease_asked(lease, i);
        const struct unit *unit = claim_first_unit(claim);
        struct part *part = &job->parts[i];
        part->token = claim->token;
        part->sharer = claim->sharer;
        n_shares += claim->sharer != 0;
        for (uint32_t k = 0; k < claim->count; k++, unit = unit->next_of_claim) {
            part->units[k] = (struct saved_unit){.slot = unit->index};
        }
    }
}

static void forget(struct job *job)
{
    MUST(!job->is_alive && !job->is_connected);
    text_deinit(&job->record);
    *job = (struct job){.is_used = false};
}

/* Its process is gone: its client, or who watches it, says so. */
static void die(struct job *job)
{
    struct lease *lease = core_find_lease(core, job->lease);
    job->is_alive = false;
    job->dies_at = NEVER;
    if (job->is_watched && lease) {
        job->is_watched = false;
        core_process_exited(core, lease, now, &effects);
        lease = core_find_lease(core, job->lease);
    }
    if (job->is_connected && lease && lease->client == &job->client) {
        core_end(core, lease, &job->client, now, &effects);
    }
}

static void carry_out(const struct effect *effect)
{
    struct job *job = effect->lease ? job_of(effect->lease->id) : NULL;
    if (is_traced && effect->lease) {
        static const char *const words[] = {"granted", "denied", "lost", "stop", "watch", "unwatch",
            "signal"};
        printf("    %ju: %s\n", (uintmax_t)effect->lease->id,
            effect->kind <= EFFECT_SIGNAL ? words[effect->kind] : "...");
    }
    if (!job) {
        return;
    }
    switch (effect->kind) {
    case EFFECT_GRANTED:
        begin_job(job, effect->lease);
        break;
    case EFFECT_LOST:
        job->is_stray = effect->why == OUTCOME_DROPPED && job->is_alive;
        if (!job->is_stray && job->is_alive) {
            die(job);
        }
        break;
    case EFFECT_STOP: /* a client stops its job in time, or leaves that to SIGKILL */
        if (random_percent(chance, 70)) {
            job->dies_at = now + random_below(chance, KILL_AFTER) * SECOND;
        }
        break;
    case EFFECT_WATCH:
        job->is_watched = effect->lease->state != LEASE_ENDED;
        if (!job->is_alive) {
            die(job);
        }
        break;
    case EFFECT_UNWATCH:
        job->is_watched = false;
        break;
    case EFFECT_SIGNAL:
        if (job->is_alive && (effect->signal == SIGNAL_KILL || random_percent(chance, 50))) {
            die(job);
        }
        break;
    default:
        break;
    }
}

static void write_down(struct lease *lease)
{
    struct job *job = job_of(lease->id);
    if (job) {
        job->record.length = 0;
        text_add(&job->record, "");
        if (lease->state != LEASE_ENDED) {
            record_write(&job->record, lease, NULL, true);
        }
    }
}

static void write_changes(void)
{
    for (struct lease *lease = effects.changed; lease; lease = lease->next_changed) {
        write_down(lease);
        n_endings += lease->is_ending;
    }
    for (struct lease *lease = effects.ended; lease; lease = lease->next_ended) {
        write_down(lease);
    }
}

/* All jobs that use a unit now have it from one lease; with all, nobody else has another. */
static void check_families(void)
{
    uint64_t family[N_NAMES][3] = {{0}};
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *job = &jobs[i];
        for (size_t k = 0; job->is_alive && !job->is_stray && k < job->ask.n_wants; k++) {
            const struct part *part = &job->parts[k];
            uint64_t has = part->sharer != 0 ? part->sharer : job->lease;
            bool has_all = job->ask.wants[k].is_all;
            uint32_t n = has_all ? limits[part->name] : part->count;
            for (uint32_t number = 0; number < n; number++) {
                uint32_t unit = has_all ? number : part->units[number].slot;
                uint64_t *its = &family[part->name][unit];
                if (*its != 0 && *its != has) {
                    fail("%s: unit %u is used under %ju and under %ju", names[part->name], unit,
                        (uintmax_t)*its, (uintmax_t)has);
                }
                *its = has;
            }
        }
    }
}

static void settle(void)
{
    for (size_t i = 0; i < effects.n; i++) {
        const struct effect effect = effects.list[i];
        write_changes();
        carry_out(&effect);
    }
    write_changes();
    effects_clear(&effects);
    if (!is_restoring) {
        core_check(core);
    }
    check_families();
    for (size_t i = 0; i < MAX_JOBS && !is_restoring; i++) {
        struct job *job = &jobs[i];
        if (job->is_used && !job->is_alive && job->is_connected &&
            !core_find_lease(core, job->lease)) {
            job->is_connected = false;
            core_client_deinit(core, &job->client, now, &effects);
            effects_clear(&effects);
        }
        if (job->is_used && !job->is_alive && !job->is_connected &&
            !core_find_lease(core, job->lease)) {
            forget(job);
        }
    }
}

/* ---- what happens ---- */

static struct job *any_job(bool must_live)
{
    struct job *found = NULL;
    uint32_t seen = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        bool fits = jobs[i].is_used && (jobs[i].is_alive || !must_live);
        found = fits && random_below(chance, ++seen) == 0 ? &jobs[i] : found;
    }
    return found;
}

static void make_ask(struct job *job)
{
    const struct job *above = random_percent(chance, 80) ? any_job(true) : NULL;
    struct acquire_request *ask = &job->ask;
    uint8_t first = (uint8_t)random_below(chance, N_NAMES);
    *ask = (struct acquire_request){.n_wants = random_percent(chance, 30) ? 2 : 1,
        .wait = random_percent(chance, 50) ? 0 : NEVER,
        .nested = (enum nested)PICK(chance, NESTED_NOT_SAID, NESTED_NOT_SAID, NESTED_SHARE,
            NESTED_COUNT, NESTED_REFUSE),
        .pid = job->pid,
        .binding = BOUND_PROCESS,
        .process = {.pid = job->pid, .started = 1},
        .attributes = {.signal = SIGNAL_TERM, .parent = above ? above->lease : 0}};
    job->uid = above && random_percent(chance, 95) ? above->uid : random_below(chance, 2);
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct part *part = &job->parts[i];
        part->name = (uint8_t)((first + i) % N_NAMES);
        bool is_all = random_percent(chance, 15);
        part->count = is_all ? 1 : 1 + random_below(chance, limits[part->name]);
        ask->wants[i] = (struct requested_resource){
            .name = names[part->name], .count = part->count, .is_all = is_all};
    }
}

static void asks(void)
{
    size_t i = 0;
    while (i < MAX_JOBS && jobs[i].is_used) {
        i++;
    }
    if (i == MAX_JOBS) {
        return;
    }
    struct job *job = &jobs[i];
    struct lease *lease;
    const char *at_fault;
    *job = (struct job){.pid = ++last_pid, .dies_at = NEVER};
    make_ask(job);
    MUST(core_client_init(core, &job->client, job->uid) == OUTCOME_OK);
    enum outcome outcome =
        core_acquire(core, &job->client, &job->ask, now, &effects, &lease, &at_fault);
    if (!lease) {
        core_client_deinit(core, &job->client, now, &effects);
        *job = (struct job){.is_used = false};
        return;
    }
    job->is_used = job->is_connected = true;
    job->lease = lease->id;
    if (outcome == OUTCOME_OK) {
        begin_job(job, lease);
    }
}

static void its_client_goes(struct job *job)
{
    if (job && job->is_connected) {
        job->is_connected = false;
        core_client_deinit(core, &job->client, now, &effects);
    }
}

static void takes_away(struct job *job)
{
    struct lease *lease = job ? core_find_lease(core, job->lease) : NULL;
    if (lease) {
        enum outcome why = (enum outcome)PICK(chance, OUTCOME_REVOKED, OUTCOME_REVOKED,
            OUTCOME_WITHDRAWN, OUTCOME_WITHDRAWN, OUTCOME_DROPPED);
        core_revoke(core, lease, why, NULL, now, &effects);
    }
}

static nanoseconds next_death(void)
{
    nanoseconds next = NEVER;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        next = jobs[i].is_alive ? earlier(next, jobs[i].dies_at) : next;
    }
    return next;
}

static void time_passes(nanoseconds span)
{
    nanoseconds end = now + span, next;
    while ((next = earlier(next_death(), core_next_deadline(core))) <= end) {
        now = later(now, next);
        for (size_t i = 0; i < MAX_JOBS; i++) {
            if (jobs[i].is_alive && jobs[i].dies_at <= now) {
                die(&jobs[i]);
            }
        }
        core_tick(core, now, &effects);
        settle();
    }
    now = end;
    core_tick(core, now, &effects);
}

/* ---- another core ---- */

static void end_core(void)
{
    core_grant_no_more(core);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (jobs[i].is_used && jobs[i].is_connected) {
            core_client_deinit(core, &jobs[i].client, now, &effects);
            effects_clear(&effects);
        }
        jobs[i].is_watched = false;
    }
    core_abandon(core, now, &effects);
    effects_clear(&effects);
    core = core_free(core);
}

static int compare_records(const void *a, const void *b)
{
    const struct saved_lease *x = *(struct saved_lease *const *)a;
    const struct saved_lease *y = *(struct saved_lease *const *)b;
    if (x->is_held != y->is_held) {
        return x->is_held ? -1 : 1;
    }
    if (x->is_held && x->granted_at != y->granted_at) {
        return x->granted_at < y->granted_at ? -1 : 1;
    }
    return x->id < y->id ? -1 : 1;
}

/* As recovery.c: one that is over is brought back for those who share its units. */
static bool is_shared(struct saved_lease *const list[], size_t n, uint64_t id)
{
    for (size_t i = 0; i < n; i++) {
        const struct job *job = job_of(list[i]->id);
        for (size_t k = 0; list[i]->is_held && k < list[i]->n_claims; k++) {
            if (list[i]->claims[k].sharer == id &&
                (job->is_alive || is_shared(list, n, list[i]->id))) {
                return true;
            }
        }
    }
    return false;
}

static void restore(void)
{
    struct saved_lease *list[MAX_JOBS];
    size_t n = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (jobs[i].is_used && jobs[i].record.length > 0) {
            list[n] = record_read(jobs[i].record.bytes, jobs[i].record.length);
            MUST(list[n] && !list[n]->is_opaque);
            n++;
        }
    }
    qsort(list, n, sizeof list[0], compare_records);
    for (size_t i = 0; i < n; i++) {
        struct job *job = job_of(list[i]->id);
        struct lease *lease = NULL;
        bool is_gone = list[i]->is_held ? !job->is_alive : !job->is_connected;
        if (is_gone && is_shared(list, n, list[i]->id)) {
            is_gone = false;
            list[i]->stopping = OUTCOME_RELEASED;
        }
        if (!is_gone) {
            core_restore(core, list[i], now, &effects, &lease);
        }
        if (is_traced) {
            printf("    %ju: %s, %s\n", (uintmax_t)list[i]->id, job->record.bytes,
                lease ? "restored" : "not restored");
        }
        if (!lease) {
            job->record.length = 0;
            job->is_alive = false; /* its client is told that it has lost the lease */
        }
        settle();
    }
    for (size_t i = 0; i < n; i++) {
        record_free(list[i]);
    }
}

/* False: not yet. */
static bool comes_back(struct job *job)
{
    struct lease *lease = core_find_lease(core, job->lease);
    struct saved_claim claims[MAX_PARTS];
    const char *at_fault;
    bool is_held = job->is_alive;
    enum outcome outcome;
    if (lease) {
        outcome = lease->is_ending ? OUTCOME_LOST
                                   : core_reclaim(core, &job->client, lease, now, &effects);
    } else {
        for (size_t i = 0; i < job->ask.n_wants; i++) {
            const struct part *part = &job->parts[i];
            claims[i] = (struct saved_claim){.name = names[part->name],
                .count = part->count,
                .is_all = job->ask.wants[i].is_all,
                .token = part->sharer != 0 ? 0 : part->token,
                .sharer = part->sharer,
                .units = part->units};
        }
        outcome = core_reclaim_unknown(core, &job->client, &job->ask, job->lease,
            is_held ? claims : NULL, now, &effects, &lease, &at_fault);
    }
    if (outcome == OUTCOME_GRACE) {
        return false;
    }
    if (outcome == OUTCOME_OK && !is_held) {
        begin_job(job, lease);
    } else if (outcome != OUTCOME_OK && outcome != OUTCOME_WAITING) {
        job->is_alive = false;
        job->is_connected = false;
        core_client_deinit(core, &job->client, now, &effects);
    }
    return true;
}

static void all_come_back(void)
{
    bool is_back[MAX_JOBS] = {false};
    for (int round = 0; round < 4; round++) {
        uint32_t from = random_below(chance, MAX_JOBS);
        for (uint32_t i = 0; i < MAX_JOBS; i++) {
            uint32_t at = (from + i) % MAX_JOBS;
            struct job *job = &jobs[at];
            bool is_last = round == 3;
            if (!job->is_used || !job->is_connected || is_back[at]) {
                continue;
            }
            is_back[at] = comes_back(job);
            if (is_last && !is_back[at]) { /* at the end of the grace it would be lost */
                job->is_alive = job->is_connected = false;
                core_client_deinit(core, &job->client, now, &effects);
            }
            settle();
        }
    }
}

static void starts_again(void)
{
    bool is_lost = random_percent(chance, 40);
    bool was_closed = core_misses_leases_until(core) == NEVER; /* the journal is not complete yet */
    uint64_t next = core_next_number(core) + 1000;
    n_restarts++;
    end_core();
    now += random_below(chance, 3) * SECOND;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        struct job *job = &jobs[i];
        bool dies = random_percent(chance, 15) || job->dies_at <= now;
        job->is_alive &= !dies;
        job->is_connected &= !random_percent(chance, 10);
        if (is_lost && random_percent(chance, 50)) {
            job->record.length = 0;
            job->is_alive &= job->is_connected; /* without its client it would run on for ever */
        }
    }
    core = core_new(random_next(chance));
    core_begin_numbers(core, next);
    define();
    core_begin_grace(core, is_lost || was_closed, now + GRACE * SECOND);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        struct job *job = &jobs[i];
        if (job->is_used && job->is_connected) {
            MUST(core_client_init(core, &job->client, job->uid) == OUTCOME_OK);
        }
    }
    is_restoring = true;
    restore();
    core_end_restoring(core, now, &effects);
    is_restoring = false;
    settle();
    all_come_back();
}

static void step(void)
{
    uint32_t dice = random_below(chance, 100);
    if (is_traced) {
        printf("%lld s: %u\n", (long long)(now / SECOND), dice);
    }
    if (dice < 45) {
        asks();
    } else if (dice < 60) {
        struct job *job = any_job(true);
        if (job) {
            die(job);
        }
    } else if (dice < 68) {
        its_client_goes(any_job(false));
    } else if (dice < 76) {
        takes_away(any_job(false));
    } else if (dice < 98) {
        time_passes(random_below(chance, 4) * SECOND);
    } else {
        starts_again();
    }
    settle();
}

/* Nothing is left when all is over. */
static void end(void)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (jobs[i].is_used) {
            its_client_goes(&jobs[i]);
            settle();
        }
    }
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (jobs[i].is_used && jobs[i].is_alive) {
            die(&jobs[i]);
            settle();
        }
    }
    time_passes(200 * SECOND);
    settle();
    for (size_t i = 0; i < MAX_JOBS; i++) {
        MUST(!jobs[i].is_used || jobs[i].is_stray);
        text_deinit(&jobs[i].record);
        jobs[i] = (struct job){.is_used = false};
    }
    MUST(core_n_held(core) == 0 && core_n_waiting(core) == 0);
}

static void run(uint64_t seed, uint64_t n_steps)
{
    struct random random = {.state = seed};
    chance = &random;
    now = 1000 * SECOND;
    core = core_new(seed);
    define();
    for (uint64_t i = 0; i < n_steps; i++) {
        run_length = i + 1;
        step();
    }
    end();
    core = core_free(core);
    effects_deinit(&effects);
}

static void print_state(void)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *job = &jobs[i];
        const struct lease *lease = job->is_used ? core_find_lease(core, job->lease) : NULL;
        if (job->is_used) {
            printf("# %ju (%s%s%s%s%s): %s\n", (uintmax_t)job->lease,
                job->is_alive ? "lives" : "is gone", job->is_connected ? ", connected" : "",
                job->is_stray ? ", stray" : "", lease && lease->stopping ? ", being stopped" : "",
                lease && lease->is_ending ? ", ending" : "", job->record.bytes);
        }
    }
}

static void print_figures(void)
{
    printf("; %ju shares, %ju leases that ended before them, %ju restarts", (uintmax_t)n_shares,
        (uintmax_t)n_endings, (uintmax_t)n_restarts);
}

int main(int argc, char **argv)
{
    static const struct simulator shares = {.name = "shares",
        .length_word = "--steps",
        .length = 2000,
        .n_tap_seeds = 20,
        .run = run,
        .print_state = print_state,
        .print_figures = print_figures};
    return runs_main(&shares, argc, argv);
}
