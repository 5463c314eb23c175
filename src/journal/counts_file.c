#include "journal/counts_file.h"

#include "base/memory.h"
#include "journal/cut_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BOOT_ID_BYTES = 64 };

/* At the beginning of the file. */
struct identity {
    char magic[16]; /* written last */
    uint64_t layout;
    char boot_id[BOOT_ID_BYTES];
};

_Static_assert(sizeof(struct identity) <= COUNTS_IDENTITY_BYTES, "room for the identity");

static const char magic[16] = "berth counts 1\n";

static volatile sig_atomic_t was_cut; /* the one file */

static uint64_t magic_word(size_t offset)
{
    uint64_t word;
    memcpy(&word, magic + offset, sizeof word);
    return word;
}

/* ---- memory ---- */

static void *map(const struct counts_file *file, size_t offset, size_t size)
{
    bool is_shared = file->error == 0;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
        is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, is_shared ? file->fd : -1,
        is_shared ? (off_t)offset : 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool counts_file_was_cut(const struct counts_file *file)
{
    return file->fd >= 0 && was_cut;
}

/* Memory for that part of the file, which has its space; anonymous if that cannot be. */
static char *map_part(struct counts_file *file, size_t offset, size_t size)
{
    while (file->error == 0 &&
        (file->error = posix_fallocate(file->fd, (off_t)offset, (off_t)size)) == EINTR) {
        file->error = 0;
    }
    char *memory = map(file, offset, size);
    if (!memory && file->error == 0) {
        file->error = errno;
        memory = map(file, offset, size);
    }
    if (!memory) {
        abort(); /* as base/memory.c does */
    }
    if (file->error == 0) {
        cut_guard(memory, size, &was_cut);
    }
    return memory;
}

/* ---- the file ---- */

static bool is_ours(const struct counts_file *file, const struct identity *wanted, size_t *sizep)
{
    struct identity found;
    struct stat status;
    bool is_read = pread(file->fd, &found, sizeof found, 0) == (ssize_t)sizeof found &&
        fstat(file->fd, &status) == 0 && status.st_size >= COUNTS_HEAD_BYTES;
    *sizep = is_read ? (size_t)status.st_size : 0;
    return is_read && memcmp(&found, wanted, sizeof found) == 0;
}

/* Empties it unless it is of this boot and layout. */
static void open_file(
    struct counts_file *file, const char *path, const struct identity *identity)
{
    size_t size = 0;
    file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd < 0) {
        file->error = errno;
        return;
    }
    bool is_good = is_ours(file, identity, &size);
    file->n_earlier = is_good ? (size - COUNTS_HEAD_BYTES) / COUNTS_CHUNK_BYTES : 0;
    /* What is left of a chunk that was cut goes as well. */
    size_t kept = COUNTS_HEAD_BYTES + file->n_earlier * (size_t)COUNTS_CHUNK_BYTES;
    if (ftruncate(file->fd, is_good ? (off_t)kept : 0) < 0) {
        file->error = errno;
    }
}

void counts_file_open(
    struct counts_file *file, const char *path, const char *boot_id, uint64_t layout)
{
    struct identity identity = {.layout = layout};
    strncpy(identity.boot_id, boot_id, sizeof identity.boot_id - 1);
    memcpy(identity.magic, magic, sizeof magic);
    *file = (struct counts_file){.fd = -1};
    was_cut = 0;
    open_file(file, path, &identity);
    file->head = map_part(file, 0, COUNTS_HEAD_BYTES);
    if (file->error != 0) {
        file->n_earlier = 0;
    }
    file->is_head_in_file = file->error == 0;
    struct identity *head = (struct identity *)(void *)file->head;
    if (memcmp(head, &identity, sizeof identity) != 0) {
        head->layout = identity.layout;
        memcpy(head->boot_id, identity.boot_id, sizeof head->boot_id);
        /* A process killed before this leaves a file that is emptied. */
        atomic_signal_fence(memory_order_seq_cst);
        *(volatile uint64_t *)(void *)(head->magic + 8) = magic_word(8);
        *(volatile uint64_t *)(void *)head->magic = magic_word(0);
    }
}

void *counts_file_extra(const struct counts_file *file)
{
    return file->head + COUNTS_IDENTITY_BYTES;
}

void *counts_file_chunk(struct counts_file *file)
{
    size_t i = file->n_chunks;
    file->chunks = memory_resize(file->chunks, i + 1, sizeof *file->chunks);
    file->chunks[i] = map_part(
        file, COUNTS_HEAD_BYTES + i * (size_t)COUNTS_CHUNK_BYTES, COUNTS_CHUNK_BYTES);
    file->n_chunks++;
    file->n_in_file += file->error == 0;
    return file->chunks[i];
}

/* ---- the end ---- */

static void freeze_part(const struct counts_file *file, char *memory, size_t offset, size_t size)
{
    if (mmap(memory, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file->fd,
            (off_t)offset) == MAP_FAILED) {
        abort();
    }
}

void counts_file_freeze(struct counts_file *file)
{
    if (file->is_head_in_file) {
        freeze_part(file, file->head, 0, COUNTS_HEAD_BYTES);
    }
    for (size_t i = 0; i < file->n_in_file; i++) {
        freeze_part(file, file->chunks[i], COUNTS_HEAD_BYTES + i * (size_t)COUNTS_CHUNK_BYTES,
            COUNTS_CHUNK_BYTES);
    }
}

static void unmap(char *memory, size_t size)
{
    cut_unguard(memory);
    munmap(memory, size);
}

void counts_file_close(struct counts_file *file)
{
    if (!file->head) {
        return; /* it was never opened */
    }
    unmap(file->head, COUNTS_HEAD_BYTES);
    for (size_t i = 0; i < file->n_chunks; i++) {
        unmap(file->chunks[i], COUNTS_CHUNK_BYTES);
    }
    free(file->chunks);
    if (file->fd >= 0) {
        close(file->fd);
    }
    *file = (struct counts_file){.fd = -1};
}
