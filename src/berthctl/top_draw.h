/* top_draw.h - the terminal of `berthctl top`: the only file that knows ncurses. Signals are its
 * caller's business. */
#ifndef BERTH_BERTHCTL_TOP_DRAW_H
#define BERTH_BERTHCTL_TOP_DRAW_H

#include "berthctl/top_screen.h"

#include <stdint.h>

/* Why this berthctl cannot draw on any terminal; NULL: it can. */
extern const char *const draw_missing;

/* Takes the terminal behind stdin and stdout. NULL; or why it cannot be taken: then nothing has
 * happened to it. */
const char *draw_begin(void);
/* Leaves the terminal as it was. */
void draw_end(void);

/* The same while the process is stopped. After draw_resume() everything is drawn again. */
void draw_pause(void);
void draw_resume(void);

/* Asks the terminal for its size. */
void draw_size(size_t *widthp, size_t *heightp);

/* `again`: the terminal may show something else than what was drawn last. */
void draw_screen(const struct top_screen *screen, bool again);

/* The next key (top_keys.h) that was typed; 0: none. Never waits. */
uint32_t draw_key(void);

#endif
