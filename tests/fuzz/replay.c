/* replay.c - as replay_NAME, runs that fuzz target over each file of corpus-NAME, where there is no
 * libFuzzer. TAP. */
#include "tests/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* False if the file cannot be read. */
static int replay(const char *corpus, const char *name)
{
    char path[4096];
    uint8_t *bytes = NULL;
    size_t n = 0, size;
    snprintf(path, sizeof path, "%s/%s", corpus, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        return 0;
    }
    do {
        bytes = realloc(bytes, n + 65536);
        size = bytes ? fread(bytes + n, 1, 65536, file) : 0;
        n += size;
    } while (size > 0);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    return 1;
}

/* libFuzzer has another. */
__attribute__((weak)) int main(void)
{
    char corpus[2048];
    snprintf(corpus, sizeof corpus, "%s/tests/fuzz/corpus-%s", source_dir,
        program_invocation_short_name + strlen("replay_"));
    struct dirent **entries;
    int n = scandir(corpus, &entries, is_visible, alphasort), status = n > 0 ? 0 : 1;
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        fflush(stdout);
        int good = replay(corpus, entries[i]->d_name);
        printf("%sok %d - %s\n", good ? "" : "not ", i + 1, entries[i]->d_name);
        status |= !good;
        free(entries[i]);
    }
    free(entries);
    return status;
}
