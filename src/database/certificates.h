/* certificates.h - reloads the TLS files of all databases, all or nothing. */
#pragma once

#include "conf/conf.h"

struct fleet;
struct tls_context;

/* Zeroed: nothing has been read. */
struct certificates {
    struct tls_context *contexts[MAX_DATABASES]; /* database 1 first; or NULL */
};

/* In any thread: reads what `loaded` says of the databases of `running`. Files that cannot be used
 * become errors. */
void certificates_read(struct certificates *certificates, const struct conf *running,
    const struct conf *loaded, struct conf_errors *errors);
/* On the loop: the links use them from now on. */
void certificates_use(const struct certificates *certificates, struct fleet *fleet);
void certificates_forget(struct certificates *certificates);
