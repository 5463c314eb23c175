/* descriptors.h - stdin, stdout and stderr that were closed when we started. */
#ifndef BERTH_CLIENT_DESCRIPTORS_H
#define BERTH_CLIENT_DESCRIPTORS_H

/* A descriptor that we open must not become one of them: what is written there would go to berthd.
 * Fills the gaps with what cannot be used, so that use is an error as it was; the job, after exec,
 * finds them closed again. */
void descriptors_fill_standard(void);

#endif
