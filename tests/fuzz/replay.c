/* replay.c - as replay_NAME, runs that fuzz target over each file of corpus-NAME, where there is no
 * libFuzzer. TAP. */
#include "fuzz.h"

#include "tests/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* False if the file cannot be read. */
static bool replay(const char *corpus, const char *name)
{
    char path[4096];
    struct text text = TEXT_INIT;
    snprintf(path, sizeof path, "%s/%s", corpus, name);
    bool is_read = file_read(path, &text);
    if (is_read) {
        LLVMFuzzerTestOneInput((const uint8_t *)text.bytes, text.length);
    }
    text_deinit(&text);
    return is_read;
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
        bool good = replay(corpus, entries[i]->d_name);
        printf("%sok %d - %s\n", good ? "" : "not ", i + 1, entries[i]->d_name);
        status |= !good;
        free(entries[i]);
    }
    free(entries);
    return status;
}
