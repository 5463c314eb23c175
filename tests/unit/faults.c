/* faults.c - each test has one fault. `make check-faults` requires a sanitized build to find them
 * all. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static char *volatile memory;
static volatile int number = INT_MAX;

Test(faults, leak)
{
    memory = malloc(8);
    memory = NULL;
}

Test(faults, use_after_free)
{
    memory = malloc(8);
    free(memory);
    number = memory[7];
}

Test(faults, read_past_the_end)
{
    memory = calloc(1, 8);
    number = memory[8];
    free(memory);
}

Test(faults, signed_overflow)
{
    number++;
}

Test(faults, failed_expectation)
{
    cr_expect(number == 0);
}

Test(faults, dies_in_init, .init = abort)
{
}

static void fail(void)
{
    cr_assert_fail("at the end");
}

Test(faults, failed_assertion_in_fini, .fini = fail)
{
}

Test(faults, exit_status)
{
    exit(3);
}

Test(faults, hangs, .timeout = 1)
{
    for (;;) {
        pause();
    }
}
