/* fuzz_journal.c - the journal, opened on a file with any contents.
 *
 * The input is a program that makes the file, so that checksums stop nothing: see build(). Whatever
 * the file is, opening it must not crash; each visit is of a record; and afterwards there is a
 * journal that works and finds again what it has. */
#include "fuzz.h"

#include "base/table.h"
#include "journal/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char boot[] = "a boot";

/* ---- making the file ---- */

enum { MAX_BYTES = JOURNAL_PAGE + 4 * JOURNAL_CHUNK };

struct image {
    char bytes[MAX_BYTES + JOURNAL_LARGEST];
    size_t size; /* of the file */
};

struct input {
    const uint8_t *bytes;
    size_t n;
};

static uint32_t take(struct input *input, size_t n_bytes)
{
    uint32_t number = 0;
    while (n_bytes-- > 0) {
        number = number << 8 | (input->n > 0 ? *input->bytes : 0);
        input->bytes += input->n > 0;
        input->n -= input->n > 0;
    }
    return number;
}

static struct journal_header *header_of(struct image *image)
{
    return (struct journal_header *)(void *)image->bytes;
}

static struct extent_header *extent_of(struct image *image, uint32_t slot)
{
    return (struct extent_header *)(void *)(image->bytes + slot_offset(slot));
}

/* A sealed record, anywhere; its length need not fit. */
static void add_record(struct image *image, struct input *input)
{
    uint32_t slot = take(input, 2) % (4 * JOURNAL_SLOTS) + 1;
    struct extent_header *extent = extent_of(image, slot);
    extent->mark.length = take(input, 2) % (JOURNAL_LARGEST + 100);
    memset(extent + 1, (int)take(input, 1), extent->mark.length < 300 ? extent->mark.length : 300);
    size_t room = sizeof image->bytes - (size_t)slot_offset(slot) - sizeof *extent;
    if (extent->mark.length <= room) {
        extent_seal(extent, slot);
    }
}

static void add_free(struct image *image, struct input *input)
{
    uint32_t slot = take(input, 2) % (4 * JOURNAL_SLOTS) + 1;
    extent_of(image, slot)->mark = mark_free(slot);
}

static void add_byte(struct image *image, struct input *input)
{
    uint32_t at = take(input, 3) % MAX_BYTES;
    image->bytes[at] = (char)take(input, 1);
}

static void set_size(struct image *image, struct input *input)
{
    image->size = take(input, 3) % MAX_BYTES;
}

static void set_header(struct image *image, struct input *input)
{
    uint32_t at = take(input, 2) % JOURNAL_PAGE;
    image->bytes[at] = (char)take(input, 1);
    header_seal(header_of(image));
}

static void build(struct image *image, struct input *input)
{
    static void (*const steps[])(struct image *, struct input *) = {
        add_record, add_free, add_byte, set_size, set_header};
    struct journal_header *header = header_of(image);
    memset(image, 0, sizeof *image);
    header_init(header, boot);
    header->n_chunks = take(input, 1) % 5;
    for (size_t i = 0; i < 4; i++) {
        header->classes[i] = (uint8_t)(take(input, 1) % (JOURNAL_CLASSES + 1));
    }
    header->is_complete = take(input, 1) % 2;
    header_seal(header);
    image->size = (size_t)header_file_size(header);
    while (input->n > 0) {
        steps[take(input, 1) % (sizeof steps / sizeof steps[0])](image, input);
    }
}

/* ---- opening it ---- */

struct visits {
    struct journal *journal;
    size_t n;
    uint64_t sum; /* of what was seen, in any order */
    bool erases;
};

static void visit(void *context, uint32_t slot, const char *bytes, size_t length)
{
    struct visits *visits = context;
    REQUIRE(length >= 1 && length <= JOURNAL_MAX_BYTES && slot != 0);
    visits->n++;
    visits->sum += hash_bytes(bytes, length, 0);
    if (visits->erases) {
        journal_erase(visits->journal, slot);
    }
}

static const char *file_path(void)
{
    static char path[64];
    if (!path[0]) {
        const char *fast = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(path, sizeof path, "%s/berth-fuzz-%ld", fast, (long)getpid());
    }
    return path;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static void ignore(const struct journal_report *report)
{
    (void)report;
}

static enum journal_found open_journal(struct journal *journal, struct visits *visits)
{
    *visits = (struct visits){.journal = journal, .erases = visits->erases};
    return journal_open(journal, file_path(), boot, ignore, visit, visits);
}

/* A record of each size comes back, and so does what was visited before. */
static void use(struct journal *journal, const struct visits *before)
{
    struct visits visits = {.erases = false};
    uint64_t sum = before->sum;
    uint32_t slots[JOURNAL_CLASSES];
    char bytes[JOURNAL_MAX_BYTES];
    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < JOURNAL_CLASSES; i++) {
        size_t length = class_size(i) - sizeof(struct extent_header);
        slots[i] = journal_reserve(journal, length);
        REQUIRE(slots[i] != 0 && journal_write(journal, slots[i], bytes, length));
        sum += hash_bytes(bytes, length, 0);
    }
    journal_close(journal);
    enum journal_found found = open_journal(journal, &visits);
    REQUIRE(found == JOURNAL_INTACT || found == JOURNAL_INCOMPLETE);
    REQUIRE(visits.n == before->n + JOURNAL_CLASSES && visits.sum == sum);
    journal_close(journal);
    visits.erases = true;
    open_journal(journal, &visits);
    journal_close(journal);
    visits.erases = false;
    REQUIRE(open_journal(journal, &visits) == found && visits.n == 0);
    journal_set_complete(journal);
    journal_close(journal);
    REQUIRE(open_journal(journal, &visits) == JOURNAL_INTACT);
    journal_close(journal);
}

static void try(const void *bytes, size_t n)
{
    struct journal journal;
    struct visits visits = {.erases = false};
    write_file(file_path(), bytes, n);
    enum journal_found found = open_journal(&journal, &visits);
    REQUIRE(found != JOURNAL_MISSING && (found != JOURNAL_OF_OTHER_BOOT || visits.n == 0));
    if (found == JOURNAL_OF_LATER_VERSION) {
        REQUIRE(visits.n == 0);
        journal_close(&journal);
    } else {
        use(&journal, &visits);
    }
    REQUIRE(unlink(file_path()) == 0);
}

/* The first byte says whether the rest is the file itself, or how it is made. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct image image;
    if (n == 0) {
        return 0;
    }
    if (bytes[0] == 0) {
        try(bytes + 1, n - 1);
        return 0;
    }
    struct input input = {bytes + 1, n - 1};
    build(&image, &input);
    try(image.bytes, image.size);
    return 0;
}
