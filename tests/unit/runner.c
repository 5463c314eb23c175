/* runner.c - runs the tests of a Criterion program without Criterion, for sanitized builds.
 *
 * Criterion forks while its other threads allocate. GCC 12's AddressSanitizer holds its allocator's
 * locks across no fork, so a child may wait for ever for a lock whose owner was not copied. This
 * process has no other thread. It runs one test at a time, each in a child whose output is shown.
 *
 *   test_NAME [--tap] [--filter SUITE/TEST] */
#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/options.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

/* Of <sanitizer/allocator_interface.h>, which Debian's GCC has not: bytes that are not freed. */
size_t __sanitizer_get_current_allocated_bytes(void);

struct criterion_options criterion_options;

/* The linker's names for the ends of the sections that Test() and TestSuite() fill. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* For the test that this child runs. */
static const struct criterion_test_extra_data *suite_data, *test_data;
static jmp_buf next_phase;
static bool has_failed;

/* What Criterion's macros call ---------------------------------------------------------------- */

static void call(void (*function)(void))
{
    if (function && setjmp(next_phase) == 0) {
        function();
    }
}

void criterion_internal_test_setup(void)
{
    call(suite_data ? suite_data->init : NULL);
    call(test_data->init);
}

void criterion_internal_test_main(void (*function)(void))
{
    if (!has_failed) {
        call(function);
    }
}

void criterion_internal_test_teardown(void)
{
    call(test_data->fini);
    call(suite_data ? suite_data->fini : NULL);
}

void criterion_send_assert(struct criterion_assert_stats *assertion)
{
    if (!assertion->passed) {
        has_failed = true;
        printf("# %s:%u: %s\n", assertion->file, assertion->line, assertion->message);
        fflush(stdout);
    }
}

void criterion_abort_test(void)
{
    longjmp(next_phase, 1);
}

void criterion_continue_test(void)
{
}

void cri_asserts_passed_incr(void)
{
}

void criterion_skip_test(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# skipped: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    criterion_internal_test_teardown();
    exit(has_failed ? EXIT_FAILURE : SKIPPED);
}

/* The message for an assertion without a text: its expression, and two strings that it compares. */
char *cr_translate_assert_msg(int message, ...)
{
    char *text = NULL;
    int n;
    va_list arguments;
    va_start(arguments, message);
    const char *expression = va_arg(arguments, const char *);
    if (message == CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE) {
        const char *actual = va_arg(arguments, const char *);
        const char *expected = va_arg(arguments, const char *);
        n = asprintf(&text, "%s: \"%s\", \"%s\"", expression, actual, expected);
    } else {
        n = asprintf(&text, "%s", expression);
    }
    va_end(arguments);
    return n < 0 ? abort(), NULL : text;
}

int cr_asprintf(char **textp, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(textp, format, arguments);
    va_end(arguments);
    return n;
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
    (void)severity;
    va_list arguments;
    va_start(arguments, format);
    printf("# ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void cr_asprintf_free(char *text)
{
    free(text);
}

/* Running them -------------------------------------------------------------------------------- */

static const struct criterion_test_extra_data *data_of_suite(const char *name)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++) {
        if (strcmp((*s)->name, name) == 0) {
            return (*s)->data;
        }
    }
    return NULL;
}

static bool is_wanted(const struct criterion_test *test, const char *filter)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", test->category, test->name);
    return !filter || fnmatch(filter, name, 0) == 0;
}

static void set_alarm(double seconds)
{
    struct itimerval timer = {.it_value.tv_sec = (time_t)seconds};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* In a child. A report at its end, such as a leak, changes its status. The search for leaks takes
 * longer than most tests, so a child that has freed what it allocated ends without. */
static void run(const struct criterion_test *test)
{
    size_t n_allocated = __sanitizer_get_current_allocated_bytes();
    suite_data = data_of_suite(test->category);
    test_data = test->data;
    set_alarm(test_data->timeout > 0 ? test_data->timeout : suite_data ? suite_data->timeout : 0);
    test->test();
    int status = has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
    fflush(stdout);
    if (__sanitizer_get_current_allocated_bytes() == n_allocated) {
        _exit(status);
    }
    exit(status);
}

/* Of directories in /proc/self/task there is one for each thread; two links are its own. */
static void require_one_thread(void)
{
    struct stat status;
    if (stat("/proc/self/task", &status) != 0 || status.st_nlink != 3) {
        fprintf(stderr, "runner: other threads may hold locks while this one forks\n");
        abort();
    }
}

/* Its wait status. */
static int run_in_child(const struct criterion_test *test)
{
    int status = -1;
    fflush(stdout);
    require_one_thread();
    pid_t pid = fork();
    if (pid == 0) {
        run(test);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static bool report(const struct criterion_test *test, int status)
{
    bool is_skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
    bool is_good = status == 0 || is_skipped;
    if (!is_good && WIFSIGNALED(status)) {
        printf("# %s\n", WTERMSIG(status) == SIGALRM ? "timed out" : strsignal(WTERMSIG(status)));
    }
    printf("%s - %s::%s%s\n", is_good ? "ok" : "not ok", test->category, test->name,
        is_skipped ? " # SKIP" : "");
    return is_good;
}

int main(int argc, char **argv)
{
    static char output[BUFSIZ]; /* or the first to print would allocate it */
    setvbuf(stdout, output, _IOFBF, sizeof output);
    const char *filter = NULL;
    int n = 0, n_failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            filter = argv[++i];
        } else if (strcmp(argv[i], "--tap") != 0) {
            fprintf(stderr, "usage: %s [--tap] [--filter SUITE/TEST]\n", argv[0]);
            return 64;
        }
    }
    for (struct criterion_test **test = __start_cr_tst; test < __stop_cr_tst; test++) {
        if (is_wanted(*test, filter)) {
            n++;
            n_failed += !report(*test, run_in_child(*test));
        }
    }
    printf("1..%d\n", n);
    return n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
