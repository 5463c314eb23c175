/* descriptors.h - fills closed stdin, stdout and stderr with unusable descriptors, so that nothing
 * that is opened later gets their numbers. */
#pragma once

/* A descriptor that we open must not become one of these: output meant for it would go to berthd.
 * Fills the gaps with descriptors whose use fails, as it would have before; they are close-on-exec,
 * so the job finds the gaps again. */
void stdio_fill_closed(void);
