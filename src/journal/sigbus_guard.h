/* sigbus_guard.h - protects mappings of files that somebody may truncate meanwhile: a load or store
 * beyond the end raises SIGBUS, and the handler puts an anonymous page of zeros there (after
 * systemd's basic/sigbus.c). */
#pragma once

#include <signal.h>
#include <stddef.h>

/* Sets *was_cutp when a page of that memory has been replaced; it must last until cut_unguard(),
 * which is due before munmap(). */
void sigbus_guard_add(char *start, size_t size, volatile sig_atomic_t *was_cutp);
/* Does nothing if that memory is not guarded. */
void cut_unguard(const char *start);
