#include "conf/files.h"

#include "conf/lines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_complain(struct loading *loading, const char *what)
{
    complain(&loading->complaints, (struct place){.file = loading->file}, NULL, NULL, "%s", what);
}

/* O_NONBLOCK: opening a FIFO must not hang. */
static int open_regular(struct loading *loading, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        file_complain(loading, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        file_complain(loading, "is a directory");
    } else if (!S_ISREG(status.st_mode)) {
        file_complain(loading, "is not a regular file");
    } else if (status.st_size > MAX_FILE_BYTES) {
        file_complain(loading, "is larger than 64 MiB");
    } else {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static void file_read(struct loading *loading, const char *path)
{
    loading->file = complaints_add_file(&loading->complaints, path);
    int fd = open_regular(loading, path);
    if (fd < 0) {
        return;
    }
    FILE *stream = fdopen(fd, "r");
    if (!stream) {
        abort();
    }
    lines_read(loading, stream);
    if (ferror(stream)) {
        file_complain(loading, "cannot be read completely");
    }
    fclose(stream);
}

/* ---- include ---- */

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), n_suffix = strlen(suffix);
    return n > n_suffix && strcmp(text + n - n_suffix, suffix) == 0;
}

static int is_conf_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && has_suffix(entry->d_name, ".conf");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static char *join(const char *directory, int n, const char *name)
{
    char *path;
    if (asprintf(&path, "%.*s%s", n, directory, name) < 0) {
        abort();
    }
    return path;
}

static void include_complain(struct loading *loading, const char *path, int error)
{
    complain(&loading->complaints, loading->include_place, section_words[SECTION_DAEMON],
        key_table[KEY_include].word, "%s: %s", path, strerror(error));
}

static void include_directory(struct loading *loading, const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_conf_file, by_bytes);
    if (n < 0) {
        include_complain(loading, path, errno);
        return;
    }
    size_t length = strlen(path);
    char *directory = join(path, (int)length, path[length - 1] == '/' ? "" : "/");
    for (int i = 0; i < n; i++) {
        char *file = join(directory, (int)strlen(directory), entries[i]->d_name);
        file_read(loading, file);
        free(file);
        free(entries[i]);
    }
    free(directory);
    free(entries);
}

/* A directory that does not exist counts as empty: whoever drops the first file into it makes it. A
 * missing path must look like a directory's. */
static bool may_be_absent(const char *path)
{
    return has_suffix(path, "/") || has_suffix(path, ".d");
}

static void include_read(struct loading *loading)
{
    const char *main_path = loading->conf->path, *include = loading->conf->include;
    const char *slash = strrchr(main_path, '/');
    int n_directory = include[0] == '/' || !slash ? 0 : (int)(slash + 1 - main_path);
    char *path = join(main_path, n_directory, include);
    struct stat status;
    if (stat(path, &status) < 0) {
        if (errno != ENOENT || !may_be_absent(path)) {
            include_complain(loading, path, errno);
        }
    } else if (S_ISDIR(status.st_mode)) {
        include_directory(loading, path);
    } else {
        file_read(loading, path);
    }
    free(path);
}

void files_read(struct loading *loading)
{
    file_read(loading, loading->conf->path);
    if (loading->conf->include) {
        include_read(loading);
    }
}
