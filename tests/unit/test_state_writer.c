/* test_state_writer.c - the state file is written in the thread pool: one job at a time, the next
 * one has what comes meanwhile, and the end waits for it. The disk is ours: fsync() and
 * posix_fallocate() do what a test wants. */
#include "log/log.h"
#include "record/state_writer.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the disk ---- */

static uv_sem_t arrived, may_go; /* of fsync() of a file, while it is shut */
static bool is_shut;
static int fsync_error, directory_error, room_error;
static int n_synced;

int fsync(int fd)
{
    struct stat status;
    bool is_directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_shut && !is_directory) {
        uv_sem_post(&arrived);
        uv_sem_wait(&may_go);
    }
    errno = is_directory ? directory_error : fsync_error;
    n_synced += !is_directory;
    return errno != 0 ? -1 : 0;
}

int posix_fallocate(int fd, off_t offset, off_t n)
{
    (void)offset;
    return room_error != 0 ? room_error : ftruncate(fd, n) < 0 ? errno : 0;
}

static void let_it_go(void)
{
    is_shut = false;
    uv_sem_post(&may_go);
}

/* ---- reports ---- */

static uv_loop_t loop;
static struct state state;
static struct state_writer writer;
static struct {
    uint64_t room, to;
    int error;
    enum stored stored;
    unsigned n_rooms, n_writes;
} reported;

static void on_room(void *context, uint64_t request, int error)
{
    cr_assert_eq(context, &reported);
    reported.room = request;
    reported.error = error;
    reported.n_rooms++;
}

static void on_written(void *context, uint64_t from, uint64_t to, enum stored stored)
{
    cr_assert_eq(context, &reported);
    cr_expect_eq(from, reported.to); /* without a gap */
    cr_expect_geq(to, from);
    reported.to = to;
    reported.stored = stored;
    reported.n_writes++;
}

static void begin(void)
{
    static const struct state_writer_events events = {on_room, on_written};
    scratch_begin();
    log_init((enum log_level)0, false);
    setenv("STATE_DIRECTORY", scratch_path("state"), 1);
    state_load(&state, "/run/berth.sock");
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(uv_sem_init(&arrived, 0), 0);
    cr_assert_eq(uv_sem_init(&may_go, 0), 0);
    state_writer_init(&writer, &loop, &state, &events, &reported);
}

static void end(void)
{
    cr_expect(state_writer_end(&writer, 60000));
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(uv_loop_close(&loop), 0);
    state_writer_deinit(&writer);
    state_deinit(&state);
    uv_sem_destroy(&arrived);
    uv_sem_destroy(&may_go);
    scratch_end();
}

TestSuite(state_writer, .init = begin, .fini = end, .timeout = 60);

/* A turn of the loop, in which the job ends. */
static void turn(void)
{
    unsigned before = reported.n_rooms + reported.n_writes;
    state_writer_begin(&writer);
    while (reported.n_rooms + reported.n_writes == before) {
        uv_run(&loop, UV_RUN_ONCE);
    }
}

static uint64_t change(const char *changes)
{
    state_set_changes(&state, changes, strlen(changes));
    return state_writer_change(&writer);
}

static void expect_on_disk(const char *changes)
{
    struct state again;
    state_load(&again, "/run/berth.sock");
    cr_expect_eq(again.found, STATE_READ);
    cr_expect_str_eq(again.changes, changes);
    free(again.next_path); /* which the writer may be writing */
    again.next_path = NULL;
    state_deinit(&again);
}

/* The job that writes the change is stuck in fsync(). Returns the change's number. */
static uint64_t change_and_be_stuck(const char *changes)
{
    uint64_t number = change(changes);
    is_shut = true;
    state_writer_begin(&writer);
    uv_sem_wait(&arrived);
    return number;
}

static void expect_reported(uint64_t to, enum stored stored)
{
    cr_expect_eq(reported.to, to);
    cr_expect_eq(reported.stored, stored);
}

/* ---- tests ---- */

Test(state_writer, nothing_to_do)
{
    state_writer_begin(&writer);
    cr_expect_eq(uv_loop_alive(&loop), 0);
    cr_expect_eq(n_synced, 0);
}

Test(state_writer, changes_during_a_write_are_in_the_next)
{
    uint64_t first = change_and_be_stuck("drain\n");
    change("pause a\n");
    uint64_t last = change("pause b\n");
    state_writer_begin(&writer); /* not beside it */
    let_it_go();
    turn();
    cr_expect_eq(reported.to, first);
    expect_on_disk("drain\n");
    turn();
    expect_reported(last, STORED);
    expect_on_disk("pause b\n");
    cr_expect_eq(n_synced, 2);
}

Test(state_writer, room_is_made_before_it_is_used)
{
    cr_expect_not(state_writer_has_room(&writer));
    uint64_t first = state_writer_request_room(&writer);
    uint64_t second = state_writer_request_room(&writer);
    change("drain\n"); /* of somebody else */
    turn();
    cr_expect_eq(reported.n_rooms, 1);
    cr_expect_eq(reported.room, second);
    cr_expect_gt(second, first);
    cr_expect_eq(reported.error, 0);
    cr_expect(state_writer_has_room(&writer));
    uint64_t last = change("pause a\n");
    turn();
    cr_expect_eq(reported.to, last);
    cr_expect_not(state_writer_has_room(&writer)); /* it was used */
    expect_on_disk("pause a\n");
}

Test(state_writer, room_for_two_is_no_room_for_three)
{
    static char line[2000];
    memset(line, 'x', sizeof line - 2);
    line[sizeof line - 2] = '\n';
    state_writer_request_room(&writer);
    turn();
    cr_expect(state_writer_has_room(&writer));
    change(line); /* may have been twice as long */
    cr_expect_not(state_writer_has_room(&writer));
    turn();
    expect_on_disk(line);
}

Test(state_writer, endless_requests_for_room_hold_up_no_change)
{
    room_error = ENOSPC;
    uint64_t last = change("drain\n");
    for (unsigned i = 1; i <= 3; i++) {
        state_writer_request_room(&writer);
        turn();
        cr_expect_eq(reported.error, ENOSPC);
        cr_expect_not(state_writer_has_room(&writer));
        state_writer_request_room(&writer);
        turn();
        cr_expect_eq(reported.to, last);
        cr_expect_eq(reported.n_writes, i);
        last = change("drain\n");
    }
    turn();
}

Test(state_writer, each_way_to_fail)
{
    static const struct {
        int of_file, of_directory; /* errors */
        const char *change, *on_disk;
        enum stored stored;
    } rows[] = {
        {0, 0, "drain\n", "drain\n", STORED},
        {EIO, 0, "pause a\n", "drain\n", STORED_NOT},
        {0, EIO, "pause b\n", "pause b\n", STORED_UNSYNCED},
        {0, 0, "pause c\n", "pause c\n", STORED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fsync_error = rows[i].of_file;
        directory_error = rows[i].of_directory;
        uint64_t number = change(rows[i].change);
        turn();
        expect_reported(number, rows[i].stored);
        expect_on_disk(rows[i].on_disk);
    }
}

Test(state_writer, numbers_are_of_use_when_they_are_stored)
{
    is_shut = true;
    cr_assert(state_want_numbers(&state, 1000));
    state_writer_change(&writer);
    state_writer_begin(&writer);
    uv_sem_wait(&arrived);
    cr_expect_not(state_has_numbers(&state, 1000));
    let_it_go();
    turn();
    cr_expect(state_has_numbers(&state, 1000));
}

Test(state_writer, the_end_waits_and_writes_the_rest)
{
    change_and_be_stuck("drain\n");
    uint64_t last = change("pause a\n");
    let_it_go();
    cr_expect(state_writer_end(&writer, 60000));
    cr_expect_eq(reported.n_writes, 2);
    expect_reported(last, STORED);
    expect_on_disk("pause a\n");
}

Test(state_writer, the_end_does_not_wait_for_ever)
{
    uint64_t first = change_and_be_stuck("drain\n");
    uint64_t last = change("pause a\n");
    cr_expect_not(state_writer_end(&writer, 20));
    cr_expect_eq(reported.n_writes, 2); /* what is being written, and what is not */
    cr_expect_gt(last, first);
    expect_reported(last, STORED_NOT);
    let_it_go();
    uv_run(&loop, UV_RUN_DEFAULT);
    text_deinit(&writer.image.text);
    writer.job = STATE_JOB_NONE; /* for end() */
    writer.imaged = writer.changed;
}

Test(state_writer, the_end_does_not_wait_for_ever_for_what_it_writes)
{
    is_shut = true;
    uint64_t last = change("drain\n");
    cr_expect_not(state_writer_end(&writer, 20));
    uv_sem_wait(&arrived);
    cr_expect_eq(reported.n_writes, 1);
    expect_reported(last, STORED_UNKNOWN);
    let_it_go();
    cr_expect_eq(uv_thread_join(&writer.last), 0);
    expect_on_disk("drain\n");
    text_deinit(&writer.image.text);
    writer.job = STATE_JOB_NONE; /* for end() */
}

/* While all threads of the pool are busy, as with a name service. */
static uv_sem_t busy;

static void be_busy(uv_work_t *work)
{
    (void)work;
    uv_sem_wait(&busy);
}

Test(state_writer, the_end_does_what_has_not_begun)
{
    enum { MANY = 128 };
    static uv_work_t work[MANY];
    cr_assert_eq(uv_sem_init(&busy, 0), 0);
    for (size_t i = 0; i < MANY; i++) {
        cr_assert_eq(uv_queue_work(&loop, &work[i], be_busy, NULL), 0);
    }
    uint64_t last = change("drain\n");
    state_writer_begin(&writer);
    cr_expect(state_writer_end(&writer, 60000));
    expect_reported(last, STORED);
    cr_expect_eq(reported.n_writes, 1);
    expect_on_disk("drain\n");
    for (size_t i = 0; i < MANY; i++) {
        uv_sem_post(&busy);
    }
}
