/* test_journal_killed.c - a process that writes a journal is killed at arbitrary points: what it
 * had finished is there, what it was writing is there or not, and nothing is damaged. */
#include "../sim/random.h"
#include "journal_help.h"
#include "seed.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(journal_killed, .init = journal_begin, .fini = scratch_end, .timeout = 120);

enum { NUMBERS = 200, ROUNDS = 250, MAX_STEPS = 3000 };

/* Memory that the child shares with us: what it has done. */
struct shared {
    _Atomic uint32_t n_steps;
    _Atomic uint32_t busy_with; /* the number whose record it is about to change */
    _Atomic uint32_t lengths[NUMBERS]; /* of the records; 0: none */
};

/* Of one page, so that it is rewritten at once; or, of every eighth number, long. */
static uint32_t random_length(struct random *random, uint32_t number)
{
    uint32_t max = number % 8 == 0 ? JOURNAL_MAX_BYTES : 1000;
    return 8 + random_below(random, max - 8);
}

static void random_step(struct shared *shared, struct random *random)
{
    uint32_t number = random_below(random, NUMBERS), length = 0;
    bool is_long = number % 8 == 0, is_there = seen.lengths[number] > 0;
    shared->busy_with = number;
    if (is_there && (is_long || random_below(random, 2) == 0)) {
        journal_erase(&journal, seen.slots[number]);
    } else {
        if (!is_there) {
            size_t max = is_long ? JOURNAL_MAX_BYTES : 1000;
            seen.slots[number] = journal_reserve(&journal, max);
        }
        length = random_length(random, number);
        char *text = record_text(number, length);
        if (seen.slots[number] == 0 || !journal_write(&journal, seen.slots[number], text, length)) {
            _exit(1);
        }
    }
    seen.lengths[number] = shared->lengths[number] = length;
    shared->n_steps++;
}

/* Until it is killed. */
static void write_for_ever(struct shared *shared, uint64_t seed)
{
    struct random random = {.state = seed};
    if (reopen() != JOURNAL_INTACT) {
        _exit(1);
    }
    for (;;) {
        random_step(shared, &random);
    }
}

/* Lets a child do so many steps, and then a few more. */
static void run_child(struct shared *shared, uint64_t seed, uint32_t n_steps)
{
    int status = 0;
    shared->n_steps = 0;
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        write_for_ever(shared, seed);
    }
    while (shared->n_steps < n_steps && waitpid(pid, &status, WNOHANG) == 0) {
        sched_yield();
    }
    cr_assert_eq(status, 0);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
}

Test(journal_killed, at_any_moment)
{
    struct random random = {.state = seed_of_test()};
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
    open_new();
    journal_close(&journal);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        run_child(shared, seed_of_test() + round, random_below(&random, MAX_STEPS));
        cr_assert_eq(reopen(), JOURNAL_INTACT, "in round %u", round);
        for (uint32_t i = 0; i < NUMBERS; i++) {
            bool is_known = i == shared->busy_with || seen.lengths[i] == shared->lengths[i];
            cr_assert(is_known, "record %u in round %u", i, round);
            shared->lengths[i] = (uint32_t)seen.lengths[i];
        }
        journal_close(&journal);
    }
    munmap(shared, sizeof *shared);
}
