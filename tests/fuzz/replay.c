/* replay.c - runs a fuzz target over each file of CORPUS, where there is no libFuzzer. TAP. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* False if the file cannot be read. */
static int replay(const char *name)
{
    char path[4096];
    uint8_t *bytes = NULL;
    size_t n = 0, size;
    snprintf(path, sizeof path, "%s/%s", CORPUS, name);
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

int main(void)
{
    struct dirent **entries;
    int n = scandir(CORPUS, &entries, is_visible, alphasort), status = n > 0 ? 0 : 1;
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        fflush(stdout);
        int good = replay(entries[i]->d_name);
        printf("%sok %d - %s\n", good ? "" : "not ", i + 1, entries[i]->d_name);
        status |= !good;
        free(entries[i]);
    }
    free(entries);
    return status;
}
