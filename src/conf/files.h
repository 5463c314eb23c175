/* files.h - which files are read, and in which order. */
#ifndef BERTH_CONF_FILES_H
#define BERTH_CONF_FILES_H

#include "conf/sections.h"

enum { MAX_FILE_BYTES = 64 << 20 };

/* conf->path, then what it includes. */
void files_read(struct loading *loading);

#endif
