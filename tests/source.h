/* source.h - where the sources are that the tests were made of, and what is in files. */
#pragma once

#include "base/text.h"

extern const char source_dir[];

/* Adds what is in the file; false if it cannot be opened. */
bool file_read(const char *path, struct text *text);
