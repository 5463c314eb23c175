/* cut_guard.h - memory mapped from files that somebody may cut meanwhile. A load or store beyond
 * the end of such a file raises SIGBUS: the handler puts an anonymous page there, which is zero, so
 * that it can go on (after systemd's basic/sigbus.c). */
#ifndef BERTH_JOURNAL_CUT_GUARD_H
#define BERTH_JOURNAL_CUT_GUARD_H

#include <signal.h>
#include <stddef.h>

/* Sets *was_cutp when a page of that memory has been replaced; it must last until cut_unguard(),
 * which is due before munmap(). */
void cut_guard(char *start, size_t size, volatile sig_atomic_t *was_cutp);
/* Does nothing if that memory is not guarded. */
void cut_unguard(const char *start);

#endif
