#include "tests/source.h"

const char source_dir[] = SOURCE_DIR;
