#include "scratch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/berth-unit-XXXXXX";

void scratch_begin(void)
{
    cr_assert(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

void scratch_end(void)
{
    cr_expect_eq(chdir("/"), 0);
    cr_expect_eq(nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

const char *scratch_path(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

char *scratch_read(const char *name, size_t *np)
{
    FILE *file = fopen(name, "r");
    cr_assert(file, "%s: %s", name, strerror(errno));
    size_t size = (size_t)scratch_size(name);
    char *bytes = malloc(size + 1);
    cr_assert(bytes);
    *np = fread(bytes, 1, size, file);
    bytes[*np] = '\0';
    fclose(file);
    return bytes;
}

void scratch_write(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "w");
    cr_assert(file, "%s: %s", name, strerror(errno));
    cr_assert_eq(fwrite(bytes, 1, n, file), n);
    cr_assert_eq(fclose(file), 0);
}

off_t scratch_size(const char *name)
{
    struct stat status;
    cr_assert_eq(lstat(name, &status), 0, "%s: %s", name, strerror(errno));
    return status.st_size;
}
