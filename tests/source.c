#include "tests/source.h"

#include <stdio.h>

const char source_dir[] = SOURCE_DIR;

bool file_read(const char *path, struct text *text)
{
    char bytes[65536];
    FILE *file = fopen(path, "r");
    text_add(text, ""); /* or an empty file would leave it NULL */
    for (size_t n; file && (n = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        text_add_bytes(text, bytes, n);
    }
    return file && fclose(file) == 0;
}
